/* SPDX-License-Identifier: GPL-2.0-only */
/* What nej watch shows: folding, order, selection, what would be granted; the frame; the keys. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/cli/keys.h"
#include "../../../user/cli/watch_view.h"

static struct watch_list list;

static int begin(void **state)
{
	(void)state;
	watch_list_init(&list);
	return 0;
}

static int end(void **state)
{
	(void)state;
	watch_list_done(&list);
	return 0;
}

/* A record of the log; `more` stands before the usual keys, which it may say first. */
static int add(const char *more)
{
	char text[4096];
	struct audit_record r;
	int result;

	snprintf(text, sizeof(text),
		"{%s,\"time\":\"2026-12-01T10:11:12.123456Z\",\"layer\":\"http\",\"count\":1}",
		more);
	assert_true(audit_record_parse(text, strlen(text), &r));
	result = watch_list_add(&list, &r);
	audit_record_done(&r);
	return result;
}

#define BLOCKED "\"event\":\"network_blocked\",\"reason\":\"no-rule\",\"proto\":\"tcp\""
#define DNS "\"event\":\"dns_blocked\",\"reason\":\"no-rule\",\"proto\":\"udp\",\"port\":53"
#define HTTP(host, method, url)                                                                    \
	BLOCKED ",\"app\":\"http\",\"port\":80,\"host\":\"" host "\",\"method\":\"" method         \
		"\",\"url\":\"" url "\""

static size_t view(struct watch_row *rows[WATCH_MAX_ROWS + NEJ_MAX_GRANTS])
{
	return watch_list_view(&list, rows, WATCH_MAX_ROWS + NEJ_MAX_GRANTS);
}

static const struct watch_row *row_at(size_t i)
{
	struct watch_row *rows[WATCH_MAX_ROWS + NEJ_MAX_GRANTS];

	assert_true(i < view(rows));
	return rows[i];
}

static void set_grants(const char *text)
{
	json_t *grants = json_loads(text, 0, NULL);

	assert_non_null(grants);
	assert_int_equal(watch_list_set_grants(&list, grants, 1000), 0);
	json_decref(grants);
}

#define GRANTS                                                                                     \
	"[{\"id\":2,\"target\":\"b.test\",\"uid\":1000,\"remaining_s\":60},"                       \
	"{\"id\":1,\"target\":\"a.test\",\"uid\":0,\"remaining_s\":5,\"note\":\"why\"}]"

static void attempts_are_folded_by_where_they_went(void **state)
{
	struct watch_row *rows[WATCH_MAX_ROWS + NEJ_MAX_GRANTS];

	(void)state;
	assert_int_equal(
		add(HTTP("a.test", "GET", "http://a.test/x?key=1") ",\"comm\":\"curl\",\"pid\":7"),
		1);
	assert_int_equal(
		add(HTTP("a.test", "GET", "http://a.test/x?key=2") ",\"comm\":\"wget\",\"pid\":8"),
		1);
	assert_int_equal(add(HTTP("a.test", "POST", "http://a.test/x")), 1);
	assert_int_equal(add(HTTP("a.test", "GET", "http://a.test/y")), 1);
	assert_int_equal(add("\"event\":\"network_allowed\",\"host\":\"a.test\""), 0);
	assert_int_equal(add(DNS ",\"host\":\"a.test\",\"detail\":\"A\""), 1);
	assert_int_equal(add(DNS ",\"host\":\"a.test\",\"detail\":\"AAAA\""), 1);
	assert_int_equal(add(BLOCKED ",\"detail\":\"socket type raw, protocol 1\""), 1);
	assert_int_equal(add(BLOCKED ",\"detail\":\"socket type raw, protocol 58\""), 1);
	assert_int_equal(view(rows), 6);
	assert_int_equal(list.n_denied, 8);
	assert_string_equal(rows[5]->target, "a.test:80");
	assert_string_equal(rows[5]->request, "GET /x");
	assert_string_equal(rows[5]->process, "wget[8]");
	assert_int_equal(rows[5]->count, 2);
	assert_string_equal(rows[5]->time, "10:11:12");
	assert_string_equal(rows[2]->target, "a.test (name)");
	assert_int_equal(rows[2]->count, 2);
}

