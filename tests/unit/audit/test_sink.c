/* SPDX-License-Identifier: GPL-2.0-only */
/* The log file as others see it: records, folds, failures of the disk, deaths of the writer. */
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "../../../user/audit/fold.h"
#include "../../../user/base/cleanup.h"

static void lookup(void *arg, uint32_t generation, uint32_t rule, const char **ret_text,
	unsigned int *ret_line, const char **ret_note)
{
	(void)arg;
	if (generation != 7 || rule != 2)
		return;
	*ret_text = "allow: \"api.allowed.test\"";
	*ret_line = 5;
	*ret_note = "the only one";
}

static void record_has_the_documented_keys_in_their_order(void **state)
{
	static const char expected[] =
		"{\"seq\":1,\"time\":\"2026-11-30T22:36:57.123456Z\",\"sandbox\":\"box\","
		"\"event\":\"network_allowed\",\"layer\":\"proxy\",\"reason\":\"rule\","
		"\"rule\":{\"line\":5,\"text\":\"allow: \\\"api.allowed.test\\\"\"},"
		"\"policy\":\"sha256:"
		"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\","
		"\"proto\":\"tcp\",\"app\":\"tls\",\"host\":\"api.allowed.test\","
		"\"addr\":\"203.0.113.9\",\"port\":443,\"method\":\"CONNECT\",\"url\":null,"
		"\"status\":200,\"bytes_out\":517,\"bytes_in\":4096,\"duration_us\":812,"
		"\"pid\":42,\"comm\":\"curl\",\"uid\":1001,\"cgroup\":77,\"count\":1,"
		"\"note\":\"the only one\",\"extra\":true,"
		"\"prev\":\"00000000000000000000000000000000"
		"00000000000000000000000000000000\",\"hash\":\"";
	struct audit_event e = event_of(AUDIT_NETWORK_ALLOWED, "api.allowed.test");
	struct audit_sink *sink;
	struct folder f;
	size_t len;

	(void)state;
	folder_make(&f);
	sink = folder_open(&f);
	audit_sink_set_policy(sink, 7,
		"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", lookup, NULL);
	e.time_us = 1796078217123456;
	e.generation = 7;
	e.rule = 2;
	e.has_addr = 1;
	assert_int_equal(addr_parse("203.0.113.9", 11, &e.addr), 0);
	e.method = text("CONNECT");
	e.status = 200;
	e.bytes_out = 517;
	e.bytes_in = 4096;
	e.duration_us = 812;
	e.cgroup_id = 77;
	audit_sink_add_extra(sink, &e, "\"extra\":true");
	audit_sink_close(sink);
	_cleanup_free_ char *data = folder_read(f.log, &len);
	data[sizeof(expected) - 1] = 0;
	assert_string_equal(data, expected);
	folder_remove(&f);
}

static void hostile_texts_stay_one_ascii_object_a_line(void **state)
{
	static const char fake[] = "x\"}\n{\"seq\":1,\"event\":\"network_allowed\"}\n\x1b[2J\r\\";
	static const char odd[] = "\xc2\x85\xe2\x80\xa8\xe2\x80\xae\xed\xa0\x80\xff\xc0\xaf\x7f";
	static char huge[1 << 20];
	struct audit_sink *sink;
	struct folder f;
	size_t len, lines = 0;

	(void)state;
	memset(huge, 0xff, sizeof(huge));
	folder_make(&f);
	sink = folder_open(&f);
	for (int i = 0; i < 3; i++) {
		struct audit_event e = event_of(AUDIT_NETWORK_ALLOWED, NULL);
		struct audit_text t = i == 0 ? (struct audit_text){fake, sizeof(fake)}
			: i == 1             ? (struct audit_text){odd, sizeof(odd)}
					     : (struct audit_text){huge, sizeof(huge)};

		e.host = e.method = e.url = e.detail = t;
		memcpy(e.comm, "\n\"\x1b{}\xff\0", 8);
		audit_sink_add(sink, &e);
	}
	audit_sink_close(sink);
	_cleanup_free_ char *data = folder_read(f.log, &len);
	for (size_t i = 0; i < len; i++)
		assert_true((data[i] >= 0x20 && data[i] < 0x7f) || data[i] == '\n');
	for (char *line = data; *line; lines++) {
		char *end = strchr(line, '\n');
		json_t *json = json_loadb(
			line, (size_t)(end - line), JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);

		assert_true(json_is_object(json));
		json_decref(json);
		line = end + 1;
	}
	assert_int_equal(lines, 3);
	assert_non_null(strstr(data, "\\u2026(+1046528 bytes, siphash "));
	assert_true(len < 64 << 10);
	assert_int_equal(folder_verify(&f).fault, VERIFY_GOOD);
	folder_remove(&f);
}

