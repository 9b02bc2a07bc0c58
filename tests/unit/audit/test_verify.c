/* SPDX-License-Identifier: GPL-2.0-only */
/* Every way to change a log is found, named with its line, and not papered over by a restart. */
#include "folder.h"

#include <errno.h>

#include "../../../user/audit/logfile.h"
#include "../../../user/base/cleanup.h"

#define N_RECORDS 10

/* A log of ten records and, as record 0 of no file, nothing before. */
static void make_log(struct folder *f)
{
	struct audit_sink *sink;

	folder_make(f);
	sink = folder_open(f);
	folder_write(sink, N_RECORDS);
	audit_sink_close(sink);
}

/* Start of the nth line, from 1. */
static char *nth_line(char *data, unsigned int n)
{
	while (--n)
		data = strchr(data, '\n') + 1;
	return data;
}

static void cut_lines(const struct folder *f, unsigned int keep)
{
	size_t len;
	_cleanup_free_ char *data = folder_read(f->log, &len);

	assert_int_equal(truncate(f->log, nth_line(data, keep + 1) - data), 0);
}

static void tamper_none(const struct folder *f)
{
	(void)f;
}

static void tamper_byte(const struct folder *f)
{
	size_t len;
	_cleanup_free_ char *data = folder_read(f->log, &len);

	*strstr(nth_line(data, 4), "443") = '8';
	assert_int_equal(file_replace(f->log, data, len, 0640), 0);
}

/* Someone who knows the format and writes a right hash over a changed record. */
static void tamper_with_new_hash(const struct folder *f)
{
	_cleanup_(chain_done)
	struct chain chain;
	size_t len;
	_cleanup_free_ char *data = folder_read(f->log, &len);
	char *line = nth_line(data, 4), hash[CHAIN_HEX_BYTES];
	struct chain_link link;

	assert_int_equal(chain_init(&chain), 0);
	*strstr(line, "443") = '8';
	assert_true(chain_read(line, (size_t)(strchr(line, '\n') - line), &link));
	assert_int_equal(chain_digest(&chain, line, &link, hash), 0);
	memcpy(line + (link.hash - line), hash, 64);
	assert_int_equal(file_replace(f->log, data, len, 0640), 0);
}

static void tamper_last_with_new_hash(const struct folder *f)
{
	_cleanup_(chain_done)
	struct chain chain;
	size_t len;
	_cleanup_free_ char *data = folder_read(f->log, &len);
	char *line = nth_line(data, N_RECORDS), hash[CHAIN_HEX_BYTES];
	struct chain_link link;

	assert_int_equal(chain_init(&chain), 0);
	*strstr(line, "443") = '8';
	assert_true(chain_read(line, (size_t)(strchr(line, '\n') - line), &link));
	assert_int_equal(chain_digest(&chain, line, &link, hash), 0);
	memcpy(line + (link.hash - line), hash, 64);
	assert_int_equal(file_replace(f->log, data, len, 0640), 0);
}

static void drop_line(const struct folder *f)
{
	size_t len;
	_cleanup_free_ char *data = folder_read(f->log, &len);
	char *line = nth_line(data, 4), *next = strchr(line, '\n') + 1;

	memmove(line, next, (size_t)(data + len - next));
	assert_int_equal(file_replace(f->log, data, len - (size_t)(next - line), 0640), 0);
}

static void insert_lines(const struct folder *f, const char *text_of_line)
{
	size_t len;
	_cleanup_free_ char *data = folder_read(f->log, &len);
	_cleanup_(buf_done)
	struct buf b = {0};
	char *line = nth_line(data, 4);

	buf_add(&b, data, (size_t)(line - data));
	buf_add_str(&b, text_of_line);
	buf_add_str(&b, line);
	assert_int_equal(file_replace(f->log, b.data, b.len, 0640), 0);
}

static void insert_rubbish(const struct folder *f)
{
	insert_lines(f, "not a record\n");
}

static void insert_object(const struct folder *f)
{
	insert_lines(f, "{\"seq\":4,\"event\":\"network_allowed\"}\n");
}

static void drop_first(const struct folder *f)
{
	size_t len;
	_cleanup_free_ char *data = folder_read(f->log, &len);
	char *third = nth_line(data, 3);

	assert_int_equal(file_replace(f->log, third, len - (size_t)(third - data), 0640), 0);
}

static void cut_one(const struct folder *f)
{
	cut_lines(f, N_RECORDS - 1);
}

