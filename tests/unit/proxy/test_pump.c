/* SPDX-License-Identifier: GPL-2.0-only */
/* The relay: bulk, half-close, reset, totals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>

#include "world.h"

#define ALLOWED "api.allowed.test"

static const struct world_rule allow_https[] = {
	{.host = ALLOWED, .scheme = POLICY_SCHEME_HTTPS, .verdict = POLICY_ALLOW}, {0}};

/* --- the relay */

struct flood {
	int fd;
	size_t bytes;
	uint32_t sum;
};

static void *flood_out(void *arg)
{
	struct flood *f = arg;
	uint8_t block[10000];
	uint32_t seed = 1;

	for (size_t n = 0; n < f->bytes; n += sizeof(block)) {
		for (size_t i = 0; i < sizeof(block); i++) {
			seed = seed * 1103515245 + 12345;
			block[i] = (uint8_t)(seed >> 16);
			f->sum = f->sum * 31 + block[i];
		}
		for (size_t at = 0; at < sizeof(block);) {
			ssize_t r = send(f->fd, block + at, sizeof(block) - at, MSG_NOSIGNAL);

			if (r <= 0)
				return NULL;
			at += (size_t)r;
		}
	}
	shutdown(f->fd, SHUT_WR);
	return NULL;
}

static uint32_t drink(int fd, size_t *ret_bytes, bool is_slow)
{
	static uint8_t block[70000];
	uint32_t sum = 0;
	size_t all = 0;
	ssize_t n;

	while ((n = recv(fd, block, sizeof(block), 0)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			sum = sum * 31 + block[i];
		all += (size_t)n;
		if (is_slow && all % 7 == 0)
			usleep(500);
	}
	*ret_bytes = all;
	return sum;
}

/* Opens a tunnel; the hello is taken off. */
static void open_tunnel(int *ret_client, int *ret_server)
{
	uint16_t port;
	int listener = listen_on("127.0.0.1", &port);

	w.rules = allow_https;
	world_name_dest(ALLOWED, port);
	*ret_client = connect_to(w.port);
	put_hello(*ret_client, ALLOWED);
	*ret_server = accept_from(listener);
	expect_hello(*ret_server, ALLOWED);
	close(listener);
}

static void bulk_arrives_whole_in_both_directions_at_once(void **state)
{
	struct flood up = {.bytes = 20000000}, down = {.bytes = 8000000};
	pthread_t threads[2];
	size_t n;
	int client, server;
	uint32_t sum, other;

	(void)state;
	open_tunnel(&client, &server);
	up.fd = client;
	down.fd = server;
	pthread_create(&threads[0], NULL, flood_out, &up);
	pthread_create(&threads[1], NULL, flood_out, &down);
	sum = drink(client, &n, true);
	assert_int_equal(n, 8000000);
	/* the other direction is read only now: it had to wait without harm */
	other = drink(server, &n, false);
	assert_int_equal(n, 20000000);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	assert_int_equal(sum, down.sum);
	assert_int_equal(other, up.sum);
	close(client);
	close(server);
	wait_idle();
	assert_int_equal(event_at(0).bytes_in, 8000000);
}

static void half_close_keeps_the_other_direction(void **state)
{
	char block[4096] = {1};
	size_t n;
	int client, server;

	(void)state;
	open_tunnel(&client, &server);
	put_text(client, "request");
	shutdown(client, SHUT_WR);
	expect_text(server, "request");
	expect_end(server);
	for (int i = 0; i < 256; i++)
		put(server, block, sizeof(block));
	close(server);
	drink(client, &n, false);
	assert_int_equal(n, 1 << 20);
	close(client);

	open_tunnel(&client, &server);
	shutdown(server, SHUT_WR);
	expect_end(client);
	put_text(client, "still going up");
	expect_text(server, "still going up");
	close(client);
	expect_end(server);
	close(server);
}

static void reset_is_passed_as_reset(void **state)
{
	static const struct linger rst = {.l_onoff = 1};
	int client, server;

	(void)state;
	open_tunnel(&client, &server);
	setsockopt(server, SOL_SOCKET, SO_LINGER, &rst, sizeof(rst));
	close(server);
	expect_reset(client);
	close(client);
	open_tunnel(&client, &server);
	setsockopt(client, SOL_SOCKET, SO_LINGER, &rst, sizeof(rst));
	close(client);
	expect_reset(server);
	close(server);
}

static void totals_of_a_drained_record_come_as_another(void **state)
{
	int client, server;

	(void)state;
	w.is_drained = true;
	open_tunnel(&client, &server);
	put_text(server, "12345");
	expect_text(client, "12345");
	close(server);
	close(client);
	assert_int_equal(event_at(1).kind, AUDIT_NETWORK_CLOSED);
	assert_int_equal(event_at(1).bytes_in, 5);
	assert_string_equal(event_at(1).host, ALLOWED);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, world_start, world_stop)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(bulk_arrives_whole_in_both_directions_at_once),
		TEST(half_close_keeps_the_other_direction),
		TEST(reset_is_passed_as_reset),
		TEST(totals_of_a_drained_record_come_as_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