/* A gateway's log: the generation says whose policy decided, and equal refusals of two sandboxes stay
 * two. Rules of a policy that was forgotten are not told. */
static void one_log_holds_several_sandboxes_apart(void **state)
{
	struct audit_event e = event_of(AUDIT_NETWORK_BLOCKED, "evil.test");
	struct audit_sink_options o;
	struct audit_sink *sink;
	struct folder f;
	size_t len;

	(void)state;
	folder_make(&f);
	o = folder_options(&f);
	o.sandbox = "+gateway";
	o.n_policies = 3;
	assert_int_equal(audit_sink_open(&o, &sink), 0);
	audit_sink_set_sandbox(sink, 7, "one",
		"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", lookup, NULL);
	audit_sink_set_sandbox(sink, 8, "two", NULL, NULL, NULL);
	for (uint32_t i = 0; i < 6; i++) {
		e.generation = i % 3 + 7;
		e.rule = 2;
		audit_sink_add(sink, &e);
	}
	audit_sink_forget(sink, 7);
	e = event_of(AUDIT_NETWORK_ALLOWED, "late.test");
	e.generation = 7;
	e.rule = 2;
	audit_sink_add(sink, &e);
	audit_sink_close(sink);
	_cleanup_free_ char *data = folder_read(f.log, &len);
	assert_non_null(strstr(data,
		"\"sandbox\":\"one\",\"event\":\"network_blocked\","
		"\"layer\":\"proxy\",\"reason\":\"no-rule\",\"rule\":{\"line\":5"));
	assert_non_null(strstr(data,
		"\"sandbox\":\"two\",\"event\":\"network_blocked\","
		"\"layer\":\"proxy\",\"reason\":\"no-rule\",\"rule\":null,"
		"\"policy\":null"));
	assert_non_null(strstr(data,
		"\"sandbox\":\"+gateway\",\"event\":\"network_allowed\","
		"\"layer\":\"proxy\",\"reason\":\"rule\",\"rule\":null"));
	assert_int_equal(folder_verify(&f).fault, VERIFY_GOOD);
	folder_remove(&f);
}

/* Sum of `count` over the records that hold needle. */
static uint64_t sum_counts(const struct folder *f, const char *needle, size_t *ret_records)
{
	size_t len;
	_cleanup_free_ char *data = folder_read(f->log, &len);
	uint64_t sum = 0;

	*ret_records = 0;
	for (char *line = strtok(data, "\n"); line; line = strtok(NULL, "\n")) {
		if (!strstr(line, needle))
			continue;
		sum += strtoull(strstr(line, "\"count\":") + 8, NULL, 10);
		(*ret_records)++;
	}
	return sum;
}

static void repeats_within_a_second_become_one_record(void **state)
{
	struct audit_sink *sink;
	struct folder f;
	size_t records;

	(void)state;
	folder_make(&f);
	sink = folder_open(&f);
	for (int i = 0; i < 5000; i++) {
		struct audit_event e = event_of(AUDIT_NETWORK_BLOCKED, "evil.test");

		e.layer = AUDIT_LAYER_KERNEL;
		e.port = (uint16_t)(1 + i % 4);
		audit_sink_add(sink, &e);
		if (i % 100 == 0)
			audit_sink_flush(sink);
	}
	assert_int_equal(audit_sink_count(sink, NEJ_REASON_NO_RULE), 5000);
	assert_int_equal(audit_sink_count(sink, NEJ_REASON_UDP), 0);
	assert_int_equal(folder_count(f.log, "network_blocked"), 4); /* the first of each at once */
	audit_sink_close(sink);
	assert_int_equal(sum_counts(&f, "network_blocked", &records), 5000);
	assert_int_equal(records, 8);
	assert_int_equal(folder_verify(&f).fault, VERIFY_GOOD);
	folder_remove(&f);
}

