/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables of this namespace's sockets; what is ended needs CAP_NET_ADMIN. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/kernel/sockdiag.h"

struct pair {
	int listener, client, server;
	uint32_t inode; /* of client */
	struct endpoint to;
};

static void open_pair(struct pair *p)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(sa);
	struct stat st;

	p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	p->client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(p->listener, (struct sockaddr *)&sa, len), 0);
	assert_int_equal(listen(p->listener, 1), 0);
	assert_int_equal(getsockname(p->listener, (struct sockaddr *)&sa, &len), 0);
	assert_int_equal(connect(p->client, (struct sockaddr *)&sa, len), 0);
	p->server = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
	assert_int_equal(fstat(p->client, &st), 0);
	assert_int_equal(endpoint_from_sockaddr((struct sockaddr *)&sa, &p->to), 0);
	p->inode = (uint32_t)st.st_ino;
}

static void close_pair(struct pair *p)
{
	close(p->listener);
	close(p->client);
	close(p->server);
}

struct search {
	uint32_t inode;
	size_t n;
	struct sockdiag_socket socket;
};

static int on_socket(void *arg, const struct sockdiag_socket *socket)
{
	struct search *s = arg;

	if (socket->inode == s->inode) {
		s->n++;
		s->socket = *socket;
	}
	return 0;
}

static int refuse(void *arg, const struct sockdiag_socket *socket)
{
	(void)socket;
	++*(size_t *)arg;
	return -ECANCELED;
}

static void connection_is_found_with_its_ends(void **state)
{
	_cleanup_close_ int fd = sockdiag_open();
	struct search s = {0};
	struct pair p;
	size_t n = 0;
	int r;

	(void)state;
	assert_true(fd >= 0);
	open_pair(&p);
	s.inode = p.inode;
	r = sockdiag_each(fd, on_socket, &s);
	if (r == -ENOENT)
		skip(); /* no inet_diag */
	assert_int_equal(r, 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.socket.proto, IPPROTO_TCP);
	assert_int_equal(s.socket.remote.port, p.to.port);
	assert_true(addr_equal(&s.socket.remote.addr, &p.to.addr));
	assert_int_equal(s.socket.uid, geteuid());
	/* an end in the middle leaves nothing behind for the next one */
	assert_int_equal(sockdiag_each(fd, refuse, &n), -ECANCELED);
	assert_int_equal(n, 1);
	s.n = 0;
	assert_int_equal(sockdiag_each(fd, on_socket, &s), 0);
	assert_int_equal(s.n, 1);
	close_pair(&p);
}

static void ended_connection_fails_on_both_sides(void **state)
{
	_cleanup_close_ int fd = sockdiag_open();
	struct search s = {0};
	struct pair p;
	char byte;
	int r;

	(void)state;
	open_pair(&p);
	s.inode = p.inode;
	if (sockdiag_each(fd, on_socket, &s) < 0)
		skip();
	r = sockdiag_destroy(fd, &s.socket);
	if (r == -EPERM || r == -EOPNOTSUPP || r == -EACCES)
		skip(); /* CAP_NET_ADMIN, CONFIG_INET_DIAG_DESTROY */
	assert_int_equal(r, 0);
	assert_int_equal(recv(p.client, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, ECONNABORTED);
	assert_int_equal(recv(p.server, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(sockdiag_destroy(fd, &s.socket), 0); /* it is gone */
	close_pair(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connection_is_found_with_its_ends),
		cmocka_unit_test(ended_connection_fails_on_both_sides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
