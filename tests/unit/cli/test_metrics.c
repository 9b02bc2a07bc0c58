/* SPDX-License-Identifier: GPL-2.0-only */
/* The page is the exposition format as a strict reader takes it, whatever names are in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../../user/cli/metrics.h"

#define ODD_NAME "a\\b\"c\nd} 1"

static json_t *histogram(int few, int many)
{
	return json_pack("{s:i, s:[{s:i, s:i}, {s:n, s:i}]}", "sum_us", 1500000, "buckets", "le_us",
		100, "count", few, "le_us", "count", many);
}

static json_t *meter(void)
{
	return json_pack("{s:i, s:i, s:i, s:{s:o}, s:{s:o, s:o}, s:{s:o}, s:{s:o}}", "connections",
		12, "relayed_out", 10, "relayed_in", 20, "connect", "connected", histogram(1, 0),
		"dns", "noerror", histogram(5, 1), "nxdomain", histogram(2, 0), "tls_client",
		"failed", histogram(0, 3), "tls_origin", "done", histogram(8, 0));
}

static json_t *sandbox(const char *name, int n)
{
	return json_pack("{s:s, s:b, s:s, s:s, s:i, s:i, s:i, s:b, s:{s:i, s:i, s:i, s:{s:i}},"
			 " s:{s:[{s:s, s:s, s:s, s:i}], s:i, s:i, s:i, s:{s:o}}, s:o}",
		"name", name, "live", 1, "state", "halted", "policy_sha256", "0011", "generation",
		2, "open_connections", n, "worker_restarts", 1, "audit_failed", 0, "counters",
		"redirected", 5, "dropped_packets", 0, "events_lost", 0, "refused", "udp", n,
		"totals", "verdicts", "verdict", "blocked", "layer", "dns", "reason", "no-rule",
		"count", n, "dns_denied", n, "tls", 0, "unrecorded", 0, "durations", "blocked",
		histogram(3, 4), "meter", meter());
}

/* --- a reader that knows no mercy */

struct reader {
	const char *at;
	char family[64], type[16];
	double last;       /* of the histogram being read: its newest bucket, -1 before */
	bool is_full;      /* and that one has no bound */
	char seen[32][64]; /* families that are over: none may come again */
	size_t n_seen, n_samples;
};

static void take_name(struct reader *r, char *name)
{
	size_t n = 0;

	assert_true(isalpha((unsigned char)*r->at) || *r->at == '_');
	while (isalnum((unsigned char)*r->at) || *r->at == '_') {
		assert_true(n < 63);
		name[n++] = *r->at++;
	}
	name[n] = 0;
}

static void take(struct reader *r, const char *text)
{
	assert_memory_equal(r->at, text, strlen(text));
	r->at += strlen(text);
}

static void take_quoted(struct reader *r)
{
	take(r, "\"");
	for (; *r->at != '"'; r->at++) {
		assert_true(*r->at && *r->at != '\n');
		if (*r->at == '\\') {
			r->at++;
			assert_non_null(strchr("\\\"n", *r->at));
		}
	}
	take(r, "\"");
}

/* Buckets hold those below as well, and the last one holds all. */
static void check_histogram(struct reader *r, const char *suffix, bool is_last, double value)
{
	if (!strcmp(suffix, "_bucket")) {
		assert_false(r->is_full);
		assert_true(value >= r->last);
		r->last = value;
		r->is_full = is_last;
		return;
	}
	assert_true(r->is_full);
	if (!strcmp(suffix, "_count")) {
		assert_true(value == r->last);
		r->last = -1;
		r->is_full = false;
	}
}

static void take_labels(struct reader *r, bool *ret_has_le)
{
	char last[64] = "", name[64];

	*ret_has_le = false;
	take(r, "{");
	do {
		take_name(r, name);
		assert_string_not_equal(name, last);
		*ret_has_le |= !strcmp(name, "le");
		strcpy(last, name);
		take(r, "=");
		take_quoted(r);
	} while (*r->at == ',' && r->at++);
	take(r, "} ");
}

static void take_sample(struct reader *r)
{
	bool is_histogram = !strcmp(r->type, "histogram"), has_le;
	const char *labels;
	char name[64], *end;
	double value;
	size_t len = strlen(r->family);

	take_name(r, name);
	assert_int_equal(strncmp(name, r->family, len), 0);
	if (is_histogram)
		assert_true(!strcmp(name + len, "_bucket") || !strcmp(name + len, "_sum") ||
			!strcmp(name + len, "_count"));
	else
		assert_int_equal(name[len], 0);
	labels = r->at;
	take_labels(r, &has_le);
	assert_int_equal(has_le, is_histogram && !strcmp(name + len, "_bucket"));
	assert_true(isdigit((unsigned char)*r->at));
	value = strtod(r->at, &end);
	if (is_histogram)
		check_histogram(r, name + len,
			memmem(labels, (size_t)(r->at - labels), "le=\"+Inf\"", 9), value);
	r->at = end;
	take(r, "\n");
	r->n_samples++;
}

