/* SPDX-License-Identifier: GPL-2.0-only */
/* Looking hosts up in the table finds what trying every rule in order finds. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "policies.h"

#define MAX_RULES 40

struct naive_rule {
	char target[64];
	bool is_deny;
};

static bool ends_with_label(const char *name, const char *suffix)
{
	size_t len = strlen(name), n = strlen(suffix);

	return len > n && name[len - n - 1] == '.' && !strcmp(name + len - n, suffix);
}

static bool is_match(const char *target, const char *name)
{
	if (!strcmp(target, "*"))
		return true;
	if (target[0] == '*')
		return ends_with_label(name, target + 2);
	if (target[0] == '.')
		return !strcmp(name, target + 1) || ends_with_label(name, target + 1);
	return !strcmp(name, target);
}

/* One to four labels of very few, so that names meet often. */
static void make_name(char *out)
{
	static const char *const labels[] = {"a", "b", "aa", "abcdefg", "abcdefgh", "bcdefga1"};
	size_t n = 1 + (size_t)random() % 4;

	*out = 0;
	for (size_t i = 0; i < n; i++) {
		strcat(out, i ? "." : "");
		strcat(out, labels[random() % 6]);
	}
}

static size_t make_rules(struct naive_rule *rules, char *text)
{
	static const char *const heads[] = {"", ".", "*."};
	size_t n = 1 + (size_t)random() % MAX_RULES, at;

	at = (size_t)sprintf(text, "rules:\n");
	for (size_t i = 0; i < n; i++) {
		char name[64];

		make_name(name);
		if (random() % 30 == 0)
			strcpy(rules[i].target, "*");
		else
			sprintf(rules[i].target, "%s%s", heads[random() % 3], name);
		rules[i].is_deny = random() % 2;
		at += (size_t)sprintf(text + at, "  - %s: '%s'\n",
			rules[i].is_deny ? "deny" : "allow", rules[i].target);
	}
	return n;
}

static void check_name(const struct policy *p, const struct naive_rule *rules, size_t n)
{
	struct policy_decision d;
	char name[64];
	size_t first = 0;

	make_name(name);
	d = ask_connection(p, POLICY_SCHEME_HTTPS, name, 443);
	while (first < n && !is_match(rules[first].target, name))
		first++;
	if (d.rule != (first < n ? (uint32_t)first : POLICY_NO_RULE))
		fail_msg("%s: rule %d, not %zu", name, (int)d.rule, first);
	assert_int_equal(
		d.verdict, first < n && !rules[first].is_deny ? POLICY_ALLOW : POLICY_DENY);
}

static void table_finds_what_trying_finds(void **state)
{
	struct naive_rule rules[MAX_RULES];
	char text[MAX_RULES * 80 + 16];

	(void)state;
	srandom(11);
	for (int round = 0; round < 300; round++) {
		size_t n = make_rules(rules, text);
		struct policy *p = policy_of(text);

		for (int i = 0; i < 200; i++)
			check_name(p, rules, n);
		policy_free(p);
	}
}

/* Ranges of every length, first match by order and not by length. */
static void ranges_are_tried_in_order(void **state)
{
	char text[MAX_RULES * 80 + 16];
	struct prefix ranges[MAX_RULES];

	(void)state;
	srandom(13);
	for (int round = 0; round < 200; round++) {
		size_t n = 1 + (size_t)random() % MAX_RULES, at;
		struct policy *p;

		at = (size_t)sprintf(text, "rules:\n");
		for (size_t i = 0; i < n; i++) {
			unsigned int bits = 8 + (unsigned int)random() % 25;
			uint32_t v = 0x08080000u | ((uint32_t)random() & 0x0303);
			char addr[ADDR_TEXT_BYTES];

			v &= ~(uint32_t)0 << (32 - bits);
			ranges[i] = (struct prefix){addr_from_v4(v), (uint8_t)(96 + bits)};
			at += (size_t)sprintf(text + at, "  - deny: %s/%u\n",
				addr_print(&ranges[i].addr, addr), bits);
		}
		p = policy_of(text);
		for (int i = 0; i < 100; i++) {
			struct addr a = addr_from_v4(0x08080000u | ((uint32_t)random() & 0x0303));
			char addr[ADDR_TEXT_BYTES];
			size_t first = 0;

			while (first < n && !prefix_has(&ranges[first], &a))
				first++;
			assert_int_equal(
				ask_connection(p, POLICY_SCHEME_HTTPS, addr_print(&a, addr), 443)
					.rule,
				first < n ? (uint32_t)first : POLICY_NO_RULE);
		}
		policy_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_finds_what_trying_finds),
		cmocka_unit_test(ranges_are_tried_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
