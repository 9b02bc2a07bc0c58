/* SPDX-License-Identifier: GPL-2.0-only */
/* Collects and prints errors in user input; see err.h. */
#include "err.h"

#include <stdarg.h>
#include <string.h>

void err_init(struct err_list *list, const char *file)
{
	memset(list, 0, sizeof(*list));
	list->file = file;
}

__attribute__((format(printf, 6, 0))) static void add(struct err_list *list, bool is_warning,
	unsigned int line, unsigned int column, const char *mend, const char *what, va_list args)
{
	struct err *e;

	if (is_warning)
		list->n_warnings++;
	else
		list->n_errors++;
	if (list->n_items == NEJ_MAX_ERRORS)
		return;
	e = &list->items[list->n_items++];
	e->line = line;
	e->column = column;
	e->is_warning = is_warning;
	vsnprintf(e->what, sizeof(e->what), what, args);
	snprintf(e->mend, sizeof(e->mend), "%s", mend ? mend : "");
}

void err_add(struct err_list *list, unsigned int line, unsigned int column, const char *mend,
	const char *what, ...)
{
	va_list args;

	va_start(args, what);
	add(list, false, line, column, mend, what, args);
	va_end(args);
}

void err_warn(struct err_list *list, unsigned int line, unsigned int column, const char *mend,
	const char *what, ...)
{
	va_list args;

	va_start(args, what);
	add(list, true, line, column, mend, what, args);
	va_end(args);
}

void err_print(const struct err_list *list, FILE *to)
{
	for (size_t i = 0; i < list->n_items; i++) {
		const struct err *e = &list->items[i];

		fputs(list->file, to);
		if (e->line)
			fprintf(to, ":%u", e->line);
		if (e->line && e->column)
			fprintf(to, ":%u", e->column);
		fprintf(to, ": %s: %s", e->is_warning ? "warning" : "error", e->what);
		if (e->mend[0])
			fprintf(to, "; %s", e->mend);
		fputc('\n', to);
	}
	if (list->n_errors + list->n_warnings > list->n_items)
		fprintf(to, "%s: and %zu more\n", list->file,
			list->n_errors + list->n_warnings - list->n_items);
}
