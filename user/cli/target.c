/* SPDX-License-Identifier: GPL-2.0-only */
/* One record, read as `nej suggest` reads them; see target.h. A grant stands before every rule, so that a
 * deny rule is no reason not to grant. */
#include "target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../audit/event.h"
#include "../base/cleanup.h"

static void print_wide(const struct wanted *w, char ret[static WANTED_TEXT_BYTES])
{
	struct wanted whole = *w;

	whole.kind = WANTED_HOST;
	whole.methods[0] = whole.path[0] = 0;
	wanted_print(&whole, ret);
}

/* The note is for a list: it begins with what it is about. */
static void print_why(const char *note, char ret[static WANTED_NOTE_BYTES])
{
	const char *why = strstr(note, "): ");

	snprintf(ret, WANTED_NOTE_BYTES, "%s", why ? why + 3 : note);
	for (char *c = ret; *c; c++)
		if (*c < 0x20 || *c > 0x7e)
			*c = '?';
}

int target_of(const struct audit_record *r, struct target *ret)
{
	_cleanup_(wanted_done)
	struct wanted_list list;
	struct audit_record asked = *r;
	const struct wanted *w;
	int err = wanted_init(&list);

	*ret = (struct target){0};
	if (r->reason && strcmp(r->reason, reason_word(NEJ_REASON_RULE)) == 0)
		asked.reason = reason_word(NEJ_REASON_NO_RULE);
	if (err >= 0)
		err = wanted_add(&list, &asked);
	if (err < 0)
		return err;
	if (!list.n) {
		print_why("it was not denied", ret->why);
		return 0;
	}
	w = list.items[0];
	if (w->kind == WANTED_NOTE) {
		print_why(w->note, ret->why);
		return 0;
	}
	wanted_print(w, ret->narrow);
	if (w->kind == WANTED_URL)
		print_wide(w, ret->wide);
	return 0;
}
