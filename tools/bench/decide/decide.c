/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What one decision costs by itself: decide POLICY LIST. Names below random hosts of the list
 * (allowed by the policy that allows the list) and names that are on no list, in an order that no
 * cache foresees. Prints ns a decision and ns a parse of a name. Links nej's own objects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../../user/policy/policy.h"

#define NAMES 50000
#define PASSES 4

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static char **read_lines(const char *path, size_t *ret_count)
{
	size_t count = 0, room = 1024;
	char **lines = malloc(room * sizeof(*lines)), text[300];
	FILE *in = fopen(path, "r");

	while (in && fgets(text, sizeof(text), in)) {
		text[strcspn(text, "\n")] = 0;
		if (count == room)
			lines = realloc(lines, (room *= 2) * sizeof(*lines));
		lines[count++] = strdup(text);
	}
	if (!count) {
		fprintf(stderr, "decide: no hosts in %s\n", path);
		exit(2);
	}
	fclose(in);
	*ret_count = count;
	return lines;
}

/* ns a decision; all must come out as `verdict`. */
static double measure(const struct policy *policy, const struct host *hosts, bool is_allowed)
{
	uint64_t begin = now_ns();
	size_t wrong = 0;

	for (int pass = 0; pass < PASSES; pass++) {
		for (size_t i = 0; i < NAMES; i++) {
			struct policy_ask ask = {
				.scheme = POLICY_SCHEME_HTTPS, .host = &hosts[i], .port = 443};
			struct policy_decision decision;

			policy_decide(policy, &ask, &decision);
			wrong += (decision.verdict == POLICY_ALLOW) != is_allowed;
		}
	}
	if (wrong) {
		fprintf(stderr, "decide: %zu wrong decisions\n", wrong);
		exit(1);
	}
	return (double)(now_ns() - begin) / (NAMES * PASSES);
}

static double parse_names(struct host *hosts, char (*names)[300])
{
	uint64_t begin = now_ns();

	for (size_t i = 0; i < NAMES; i++) {
		if (host_parse(names[i], strlen(names[i]), &hosts[i])) {
			fprintf(stderr, "decide: %s is no host name\n", names[i]);
			exit(2);
		}
	}
	return (double)(now_ns() - begin) / NAMES;
}

int main(int argc, char **argv)
{
	struct host *hosts = calloc(NAMES, sizeof(*hosts));
	char(*names)[300] = calloc(NAMES, sizeof(*names)), **lines;
	double parse, allowed, denied;
	struct policy *policy;
	struct err_list errs;
	size_t count;

	if (argc != 3 || !hosts || !names) {
		fputs("usage: decide POLICY LIST\n", stderr);
		return 2;
	}
	err_init(&errs, argv[1]);
	if (policy_load(argv[1], &errs, &policy)) {
		err_print(&errs, stderr);
		return 1;
	}
	lines = read_lines(argv[2], &count);
	srandom(1);
	for (size_t i = 0; i < NAMES; i++)
		snprintf(names[i], sizeof(names[i]), "w%zu.%s", i % 1000,
			lines[(size_t)random() % count]);
	parse = parse_names(hosts, names);
	allowed = measure(policy, hosts, true);
	for (size_t i = 0; i < NAMES; i++)
		snprintf(names[i], sizeof(names[i]), "api%zu.name%ld.org.example", i, random());
	parse_names(hosts, names);
	denied = measure(policy, hosts, false);
	printf("{\"allowed\":%.0f,\"denied\":%.0f,\"parse\":%.0f}\n", allowed, denied, parse);
	return 0;
}