static void take_family(struct reader *r)
{
	char name[64];

	take(r, "# HELP ");
	take_name(r, r->family);
	for (size_t i = 0; i < r->n_seen; i++)
		assert_string_not_equal(r->family, r->seen[i]);
	strcpy(r->seen[r->n_seen++], r->family);
	take(r, " ");
	r->at = strchr(r->at, '\n') + 1;
	take(r, "# TYPE ");
	take_name(r, name);
	assert_string_equal(name, r->family);
	take(r, " ");
	take_name(r, r->type);
	r->last = -1;
	r->is_full = false;
	assert_true(!strcmp(r->type, "counter") || !strcmp(r->type, "gauge") ||
		!strcmp(r->type, "histogram"));
	if (!strcmp(r->type, "counter"))
		assert_string_equal(r->family + strlen(r->family) - 6, "_total");
	take(r, "\n");
	do
		take_sample(r);
	while (*r->at && *r->at != '#');
}

static size_t read_page(const char *page)
{
	struct reader r = {.at = page};

	while (*r.at)
		take_family(&r);
	return r.n_samples;
}

/* --- */

static void page_is_what_a_strict_reader_takes(void **state)
{
	json_t *all = json_pack("[o, o]", sandbox("agent", 7), sandbox(ODD_NAME, 0));
	struct buf out;

	(void)state;
	buf_init(&out);
	metrics_print(all, &out);
	buf_add_char(&out, 0);
	assert_false(out.is_failed);
	assert_true(read_page(out.data) > 40);
	buf_done(&out);
	json_decref(all);
}

static void numbers_have_their_labels(void **state)
{
	static const char *const lines[] = {
		"nej_up{sandbox=\"agent\"} 1\n",
		"nej_connections_open{sandbox=\"agent\"} 7\n",
		"nej_connections_open{sandbox=\"a\\\\b\\\"c\\nd} 1\"} 0\n",
		"nej_state{sandbox=\"agent\",state=\"halted\"} 1\n",
		"nej_state{sandbox=\"agent\",state=\"broken\"} 0\n",
		"nej_verdicts_total{sandbox=\"agent\",layer=\"dns\",reason=\"no-rule\","
		"verdict=\"blocked\"} 7\n",
		"nej_bytes_total{sandbox=\"agent\",direction=\"out\"} 10\n",
		"nej_bytes_total{sandbox=\"agent\",direction=\"in\"} 20\n",
		"nej_attempt_duration_seconds_bucket{sandbox=\"agent\",verdict=\"blocked\","
		"le=\"0.000100\"} 3\n",
		"nej_attempt_duration_seconds_bucket{sandbox=\"agent\",verdict=\"blocked\","
		"le=\"+Inf\"} 7\n",
		"nej_attempt_duration_seconds_sum{sandbox=\"agent\",verdict=\"blocked\"} "
		"1.500000\n",
		"nej_attempt_duration_seconds_count{sandbox=\"agent\",verdict=\"blocked\"} 7\n",
		"nej_connections_total{sandbox=\"agent\"} 12\n",
		"nej_connect_duration_seconds_count{sandbox=\"agent\",outcome=\"connected\"} 1\n",
		"nej_dns_answer_duration_seconds_bucket{sandbox=\"agent\",rcode=\"noerror\","
		"le=\"+Inf\"} 6\n",
		"nej_tls_handshake_duration_seconds_count{sandbox=\"agent\",side=\"client\","
		"outcome=\"failed\"} 3\n",
		"nej_tls_handshake_duration_seconds_sum{sandbox=\"agent\",side=\"origin\","
		"outcome=\"done\"} 1.500000\n",
		"nej_kernel_refused_total{sandbox=\"agent\",reason=\"udp\"} 7\n",
	};
	json_t *all = json_pack("[o, o]", sandbox("agent", 7), sandbox(ODD_NAME, 0));
	struct buf out;

	(void)state;
	buf_init(&out);
	metrics_print(all, &out);
	buf_add_char(&out, 0);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (!strstr(out.data, lines[i]))
			fail_msg("no line %s in:\n%s", lines[i], out.data);
	buf_done(&out);
	json_decref(all);
}

/* A dead supervisor's leftovers say nothing of themselves. */
static void sandbox_that_does_not_answer_has_no_numbers(void **state)
{
	json_t *all = json_pack("[{s:s, s:b, s:s, s:n}]", "name", "dead", "live", 0,
		"policy_sha256", "", "counters");
	json_t *none = json_array();
	struct buf out;

	(void)state;
	buf_init(&out);
	metrics_print(all, &out);
	buf_add_char(&out, 0);
	assert_non_null(strstr(out.data, "nej_up{sandbox=\"dead\"} 0\n"));
	assert_null(strstr(out.data, "nej_connections_open"));
	buf_clear(&out);
	metrics_print(none, &out);
	assert_int_equal(out.len, 0);
	buf_done(&out);
	json_decref(all);
	json_decref(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_is_what_a_strict_reader_takes),
		cmocka_unit_test(numbers_have_their_labels),
		cmocka_unit_test(sandbox_that_does_not_answer_has_no_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
