/* SPDX-License-Identifier: GPL-2.0-only */
/* What suggest prints is a policy that loads, allows what was denied, and opens nothing it must not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/cli/log.h"
#include "../../../user/cli/suggest.h"
#include "../../../user/policy/policy.h"
#include "../../../user/policy/request.h"

#define BLOCKED "\"event\":\"network_blocked\",\"layer\":\"proxy\",\"proto\":\"tcp\","
#define NO_RULE BLOCKED "\"reason\":\"no-rule\","
#define DNS "\"event\":\"dns_blocked\",\"layer\":\"dns\",\"reason\":\"no-rule\","
#define MAX 8

static const struct {
	const char *name;
	const char *records[MAX];  /* without braces */
	const char *lines[MAX];    /* that must be printed */
	const char *absent;        /* must not be, outside of comments */
	const char *requests[MAX]; /* that must be allowed then */
} rows[] = {
	{"a name", {DNS "\"host\":\"evil.test\",\"count\":12"},
		{"  - allow: evil.test  # 12 denied, only its name was asked for"}, NULL,
		{"https://evil.test/", "dns:evil.test"}},
	{"TLS, HTTP and CONNECT on their ports",
		{NO_RULE "\"app\":\"tls\",\"host\":\"a.test\",\"port\":443",
			NO_RULE
			"\"app\":\"http\",\"method\":\"CONNECT\",\"host\":\"b.test\",\"port\":443",
			NO_RULE "\"app\":\"tls\",\"host\":\"c.test\",\"port\":8443",
			NO_RULE "\"app\":\"raw\",\"host\":\"d.test\",\"port\":22",
			NO_RULE "\"app\":\"http\",\"method\":\"CONNECT\",\"host\":\"e.test\","
				"\"port\":5432"},
		{"  - allow: a.test  # 1 denied", "  - allow: b.test  # 1 denied",
			"  - allow: https://c.test:8443  # 1 denied",
			"  - allow: tcp://d.test:22  # 1 denied",
			"  - allow: e.test:5432  # 1 denied"},
		NULL,
		{"https://a.test/", "b.test:443", "https://c.test:8443/", "tcp://d.test:22",
			"e.test:5432"}},
	{"most wanted first",
		{DNS "\"host\":\"few.test\",\"count\":2",
			DNS "\"host\":\"many.test\",\"count\":200"},
		{"rules:\n  - allow: many.test"}, NULL, {"https://few.test/"}},
	{"methods and paths",
		{NO_RULE "\"app\":\"http\",\"host\":\"gh.test\",\"port\":80,\"method\":\"GET\","
			 "\"url\":\"http://gh.test/repos/x?token=1\"",
			NO_RULE
			"\"app\":\"http\",\"host\":\"gh.test\",\"port\":80,\"method\":\"POST\","
			"\"url\":\"http://gh.test/repos/x\",\"count\":3"},
		{"GET,POST http://gh.test/repos/x  # 4 denied"}, "token",
		{"GET http://gh.test/repos/x", "POST http://gh.test/repos/x?y=1"}},
	{"paths that could be read in two ways",
		{NO_RULE "\"app\":\"http\",\"host\":\"gh.test\",\"port\":80,\"method\":\"GET\","
			 "\"url\":\"http://gh.test/a/b%2fc/*/d\""},
		{"  - allow: GET http://gh.test/a  #"}, "%2f", {"GET http://gh.test/a/b%2fc/x/d"}},
	{"many paths are the host",
		{NO_RULE "\"app\":\"http\",\"host\":\"p.test\",\"port\":80,\"method\":\"GET\","
			 "\"url\":\"http://p.test/1\"",
			NO_RULE "\"app\":\"http\",\"host\":\"p.test\",\"port\":80,\"method\":"
				"\"GET\",\"url\":\"http://p.test/2\"",
			NO_RULE "\"app\":\"http\",\"host\":\"p.test\",\"port\":80,\"method\":"
				"\"GET\",\"url\":\"http://p.test/3\"",
			NO_RULE "\"app\":\"http\",\"host\":\"p.test\",\"port\":80,\"method\":"
				"\"GET\",\"url\":\"http://p.test/4\"",
			NO_RULE "\"app\":\"http\",\"host\":\"p.test\",\"port\":80,\"method\":"
				"\"GET\",\"url\":\"http://p.test/5\""},
		{"  - allow: p.test  # 5 denied"}, "http://", {"http://p.test/6"}},
	{"names of one site",
		{DNS "\"host\":\"a.cdn.example.com\"", DNS "\"host\":\"b.example.com\"",
			DNS "\"host\":\"example.com\""},
		{"  - allow: .example.com  # 3 denied, 3 names"}, "cdn",
		{"https://a.cdn.example.com/", "https://example.com/"}},
	{"names under a shared suffix stay apart",
		{DNS "\"host\":\"a.github.io\"", DNS "\"host\":\"b.github.io\"",
			DNS "\"host\":\"c.github.io\"", DNS "\"host\":\"d.github.io\""},
		{"  - allow: a.github.io  # 1 denied, only its name was asked for; github.io is "
		 "shared"},
		"allow: .github.io", {"https://d.github.io/"}},
	{"addresses of the open internet only",
		{BLOCKED "\"reason\":\"address-literal\",\"host\":\"93.184.216.34\",\"port\":443",
			BLOCKED "\"reason\":\"address-literal\",\"host\":\"2606:2800:220:1::34\","
				"\"port\":8080",
			BLOCKED
			"\"reason\":\"address-literal\",\"host\":\"169.254.169.254\",\"port\":80",
			BLOCKED "\"reason\":\"address-literal\",\"host\":\"10.0.0.5\",\"port\":80",
			NO_RULE "\"host\":\"0x7f.1\",\"port\":80",
			NO_RULE "\"host\":\"10.0.0.1.nip.io\",\"port\":80"},
		{"  - allow: 93.184.216.34  # 1 denied",
			"  - allow: \"[2606:2800:220:1::34]:8080\"  # 1 denied"},
		"10.0.0", {"https://93.184.216.34/", "[2606:2800:220:1::34]:8080"}},
	{"the kernel knows addresses, the log their names",
		{"\"event\":\"network_allowed\",\"host\":\"git.test\",\"addr\":\"198.18.0.7\","
		 "\"port\":443",
			"\"event\":\"network_blocked\",\"layer\":\"kernel\",\"reason\":\"no-rule\","
			"\"proto\":\"tcp\",\"addr\":\"198.18.0.7\",\"port\":22,\"count\":9",
			"\"event\":\"network_blocked\",\"layer\":\"kernel\",\"reason\":\"no-rule\","
			"\"proto\":\"tcp\",\"addr\":\"198.18.0.8\",\"port\":22"},
		{"  - allow: tcp://git.test:22  # 9 denied", "# 1 denied: 198.18.0.8:22"}, "198.18",
		{"tcp://git.test:22"}},
	{"what no rule opens",
		{"\"event\":\"network_blocked\",\"layer\":\"kernel\",\"reason\":\"udp\",\"proto\":"
		 "\"udp\","
		 "\"addr\":\"93.184.216.34\",\"port\":443,\"count\":7",
			"\"event\":\"network_blocked\",\"layer\":\"kernel\",\"reason\":\"socket-"
			"type\"",
			BLOCKED "\"reason\":\"rule\",\"host\":\"bad.test\",\"port\":443,"
				"\"rule\":{\"line\":3,\"text\":\"deny: bad.test\"}",
			BLOCKED "\"reason\":\"malformed-host\",\"host\":\"x\\\"\\n  - allow: '*'\"",
			NO_RULE "\"host\":\"*.test\",\"port\":443",
			NO_RULE "\"host\":\"localhost\",\"port\":443",
			"\"event\":\"dns_blocked\",\"reason\":\"no-rule\",\"host\":\".evil.test\","
			"\"count\":5000"},
		{"rules: []", "# 7 denied: 93.184.216.34:443 (udp): ", "(socket-type): ",
			"the rule in line 3 denies it", "# 5000 denied: .evil.test"},
		"allow", {NULL}},
	{"nothing", {"\"event\":\"network_allowed\",\"host\":\"a.test\""}, {"rules: []"}, "allow",
		{NULL}},
};