static void cut_seven(const struct folder *f)
{
	cut_lines(f, N_RECORDS - 7);
}

static void cut_all(const struct folder *f)
{
	assert_int_equal(truncate(f->log, 0), 0);
}

static void remove_log(const struct folder *f)
{
	assert_int_equal(unlink(f->log), 0);
}

static void cut_in_record(const struct folder *f)
{
	size_t len;
	_cleanup_free_ char *data = folder_read(f->log, &len);

	assert_int_equal(truncate(f->log, (off_t)len - 20), 0);
}

static void remove_head(const struct folder *f)
{
	assert_int_equal(unlink(f->head), 0);
}

/* Cuts a record and makes the head agree, without the key. */
static void forge_head(const struct folder *f)
{
	size_t len;
	_cleanup_free_ char *data = folder_read(f->head, &len);
	char *seq = strstr(data, "\"seq\":10,");

	memcpy(seq, "\"seq\":9 ,", 9);
	cut_one(f);
	assert_int_equal(file_replace(f->head, data, len, 0640), 0);
}

/* An older copy of the log under the newest head. */
static void put_old_copy_back(const struct folder *f)
{
	size_t len;
	_cleanup_free_ char *old = folder_read(f->log, &len);
	struct audit_sink *sink = folder_open(f);

	folder_write(sink, 5);
	audit_sink_close(sink);
	assert_int_equal(file_replace(f->log, old, len, 0640), 0);
}

/* Another log altogether, longer than the head. */
static void swap_log(const struct folder *f)
{
	struct folder other;
	struct audit_sink *sink;
	size_t len;

	folder_make(&other);
	sink = folder_open(&other);
	folder_write(sink, 2 * N_RECORDS);
	audit_sink_close(sink);
	_cleanup_free_ char *data = folder_read(other.log, &len);
	assert_int_equal(file_replace(f->log, data, len, 0640), 0);
	folder_remove(&other);
}

static const struct {
	const char *name;
	void (*tamper)(const struct folder *f);
	enum verify_fault fault;
	uint64_t line, missing;
	bool is_gap_noted; /* the next start writes an audit_gap record */
} tampers[] = {
	{"nothing", tamper_none, VERIFY_GOOD, 0, 0, false},
	{"a byte", tamper_byte, VERIFY_HASH, 4, 0, true},
	{"a record and its hash", tamper_with_new_hash, VERIFY_PREV, 5, 0, true},
	{"the last record and its hash", tamper_last_with_new_hash, VERIFY_HEAD_HASH, 10, 0, true},
	{"a line taken out", drop_line, VERIFY_SEQ, 4, 1, true},
	{"rubbish", insert_rubbish, VERIFY_NOT_JSON, 4, 0, true},
	{"an object", insert_object, VERIFY_NO_RECORD, 4, 0, true},
	{"the beginning", drop_first, VERIFY_START, 1, 2, false},
	{"the last record", cut_one, VERIFY_TAIL, 0, 1, true},
	{"seven records", cut_seven, VERIFY_TAIL, 0, 7, true},
	{"all records", cut_all, VERIFY_NO_LOG, 0, 10, true},
	{"the file", remove_log, VERIFY_NO_LOG, 0, 10, true},
	{"half a record", cut_in_record, VERIFY_TORN, 10, 0, true},
	{"the head", remove_head, VERIFY_NO_HEAD, 0, 0, true},
	{"the head's number", forge_head, VERIFY_HEAD_HASH, 9, 0, true},
	{"an older copy", put_old_copy_back, VERIFY_TAIL, 0, 5, true},
	{"another log", swap_log, VERIFY_HEAD_HASH, 10, 0, true},
};

static void every_change_is_named_with_its_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tampers); i++) {
		_cleanup_(buf_done)
		struct buf b = {0};
		struct verify_result v;
		struct folder f;

		make_log(&f);
		tampers[i].tamper(&f);
		v = folder_verify(&f);
		if (v.fault != tampers[i].fault || v.line != tampers[i].line ||
			v.missing != tampers[i].missing)
			fail_msg("%s: fault %d, line %llu, missing %llu", tampers[i].name, v.fault,
				(unsigned long long)v.line, (unsigned long long)v.missing);
		if (v.fault != VERIFY_GOOD) {
			verify_print(&v, &b);
			assert_true(b.len > 0);
		}
		folder_remove(&f);
	}
}