static void orders_are_by_first_by_last_and_by_count(void **state)
{
	(void)state;
	add(DNS ",\"host\":\"a.test\"");
	add(DNS ",\"host\":\"b.test\"");
	add(DNS ",\"host\":\"c.test\"");
	add(DNS ",\"host\":\"b.test\"");
	add(DNS ",\"host\":\"b.test\"");
	add(DNS ",\"host\":\"a.test\"");
	assert_string_equal(row_at(0)->target, "c.test (name)");
	list.order = WATCH_BY_LAST;
	assert_string_equal(row_at(0)->target, "a.test (name)");
	assert_string_equal(row_at(2)->target, "c.test (name)");
	list.order = WATCH_BY_COUNT;
	assert_string_equal(row_at(0)->target, "b.test (name)");
	set_grants(GRANTS);
	assert_int_equal(row_at(0)->grant, 2);
	assert_int_equal(row_at(1)->grant, 1);
	assert_string_equal(row_at(2)->target, "b.test (name)");
}

static const char *selected(void)
{
	size_t place;
	const struct watch_row *row = watch_list_selected(&list, &place);

	return row ? row->target : "none";
}

static void selection_stays_on_its_row(void **state)
{
	(void)state;
	assert_string_equal(selected(), "none");
	watch_list_move(&list, 1);
	add(DNS ",\"host\":\"a.test\"");
	assert_string_equal(selected(), "a.test (name)");
	watch_list_move(&list, 0);
	add(DNS ",\"host\":\"b.test\"");
	set_grants(GRANTS);
	assert_string_equal(selected(), "a.test (name)");
	list.order = WATCH_BY_LAST;
	add(DNS ",\"host\":\"c.test\"");
	assert_string_equal(selected(), "a.test (name)");
	watch_list_move(&list, -1);
	assert_string_equal(selected(), "b.test (name)");
	watch_list_move(&list, -100);
	assert_string_equal(selected(), "b.test"); /* grant 2 */
	watch_list_move(&list, 100);
	assert_string_equal(selected(), "a.test (name)");
}

static void selection_moves_on_when_its_row_goes(void **state)
{
	size_t place;

	(void)state;
	add(DNS ",\"host\":\"a.test\"");
	add(DNS ",\"host\":\"b.test\"");
	add(DNS ",\"host\":\"c.test\"");
	watch_list_move(&list, 1);
	assert_string_equal(selected(), "b.test (name)");
	watch_list_ignore(&list, watch_list_selected(&list, &place));
	assert_string_equal(selected(), "a.test (name)");
	watch_list_forget(&list, watch_list_selected(&list, &place));
	assert_string_equal(selected(), "c.test (name)");
	watch_list_forget(&list, watch_list_selected(&list, &place));
	assert_string_equal(selected(), "none");
	add(DNS ",\"host\":\"b.test\"");
	assert_string_equal(selected(), "none"); /* still ignored */
	assert_int_equal(list.n_ignored, 1);
	watch_list_show_all(&list);
	assert_string_equal(selected(), "b.test (name)");
	set_grants(GRANTS);
	watch_list_move(&list, -2);
	assert_string_equal(selected(), "b.test");
	set_grants("[]");
	assert_string_equal(selected(), "b.test (name)");
}