static void folds_come_out_when_their_second_is_over(void **state)
{
	struct audit_event e = event_of(AUDIT_DNS_BLOCKED, "evil.test");
	struct audit_sink *sink;
	struct folder f;
	size_t records;
	int ms;

	(void)state;
	folder_make(&f);
	sink = folder_open(&f);
	audit_sink_add(sink, &e);
	audit_sink_add(sink, &e);
	audit_sink_add(sink, &e);
	ms = audit_sink_flush(sink);
	assert_in_range(ms, 1, 1000);
	assert_int_equal(sum_counts(&f, "dns_blocked", &records), 1);
	usleep((unsigned int)(ms + 5) * 1000);
	audit_sink_flush(sink);
	usleep(5000);
	audit_sink_flush(sink);
	assert_int_equal(sum_counts(&f, "dns_blocked", &records), 3);
	assert_int_equal(records, 2);
	audit_sink_close(sink);
	folder_remove(&f);
}

static void floods_of_different_names_are_folded_by_site_with_exact_counts(void **state)
{
	struct audit_sink *sink;
	struct folder f;
	size_t records;
	char host[64];

	(void)state;
	folder_make(&f);
	sink = folder_open(&f);
	for (int i = 0; i < 30000; i++) {
		struct audit_event e;

		snprintf(host, sizeof(host), "%08x.t.evil%d.test", i, i % 2 ? 0 : i % 5000);
		e = event_of(AUDIT_DNS_BLOCKED, host);
		e.layer = AUDIT_LAYER_DNS;
		if (i % 3 == 0) {
			e.kind = AUDIT_NETWORK_BLOCKED;
			e.host = (struct audit_text){NULL, 0};
			e.has_addr = 1;
			e.addr = addr_from_v4(0xcb007100u + (uint32_t)i % 1024);
		}
		audit_sink_add(sink, &e);
	}
	audit_sink_flush(sink);
	audit_sink_close(sink);
	assert_int_equal(sum_counts(&f, "_blocked", &records), 30000);
	assert_in_range(records, 2000, 8000);
	assert_int_equal(folder_verify(&f).fault, VERIFY_GOOD);
	folder_remove(&f);
}

static void second_writer_is_refused(void **state)
{
	struct audit_sink_options o;
	struct audit_sink *sink, *second = NULL;
	struct folder f;
	char link_path[128];

	(void)state;
	folder_make(&f);
	o = folder_options(&f);
	sink = folder_open(&f);
	assert_int_equal(audit_sink_open(&o, &second), -EBUSY);
	audit_sink_close(sink);
	snprintf(link_path, sizeof(link_path), "%s/link", f.dir);
	assert_int_equal(symlink(f.log, link_path), 0);
	o.path = link_path;
	assert_int_equal(audit_sink_open(&o, &second), -ELOOP);
	o.path = f.dir;
	assert_int_equal(audit_sink_open(&o, &second), -EISDIR);
	folder_remove(&f);
}

/* Writes forever, says so on a pipe. */
static void write_until_killed(const struct folder *f, int ready)
{
	struct audit_sink_options o = folder_options(f);
	struct audit_sink *sink;

	if (audit_sink_open(&o, &sink) < 0)
		_exit(1);
	for (unsigned int i = 0;; i++) {
		struct audit_event e = event_of(AUDIT_NETWORK_ALLOWED, "api.allowed.test");

		e.bytes_out = i;
		audit_sink_add(sink, &e);
		if (i % 7 == 0)
			audit_sink_flush(sink);
		if (i == 20 && write(ready, "r", 1) != 1)
			_exit(1);
	}
}

