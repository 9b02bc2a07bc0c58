/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading a log while it is written and rotated: no line twice, none left out. */
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "../../../user/audit/lines.h"
#include "../../../user/audit/read.h"
#include "../../../user/base/cleanup.h"

static uint64_t next_seq(struct lines *lines)
{
	struct audit_record r;
	const char *line;
	size_t len;
	uint64_t seq;
	int more = lines_next(lines, &line, &len);

	assert_true(more >= 0);
	if (!more)
		return 0;
	assert_true(audit_record_parse(line, len, &r));
	seq = r.seq;
	audit_record_done(&r);
	return seq;
}

static void reader_follows_growth_and_rotation(void **state)
{
	struct audit_sink_options o;
	struct audit_sink *sink;
	struct lines *lines;
	uint64_t seen = 0, written = 0, seq;
	struct folder f;

	(void)state;
	folder_make(&f);
	o = folder_options(&f);
	o.rotate_bytes = 5000;
	assert_int_equal(audit_sink_open(&o, &sink), 0);
	folder_write(sink, 1);
	written = 1;
	assert_int_equal(lines_open(f.log, &lines), 0);
	for (int i = 0; i < 100; i++) {
		unsigned int n = (unsigned int)i % 9;

		folder_write(sink, n);
		written += n;
		while ((seq = next_seq(lines)))
			assert_int_equal(seq, ++seen);
		assert_int_equal(seen, written);
	}
	lines_close(lines);
	audit_sink_close(sink);
	folder_remove(&f);
}

/* Wherever the last bytes begin, in a line or between two. */
static void end_of_a_log_begins_with_a_whole_line(void **state)
{
	struct audit_sink_options o;
	struct audit_sink *sink;
	struct lines *lines;
	struct folder f;
	struct stat st;

	(void)state;
	folder_make(&f);
	o = folder_options(&f);
	assert_int_equal(audit_sink_open(&o, &sink), 0);
	folder_write(sink, 9);
	assert_int_equal(stat(f.log, &st), 0);
	for (size_t bytes = 0; bytes < (size_t)st.st_size + 10; bytes += 7) {
		uint64_t seq, last = 0;

		assert_int_equal(lines_open_end(f.log, bytes, &lines), 0);
		while ((seq = next_seq(lines))) {
			assert_true(!last || seq == last + 1);
			last = seq;
		}
		assert_true(last == 9 || !last);
		assert_true(last == 9 || bytes < 1000);
		lines_close(lines);
	}
	assert_int_equal(lines_open_end(f.log, 0, &lines), 0);
	assert_int_equal(next_seq(lines), 0);
	folder_write(sink, 1);
	assert_int_equal(next_seq(lines), 10);
	lines_close(lines);
	audit_sink_close(sink);
	folder_remove(&f);
}

static void torn_line_is_not_given_out_before_its_end(void **state)
{
	static const char head[] = "{\"seq\":1,", tail[] = "\"event\":\"x\"}\n";
	struct lines *lines;
	struct folder f;
	int fd;

	(void)state;
	folder_make(&f);
	fd = open(f.log, O_CREAT | O_WRONLY | O_APPEND, 0600);
	assert_int_equal(lines_open(f.log, &lines), 0);
	assert_int_equal(write(fd, head, sizeof(head) - 1), sizeof(head) - 1);
	assert_int_equal(next_seq(lines), 0);
	assert_int_equal(write(fd, tail, sizeof(tail) - 1), sizeof(tail) - 1);
	assert_int_equal(next_seq(lines), 1);
	assert_int_equal(next_seq(lines), 0);
	close(fd);
	lines_close(lines);
	folder_remove(&f);
}

static void odd_lines_are_no_records(void **state)
{
	static const struct {
		const char *line;
		bool is_record;
	} rows[] = {
		{"{}", true},
		{"{\"seq\":-1,\"count\":\"x\",\"host\":7,\"rule\":[]}", true},
		{"[]", false},
		{"", false},
		{"{\"seq\":1,\"seq\":2}", false},
		{"{\"seq\":1} x", false},
		{"null", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct audit_record r;

		assert_int_equal(audit_record_parse(rows[i].line, strlen(rows[i].line), &r),
			rows[i].is_record);
		if (rows[i].is_record) {
			assert_null(r.host);
			assert_int_equal(r.count, 1);
			audit_record_done(&r);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reader_follows_growth_and_rotation),
		cmocka_unit_test(end_of_a_log_begins_with_a_whole_line),
		cmocka_unit_test(torn_line_is_not_given_out_before_its_end),
		cmocka_unit_test(odd_lines_are_no_records),
	};

	return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