static void flood_keeps_what_is_new_selected_or_ignored(void **state)
{
	struct watch_row *rows[WATCH_MAX_ROWS + NEJ_MAX_GRANTS];
	char text[128];

	(void)state;
	add(DNS ",\"host\":\"ignored.test\"");
	watch_list_move(&list, 0);
	watch_list_ignore(&list, list.selected);
	add(DNS ",\"host\":\"chosen.test\"");
	watch_list_move(&list, 0);
	set_grants(GRANTS);
	for (int i = 0; i < 3 * WATCH_MAX_ROWS; i++) {
		snprintf(text, sizeof(text), DNS ",\"host\":\"h%d.test\"", i);
		assert_int_equal(add(text), 1);
	}
	assert_int_equal(view(rows), WATCH_MAX_ROWS - 1 + 2);
	assert_int_equal(list.n_dropped, 3 * WATCH_MAX_ROWS + 2 - WATCH_MAX_ROWS);
	assert_string_equal(selected(), "chosen.test (name)");
	add(DNS ",\"host\":\"ignored.test\"");
	assert_int_equal(list.n_ignored, 1);
}

static void grants_are_those_of_the_last_answer(void **state)
{
	(void)state;
	set_grants(GRANTS);
	assert_int_equal(row_at(1)->expiry_ms, 6000);
	assert_string_equal(row_at(1)->reason, "why");
	set_grants("[{\"id\":1,\"target\":\"a.test\",\"remaining_s\":1},{\"id\":0},{},7,\"x\"]");
	assert_int_equal(list.n, 1);
	assert_int_equal(row_at(0)->expiry_ms, 2000);
	assert_int_equal(watch_list_set_grants(&list, NULL, 0), 0);
	assert_int_equal(list.n, 0);
}

/* --- what would be granted */

static void target_is_what_was_asked_for_and_nothing_else(void **state)
{
	static const struct {
		const char *record, *narrow, *wide;
	} rows[] = {
		{DNS ",\"host\":\"a.test\"", "a.test", ""},
		{HTTP("a.test", "GET", "http://a.test/x/y?key=1"), "GET http://a.test/x/y",
			"http://a.test"},
		{BLOCKED ",\"app\":\"tls\",\"port\":443,\"host\":\"a.test\",\"method\":\"POST\","
			 "\"url\":\"https://a.test/x\"",
			"POST https://a.test/x", "https://a.test"},
		{BLOCKED ",\"app\":\"tls\",\"port\":443,\"host\":\"a.test\"", "a.test", ""},
		{BLOCKED ",\"app\":\"tls\",\"port\":8443,\"host\":\"a.test\"",
			"https://a.test:8443", ""},
		{BLOCKED ",\"port\":22,\"host\":\"a.test\"", "tcp://a.test:22", ""},
		{BLOCKED ",\"port\":25,\"addr\":\"93.184.216.34\"", "93.184.216.34:25", ""},
		{BLOCKED ",\"port\":25,\"addr\":\"2606:2800:220::1\"", "[2606:2800:220::1]:25", ""},
		{"\"event\":\"network_blocked\",\"reason\":\"rule\",\"rule\":{\"line\":3,\"text\":"
		 "\"deny: a.test\"},\"app\":\"raw\",\"port\":22,\"host\":\"a.test\"",
			"tcp://a.test:22", ""},
		/* no grant would help */
		{BLOCKED ",\"port\":80,\"addr\":\"169.254.169.254\"", "", ""},
		{BLOCKED ",\"port\":22,\"host\":\"localhost\"", "", ""},
		{BLOCKED ",\"port\":22,\"host\":\"a.test\\\" b\"", "", ""},
		{BLOCKED ",\"port\":22,\"host\":\"\\u001b[2J.test\"", "", ""},
		{"\"event\":\"network_blocked\",\"reason\":\"private-address\",\"host\":\"a.test\"",
			"", ""},
		{"\"event\":\"network_blocked\",\"reason\":\"placeholder-leak\",\"host\":\"a."
		 "test\"",
			"", ""},
		{"\"event\":\"network_blocked\",\"reason\":\"framing\",\"host\":\"a.test\"", "",
			""},
		{"\"event\":\"network_blocked\",\"reason\":\"new-one\",\"host\":\"a.test\"", "",
			""},
		/* a path that could be read as more is not believed */
		{HTTP("a.test", "GET", "http://a.test/x/%2e%2e/*"), "GET http://a.test/x",
			"http://a.test"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct target *t;

		watch_list_clear(&list);
		assert_int_equal(add(rows[i].record), 1);
		t = &row_at(0)->wanted;
		if (strcmp(t->narrow, rows[i].narrow) || strcmp(t->wide, rows[i].wide))
			fail_msg("%s: `%s`, `%s`", rows[i].record, t->narrow, t->wide);
		assert_int_equal(!t->why[0], !!t->narrow[0]);
	}
}

/* --- the frame */

static const char *const known[] = {
	"\033[H", "\033[K", "\033[J", "\033[0m", "\033[1m", "\033[7m", "\033[1;31m", "\033[2m"};

static size_t known_len(const char *at)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strncmp(at, known[i], strlen(known[i])) == 0)
			return strlen(known[i]);
	return 0;
}

