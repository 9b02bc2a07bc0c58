/* SPDX-License-Identifier: GPL-2.0-only */
/* A log somebody else wrote: verify, log and suggest read it as it is, and what suggest prints is a
 * policy without errors. */
#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../user/audit/head.h"
#include "../../user/audit/lines.h"
#include "../../user/audit/verify.h"
#include "../../user/base/cleanup.h"
#include "../../user/cli/log.h"
#include "../../user/cli/suggest.h"
#include "../../user/policy/policy.h"

static char path[64];
static int fd = -1;

/* What comes to a terminal is printable ASCII. */
static void check_text(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		assert((text[i] >= 0x20 && text[i] < 0x7f) || text[i] == '\n');
}

static void show_lines(FILE *to)
{
	struct lines *lines;
	const char *line;
	size_t len;

	if (lines_open(path, &lines) < 0)
		abort();
	while (lines_next(lines, &line, &len) > 0) {
		struct audit_record r;

		if (!audit_record_parse(line, len, &r))
			continue;
		log_print_record(&r, false, to);
		audit_record_done(&r);
	}
	lines_close(lines);
}

static void check_policy(const char *text, size_t len)
{
	struct policy *policy = NULL;
	struct err_list errs;

	err_init(&errs, "suggested");
	if (policy_load_text(text, len, NULL, &errs, &policy) < 0) {
		fprintf(stderr, "%s", text);
		err_print(&errs, stderr);
		abort();
	}
	policy_free(policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct verify_result v;
	_cleanup_free_ char *text = NULL;
	struct head head;
	size_t len;
	FILE *to;

	if (fd < 0) {
		fd = memfd_create("log", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	/* verify waits for a torn line's end, which never comes here. */
	if (!size || data[size - 1] == '\n')
		assert(verify_log(path, NULL, &v) == 0 && v.fault != VERIFY_GOOD);
	head_read(path, NULL, &head);
	to = open_memstream(&text, &len);
	show_lines(to);
	fclose(to);
	check_text(text, len);
	free(TAKE_PTR(text));
	to = open_memstream(&text, &len);
	assert(suggest_print(path, to) == 0);
	fclose(to);
	check_text(text, len);
	/* Compiling walks 65,536 ports: only for some, or little else would be tried. */
	if (size % 16 == 0)
		check_policy(text, len);
	return 0;
}