static char *suggest(const char *const records[MAX])
{
	char path[64], *text = NULL;
	int fd = memfd_create("log", MFD_CLOEXEC);
	FILE *to;
	size_t len;

	for (size_t i = 0; i < MAX && records[i]; i++)
		dprintf(fd, "{%s}\n", records[i]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	to = open_memstream(&text, &len);
	assert_int_equal(suggest_print(path, to), 0);
	fclose(to);
	close(fd);
	return text;
}

/* Without its comments. */
static void strip_comments(char *text)
{
	char *to = text;

	for (char *from = text; *from;) {
		if (*from == '#') {
			from += strcspn(from, "\n");
			continue;
		}
		*to++ = *from++;
	}
	*to = 0;
}

static void check_requests(const char *name, const char *text, const char *const requests[MAX])
{
	struct policy_decision decision;
	struct policy *policy = NULL;
	struct err_list errs;

	err_init(&errs, name);
	if (policy_load_text(text, strlen(text), NULL, &errs, &policy) < 0) {
		err_print(&errs, stderr);
		fail_msg("%s: does not load:\n%s", name, text);
	}
	for (size_t i = 0; i < MAX && requests[i]; i++) {
		assert_int_equal(request_explain(policy, requests[i], &decision), 0);
		if (decision.verdict == POLICY_DENY)
			fail_msg("%s: denies %s:\n%s", name, requests[i], text);
	}
	policy_free(policy);
}

static void suggestion_loads_and_allows_what_was_denied(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *text = suggest(rows[i].records);

		for (size_t k = 0; k < MAX && rows[i].lines[k]; k++)
			if (!strstr(text, rows[i].lines[k]))
				fail_msg("%s: no `%s` in:\n%s", rows[i].name, rows[i].lines[k],
					text);
		check_requests(rows[i].name, text, rows[i].requests);
		strip_comments(text);
		if (rows[i].absent && strstr(text, rows[i].absent))
			fail_msg("%s: `%s` in:\n%s", rows[i].name, rows[i].absent, text);
	}
}

static void log_line_shows_only_printable_ascii(void **state)
{
	static const char record[] =
		"{\"time\":\"2026-11-30T22:36:57.123456Z\",\"event\":\"network_blocked\",\"layer\":"
		"\"proxy\","
		"\"reason\":\"no-rule\",\"rule\":null,\"proto\":\"tcp\",\"app\":\"tls\","
		"\"host\":\"\\u001b[2J\\u202e\\n\",\"port\":443,\"pid\":42,\"comm\":\"\\u0085x\","
		"\"count\":3}";
	_cleanup_free_ char *text = NULL;
	struct audit_record r;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	(void)state;
	assert_true(audit_record_parse(record, sizeof(record) - 1, &r));
	log_print_record(&r, false, to);
	audit_record_done(&r);
	fclose(to);
	assert_string_equal(text,
		"2026-11-30 22:36:57.123 DENY   proxy  tcp/tls   \\x1b[2J\\u{202e}\\x0a:443        "
		"no-rule  \\u{85}x[42]  x3\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(suggestion_loads_and_allows_what_was_denied),
		cmocka_unit_test(log_line_shows_only_printable_ascii),
	};

	return cmocka_run_group_tests_name("suggest", tests, NULL, NULL);
}