/* Only our own sequences, and no line that the terminal would break. Returns its lines. */
static unsigned int check_frame(const struct screen *s)
{
	unsigned int column = 0, lines = 1;

	for (const char *at = s->out.data; *at;) {
		size_t n = known_len(at);

		if (n) {
			at += n;
			continue;
		}
		if (*at == '\r' || *at == '\n') {
			lines += *at == '\n';
			column = 0;
		} else if (*at < 0x20 || *at > 0x7e) {
			fail_msg("byte %02x in a frame", (unsigned char)*at);
		} else {
			column++;
		}
		assert_true(column <= s->columns);
		at++;
	}
	assert_true(lines <= s->rows);
	return lines;
}

static void frame_fits_any_terminal_whatever_is_in_it(void **state)
{
	static const char *const hostile[] = {"\\u001b[2J\\u001b]0;x\\u0007", "\\u009b31m",
		"\\u202e", "\\n\\r\\t", "\\u0000x", "\\u00e5\\ud83d\\ude00", "a b\\u007f"};
	struct watch_scene scene = {
		.name = "box", .state = "enforcing\033[1m", .target = "POST https://a.test/x"};
	struct screen s;
	char text[512];

	(void)state;
	screen_init(&s);
	for (size_t i = 0; i < ARRAY_SIZE(hostile); i++) {
		snprintf(text, sizeof(text),
			BLOCKED
			",\"port\":80,\"host\":\"%s\",\"comm\":\"%s\",\"pid\":1,\"method\":\"%s\","
			"\"url\":\"http://x/%s\",\"rule\":{\"line\":1,\"text\":\"%s\"}",
			hostile[i], hostile[i], hostile[i], hostile[i], hostile[i]);
		assert_int_equal(add(text), 1);
	}
	set_grants("[{\"id\":1,\"target\":\"a\\u001b[2J\",\"note\":\"\\u001b[2J\",\"remaining_s\":"
		   "1}]");
	snprintf(scene.message, sizeof(scene.message), "\033[2J no");
	for (unsigned int mode = WATCH_LIST; mode <= WATCH_HELP; mode++)
		for (unsigned int columns = 1; columns < 120; columns += columns < 20 ? 1 : 17)
			for (unsigned int rows = 1; rows < 40; rows += rows < 8 ? 1 : 9) {
				scene.mode = (enum watch_mode)mode;
				watch_view_draw(&s, &list, &scene, columns, rows);
				assert_false(s.out.is_failed);
				check_frame(&s);
			}
	screen_done(&s);
}

static void question_is_whole_or_not_asked(void **state)
{
	char target[WANTED_TEXT_BYTES];
	struct watch_scene scene = {.name = "box",
		.state = "enforcing",
		.mode = WATCH_GRANT,
		.target = target,
		.duration = "10m"};
	struct screen s;

	(void)state;
	screen_init(&s);
	memset(target, 'x', 400);
	memcpy(target, "GET https://", 12);
	strcpy(target + 396, "/end");
	add(DNS ",\"host\":\"a.test\"");
	for (unsigned int columns = 10; columns < 200; columns += 10)
		for (unsigned int rows = 2; rows < 60; rows += 3) {
			bool is_whole = watch_view_draw(&s, &list, &scene, columns, rows);

			check_frame(&s);
			assert_int_equal(is_whole, (456 + columns - 1) / columns < rows);
		}
	assert_true(watch_view_draw(&s, &list, &scene, 500, 24));
	assert_non_null(strstr(s.out.data, target));
	scene.mode = WATCH_LIST;
	assert_true(watch_view_draw(&s, &list, &scene, 20, 1));
	screen_done(&s);
}