static void writer_killed_200_times_leaves_one_unbroken_chain(void **state)
{
	struct audit_sink *sink;
	struct verify_result v;
	struct folder f;

	(void)state;
	folder_make(&f);
	for (unsigned int i = 0; i < 200; i++) {
		int ready[2], status;
		char c;
		pid_t pid;

		assert_int_equal(pipe(ready), 0);
		pid = fork();
		if (pid == 0)
			write_until_killed(&f, ready[1]);
		close(ready[1]);
		assert_int_equal(read(ready[0], &c, 1), 1);
		close(ready[0]);
		usleep(i * 37 % 3000);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		assert_true(WIFSIGNALED(status));
	}
	v = folder_verify(&f);
	assert_true(v.fault == VERIFY_GOOD || v.fault == VERIFY_TORN);
	sink = folder_open(&f);
	audit_sink_close(sink);
	v = folder_verify(&f);
	assert_int_equal(v.fault, VERIFY_GOOD);
	assert_true(v.n_records > 200 * 20);
	assert_int_equal(v.missing, 0);
	assert_int_equal(v.n_gaps, 0);
	folder_remove(&f);
}

static void torn_end_of_a_killed_writer_is_cut_off_and_told(void **state)
{
	static const char torn[] = "{\"seq\":6,\"time\":\"2026-";
	struct audit_sink *sink;
	struct folder f;
	int fd;

	(void)state;
	folder_make(&f);
	if (fork() == 0) {
		folder_write(folder_open(&f), 5);
		_exit(0);
	}
	wait(NULL);
	fd = open(f.log, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, torn, sizeof(torn) - 1), sizeof(torn) - 1);
	close(fd);
	assert_int_equal(folder_verify(&f).fault, VERIFY_TORN);
	sink = folder_open(&f);
	folder_write(sink, 1);
	audit_sink_close(sink);
	assert_int_equal(folder_verify(&f).fault, VERIFY_GOOD);
	assert_int_equal(folder_count(f.log, "\"torn_bytes\":22"), 1);
	assert_int_equal(folder_count(f.log, "\"event\":\"adopted\""), 1);
	assert_int_equal(folder_count(f.log, "audit_gap"), 0);
	folder_remove(&f);
}

/* What a full disk does: attempts go on, is_failed is told, the log stays whole. */
static void fill_and_free(const struct folder *f, const char *ballast, uint64_t limit)
{
	struct audit_sink *sink = folder_open(f);
	struct rlimit old, small = {limit, limit};
	uint64_t n = 0, lost;
	size_t records;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small.rlim_max = old.rlim_max;
	if (limit)
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (; n < 20000 && !(audit_sink_is_failed(sink) && n > 12000); n += 10)
		folder_write(sink, 10);
	assert_true(audit_sink_is_failed(sink));
	assert_int_equal(audit_sink_flush(sink), 200);
	if (limit)
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	else
		assert_int_equal(unlink(ballast), 0);
	audit_sink_flush(sink);
	assert_false(audit_sink_is_failed(sink));
	audit_sink_close(sink);
	assert_int_equal(folder_verify(f).fault, VERIFY_GOOD);
	lost = sum_counts(f, "\"reason\":\"audit-unavailable\"", &records);
	assert_int_equal(records, 1);
	assert_true(lost > 0);
	assert_int_equal(folder_count(f->log, "\"event\":\"network_allowed\"") + lost, n);
}

static void full_disk_fails_and_heals_with_exact_counts(void **state)
{
	struct folder f;
	char ballast[128];
	int fd;

	(void)state;
	folder_make(&f);
	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("none", f.dir, "tmpfs", 0, "size=32m,mode=700") < 0) {
		signal(SIGXFSZ, SIG_IGN);
		fill_and_free(&f, NULL, 300000);
		folder_remove(&f);
		return;
	}
	snprintf(ballast, sizeof(ballast), "%s/ballast", f.dir);
	fd = open(ballast, O_CREAT | O_WRONLY, 0600);
	assert_int_equal(posix_fallocate(fd, 0, 31 << 20), 0);
	close(fd);
	fill_and_free(&f, ballast, 0);
	assert_int_equal(umount(f.dir), 0);
	folder_remove(&f);
}

static void write_that_is_cut_short_leaves_no_torn_line(void **state)
{
	struct folder f;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	folder_make(&f);
	fill_and_free(&f, NULL, 300001);
	folder_remove(&f);
}

