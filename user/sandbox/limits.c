/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading and printing limits; see limits.h. */
#include "limits.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../base/duration.h"
#include "../base/num.h"

#define MIN_MEMORY (4ull << 20) /* less starts no program */
#define MAX_MEMORY (1ull << 50)
#define MAX_PIDS (4u << 20) /* PID_MAX_LIMIT of linux/threads.h */
#define MAX_CPUS 8192u
#define MIN_CPUS_MILLI 10u /* cpu.max takes no quota below a millisecond of 100 */
#define MAX_SECONDS (30u * 24 * 3600)

/* 4G, as systemd and container engines write it, and 4g, 4Gi, 4GiB mean the same; 4GB would be less to
 * some, so it is none. */
static int parse_size(const char *text, uint64_t *ret)
{
	static const char units[] = "KMGT";
	size_t len = strlen(text), n_digits = strspn(text, "0123456789");
	const char *rest = text + n_digits,
		   *unit = *rest ? strchr(units, toupper((unsigned char)*rest)) : NULL;
	unsigned int shift = unit ? 10 * (unsigned int)(unit - units + 1) : 0;
	uint64_t n;
	int r;

	if (*rest &&
		(!unit || (rest[1] && strcmp(rest + 1, "i") != 0 && strcmp(rest + 1, "iB") != 0)))
		return -EINVAL;
	r = num_parse_u64(text, unit ? n_digits : len, MAX_MEMORY >> shift, &n);
	if (r < 0)
		return r;
	n <<= shift;
	if (n < MIN_MEMORY)
		return -ERANGE;
	*ret = n;
	return 0;
}

static int parse_pids(const char *text, uint64_t *ret)
{
	uint64_t n;
	int r = num_parse_u64(text, strlen(text), MAX_PIDS, &n);

	if (r < 0)
		return r;
	if (!n)
		return -ERANGE;
	*ret = n;
	return 0;
}

/* Whole CPUs, and up to three decimals. */
static int parse_cpus(const char *text, uint64_t *ret)
{
	const char *dot = strchr(text, '.');
	size_t n_decimals = dot ? strlen(dot + 1) : 0;
	uint64_t whole, part = 0;
	int r = num_parse_u64(text, dot ? (size_t)(dot - text) : strlen(text), MAX_CPUS, &whole);

	if (r < 0)
		return r;
	if (dot && (n_decimals > 3 || num_parse_u64(dot + 1, n_decimals, 999, &part) < 0))
		return -EINVAL;
	for (; dot && n_decimals < 3; n_decimals++)
		part *= 10;
	if (whole * 1000 + part < MIN_CPUS_MILLI)
		return -ERANGE;
	*ret = whole * 1000 + part;
	return 0;
}

static int parse_time(const char *text, uint64_t *ret)
{
	uint64_t n;
	int r = duration_parse(text, MAX_SECONDS, &n);

	if (r < 0)
		return r;
	if (!n)
		return -ERANGE;
	*ret = n;
	return 0;
}

static void print_size(uint64_t value, char *out)
{
	static const char units[] = "\0KMGT";
	size_t unit = 0;

	while (unit < 4 && value && value % 1024 == 0) {
		value /= 1024;
		unit++;
	}
	snprintf(out, LIMIT_TEXT_BYTES, "%llu%.1s", (unsigned long long)value, units + unit);
}

static void print_number(uint64_t value, char *out)
{
	snprintf(out, LIMIT_TEXT_BYTES, "%llu", (unsigned long long)value);
}

static void print_cpus(uint64_t value, char *out)
{
	size_t len = (size_t)snprintf(out, LIMIT_TEXT_BYTES, "%llu.%03u",
		(unsigned long long)(value / 1000), (unsigned int)(value % 1000));

	while (out[len - 1] == '0')
		out[--len] = 0;
	if (out[len - 1] == '.')
		out[len - 1] = 0;
}

static void print_time(uint64_t value, char *out)
{
	char text[DURATION_TEXT_BYTES];

	duration_print(value, text);
	snprintf(out, LIMIT_TEXT_BYTES, "%s", text);
}

static const struct row {
	const char *word, *forms;
	int (*parse)(const char *text, uint64_t *ret);
	void (*print)(uint64_t value, char *out);
} rows[LIMIT_COUNT] = {
	[LIMIT_MEMORY] = {"memory", "a size such as 512M or 2G, at least 4M", parse_size,
		print_size},
	[LIMIT_PIDS] = {"pids", "a number from 1", parse_pids, print_number},
	[LIMIT_CPUS] = {"cpus", "a number such as 2 or 0.5", parse_cpus, print_cpus},
	[LIMIT_IDLE] = {"idle", "a time such as 30m or 1h30m, at most 720h", parse_time,
		print_time},
	[LIMIT_GRACE] = {"grace", "a time such as 10s, at most 720h", parse_time, print_time},
};

const char *limit_word(enum limit which)
{
	return rows[which].word;
}

const char *limit_forms(enum limit which)
{
	return rows[which].forms;
}

int limit_parse(enum limit which, const char *text, uint64_t *ret)
{
	return rows[which].parse(text, ret);
}

void limit_print(enum limit which, uint64_t value, char out[static LIMIT_TEXT_BYTES])
{
	rows[which].print(value, out);
}