static void restart_after_a_change_records_it_and_goes_on(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tampers); i++) {
		struct audit_sink *sink;
		struct verify_result v;
		struct folder f;
		size_t gaps;

		make_log(&f);
		tampers[i].tamper(&f);
		sink = folder_open(&f);
		folder_write(sink, 1);
		audit_sink_close(sink);
		gaps = folder_count(f.log, "\"event\":\"audit_gap\"");
		if (gaps != tampers[i].is_gap_noted)
			fail_msg("%s: %zu gap records", tampers[i].name, gaps);
		v = folder_verify(&f);
		/* A head that was lost is replaced; records that were lost stay missing. */
		if ((v.fault == VERIFY_GOOD) !=
			(tampers[i].fault == VERIFY_GOOD || tampers[i].fault == VERIFY_NO_HEAD))
			fail_msg("%s: fault %d after restart", tampers[i].name, v.fault);
		folder_remove(&f);
	}
}

static void rotated_files_are_one_chain(void **state)
{
	struct audit_sink_options o;
	struct audit_sink *sink;
	struct verify_result v;
	struct folder f;
	char name[128];

	(void)state;
	folder_make(&f);
	o = folder_options(&f);
	o.rotate_bytes = 4000;
	o.rotate_keep = 3;
	assert_int_equal(audit_sink_open(&o, &sink), 0);
	for (int i = 0; i < 20; i++)
		folder_write(sink, 2);
	audit_sink_close(sink);
	v = folder_verify(&f);
	assert_int_equal(v.fault, VERIFY_GOOD);
	assert_int_equal(v.n_files, 4);
	assert_true(v.first_seq > 1);
	assert_int_equal(v.seq, 40);

	snprintf(name, sizeof(name), "%s.3", f.log);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(folder_verify(&f).fault, VERIFY_START);
	snprintf(name, sizeof(name), "%s.1", f.log);
	assert_int_equal(truncate(name, 0), 0);
	v = folder_verify(&f);
	assert_int_equal(v.fault, VERIFY_START);
	folder_remove(&f);
}

static void log_is_continued_across_starts(void **state)
{
	struct verify_result v;
	struct folder f;

	(void)state;
	folder_make(&f);
	for (int i = 0; i < 5; i++) {
		struct audit_sink *sink = folder_open(&f);

		folder_write(sink, 3);
		audit_sink_close(sink);
	}
	v = folder_verify(&f);
	assert_int_equal(v.fault, VERIFY_GOOD);
	assert_int_equal(v.n_records, 15);
	assert_int_equal(v.head.signature, HEAD_SIGNED);
	assert_int_equal(folder_count(f.log, "audit_gap"), 0);
	folder_remove(&f);
}

static void head_of_another_key_is_told(void **state)
{
	struct chain_key *key = NULL;
	struct verify_result v;
	struct folder f, other;

	(void)state;
	make_log(&f);
	make_log(&other);
	assert_int_equal(chain_key_load_public(other.pub, &key), 0);
	assert_int_equal(verify_log(f.log, key, &v), 0);
	assert_int_equal(v.fault, VERIFY_BAD_HEAD);
	assert_int_equal(v.head.signature, HEAD_OTHER_KEY);
	assert_int_equal(verify_log(f.log, NULL, &v), 0);
	assert_int_equal(v.fault, VERIFY_GOOD);
	assert_int_equal(v.head.signature, HEAD_UNCHECKED);
	chain_key_free(key);
	folder_remove(&f);
	folder_remove(&other);
}

static void key_others_can_read_is_refused(void **state)
{
	struct chain_key *key = NULL;
	struct stat st;
	struct folder f;

	(void)state;
	make_log(&f);
	assert_int_equal(stat(f.key, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(f.pub, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(chmod(f.key, 0640), 0);
	assert_int_equal(chain_key_load(f.key, &key), -EPERM);
	assert_int_equal(chmod(f.key, 0600), 0);
	assert_int_equal(truncate(f.key, 10), 0);
	assert_int_equal(chain_key_load(f.key, &key), -EBADMSG);
	assert_int_equal(chain_key_load_public("/dev/null", &key), -EBADMSG);
	folder_remove(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_change_is_named_with_its_line),
		cmocka_unit_test(restart_after_a_change_records_it_and_goes_on),
		cmocka_unit_test(rotated_files_are_one_chain),
		cmocka_unit_test(log_is_continued_across_starts),
		cmocka_unit_test(head_of_another_key_is_told),
		cmocka_unit_test(key_others_can_read_is_refused),
	};

	return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