static void log_cut_under_a_running_writer_is_told(void **state)
{
	struct audit_sink *sink;
	struct folder f;

	(void)state;
	folder_make(&f);
	sink = folder_open(&f);
	folder_write(sink, 5);
	assert_int_equal(truncate(f.log, 700), 0);
	folder_write(sink, 5);
	audit_sink_close(sink);
	assert_int_equal(folder_count(f.log, "\"event\":\"audit_gap\""), 1);
	assert_int_not_equal(folder_verify(&f).fault, VERIFY_GOOD);
	folder_remove(&f);
}

static uint64_t head_seq(const struct folder *f)
{
	struct head head;

	assert_int_equal(head_read(f->head, NULL, &head), 0);
	return head.seq;
}

static void head_is_signed_every_thousand_records_and_every_second(void **state)
{
	struct audit_sink *sink;
	struct folder f;
	int ms;

	(void)state;
	folder_make(&f);
	sink = folder_open(&f);
	assert_int_equal(head_seq(&f), 0);
	folder_write(sink, 999);
	assert_int_equal(head_seq(&f), 0);
	folder_write(sink, 1);
	assert_int_equal(head_seq(&f), 1000);
	folder_write(sink, 10);
	assert_int_equal(head_seq(&f), 1000);
	ms = audit_sink_flush(sink);
	assert_in_range(ms, 1, 1000);
	usleep((unsigned int)(ms + 5) * 1000);
	assert_int_equal(audit_sink_flush(sink), -1); /* nothing pending: no CPU while idle */
	assert_int_equal(head_seq(&f), 1010);
	folder_write(sink, 3);
	audit_sink_close(sink);
	assert_int_equal(head_seq(&f), 1013);
	folder_remove(&f);
}

static void log_removed_under_a_running_writer_is_told(void **state)
{
	struct audit_sink *sink;
	struct verify_result v;
	struct folder f;

	(void)state;
	folder_make(&f);
	sink = folder_open(&f);
	folder_write(sink, 5);
	assert_int_equal(unlink(f.log), 0);
	folder_write(sink, 5);
	audit_sink_close(sink);
	assert_int_equal(folder_count(f.log, "\"event\":\"audit_gap\""), 1);
	v = folder_verify(&f);
	assert_int_equal(v.fault, VERIFY_START);
	assert_int_equal(v.missing, 5);
	folder_remove(&f);
}

static void end_of_the_sandbox_is_the_last_record(void **state)
{
	struct audit_event e = event_of(AUDIT_DNS_BLOCKED, "evil.test");
	struct audit_sink *sink;
	struct folder f;
	size_t len;

	(void)state;
	folder_make(&f);
	sink = folder_open(&f);
	for (int i = 0; i < 5; i++)
		audit_sink_add(sink, &e);
	e = event_of(AUDIT_SANDBOX_FINISHED, NULL);
	audit_sink_add_extra(sink, &e, NULL);
	audit_sink_close(sink);
	_cleanup_free_ char *data = folder_read(f.log, &len);
	assert_non_null(strstr(data, "\"count\":4,"));
	assert_null(strchr(strstr(data, "sandbox_finished"), '\n')[1] ? data : NULL);
	folder_remove(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(record_has_the_documented_keys_in_their_order),
		cmocka_unit_test(hostile_texts_stay_one_ascii_object_a_line),
		cmocka_unit_test(one_log_holds_several_sandboxes_apart),
		cmocka_unit_test(repeats_within_a_second_become_one_record),
		cmocka_unit_test(folds_come_out_when_their_second_is_over),
		cmocka_unit_test(floods_of_different_names_are_folded_by_site_with_exact_counts),
		cmocka_unit_test(second_writer_is_refused),
		cmocka_unit_test(writer_killed_200_times_leaves_one_unbroken_chain),
		cmocka_unit_test(torn_end_of_a_killed_writer_is_cut_off_and_told),
		cmocka_unit_test(write_that_is_cut_short_leaves_no_torn_line),
		cmocka_unit_test(log_cut_under_a_running_writer_is_told),
		cmocka_unit_test(head_is_signed_every_thousand_records_and_every_second),
		cmocka_unit_test(log_removed_under_a_running_writer_is_told),
		cmocka_unit_test(end_of_the_sandbox_is_the_last_record),
		cmocka_unit_test(full_disk_fails_and_heals_with_exact_counts),
	};

	return cmocka_run_group_tests_name("sink", tests, NULL, NULL);
}