static void selected_row_is_always_seen(void **state)
{
	struct watch_scene scene = {.name = "box", .state = "enforcing"};
	struct screen s;
	char text[128];

	(void)state;
	screen_init(&s);
	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), DNS ",\"host\":\"h%d.test\"", i);
		add(text);
	}
	for (int i = 0; i < 400; i++) {
		size_t place;

		watch_list_move(&list, i < 200 ? 1 + i % 3 : -1 - i % 5);
		watch_view_draw(&s, &list, &scene, 80, 10 + (unsigned int)i % 7);
		snprintf(text, sizeof(text), "%s", watch_list_selected(&list, &place)->target);
		assert_non_null(strstr(s.out.data, text));
	}
	screen_done(&s);
}

/* --- keys */

static void bytes_become_keys(void **state)
{
	static const struct {
		const char *bytes;
		int keys[8];
	} rows[] = {
		{"gjk", {'g', 'j', 'k'}},
		{"\033[A\033[B\033OA", {KEY_UP, KEY_DOWN, KEY_UP}},
		{"\033[5~\033[6~", {KEY_PAGE_UP, KEY_PAGE_DOWN}},
		{"\033[1;5Cq", {'q'}},
		{"\033gq", {KEY_ESCAPE, 'q'}},
		{"\r\n\t\177\b", {KEY_ENTER, KEY_ENTER, KEY_TAB, KEY_BACKSPACE, KEY_BACKSPACE}},
		{"\xc3\xa5q", {'q'}},
		{"\033[200~g\ry\033[A\033[201~q", {'q'}},
		{"\033[200~\033g\r\033[201~q", {'q'}},
		{"\033[9999999999999999999999q", {0}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct keys k = {.n = 0};
		size_t n = 0;

		for (const char *b = rows[i].bytes; *b; b++) {
			int key = keys_take(&k, *b);

			if (key == KEY_NONE || !rows[i].keys[0])
				continue;
			if (n == ARRAY_SIZE(rows[i].keys) || key != rows[i].keys[n++])
				fail_msg("row %zu: key %d", i, key);
		}
		if (rows[i].keys[0] && rows[i].keys[n])
			fail_msg("row %zu: only %zu keys", i, n);
	}
}

static void escape_by_itself_is_told_by_the_pause(void **state)
{
	struct keys k = {.n = 0};

	(void)state;
	assert_int_equal(keys_take(&k, '\033'), KEY_NONE);
	assert_int_equal(keys_flush(&k), KEY_ESCAPE);
	assert_int_equal(keys_flush(&k), KEY_NONE);
	assert_int_equal(keys_take(&k, '\033'), KEY_NONE);
	assert_int_equal(keys_take(&k, '['), KEY_NONE);
	assert_int_equal(keys_flush(&k), KEY_NONE);
	assert_int_equal(keys_take(&k, 'A'), 'A');
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(attempts_are_folded_by_where_they_went),
		T(orders_are_by_first_by_last_and_by_count),
		T(selection_stays_on_its_row),
		T(selection_moves_on_when_its_row_goes),
		T(flood_keeps_what_is_new_selected_or_ignored),
		T(grants_are_those_of_the_last_answer),
		T(target_is_what_was_asked_for_and_nothing_else),
		T(frame_fits_any_terminal_whatever_is_in_it),
		T(question_is_whole_or_not_asked),
		T(selected_row_is_always_seen),
		cmocka_unit_test(bytes_become_keys),
		cmocka_unit_test(escape_by_itself_is_told_by_the_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
