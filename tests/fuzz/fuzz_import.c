/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Any text, as each format and as what it looks like: it is read or refused with errors, and the
 * policy printed of it loads and has the rules that were read.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "../../user/policy/import.h"
#include "../../user/policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7.12 forgets the buffer of a quoted scalar that never ends. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libfyaml";
}

static void check_printed(const struct import *im)
{
	struct policy *p = NULL;
	size_t rules, hosts;
	struct err_list errs;
	struct buf out;

	buf_init(&out);
	err_init(&errs, "printed");
	assert(import_print(im, "a file", &out) == 0);
	assert(policy_load_text(out.data, out.len, NULL, &errs, &p) == 0);
	policy_count(p, &rules, &hosts);
	assert(rules == DRAFT_COUNT(im->rules, struct import_rule));
	assert(policy_is_default_allow(p) == im->is_default_allow);
	policy_free(p);
	buf_done(&out);
}

static void check_as(const char *text, size_t len, enum import_format from)
{
	struct err_list errs;
	struct import im;
	int r;

	err_init(&errs, "input");
	r = import_read(text, len, from, &errs, &im);
	assert(r == 0 ? !errs.n_errors : r == -EINVAL && errs.n_errors);
	if (!r)
		check_printed(&im);
	import_done(&im);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct policy *p = NULL;
	struct err_list errs;

	for (int from = IMPORT_NONE; from < IMPORT_FORMATS; from++)
		check_as(text, size, (enum import_format)from);
	err_init(&errs, "policy");
	if (policy_load_text(text, size, NULL, &errs, &p) == 0)
		policy_free(p);
	return 0;
}
