/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages to the user on stderr; see log.h. */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>

static enum log_level max_level = LOG_LEVEL_NOTICE;
static const char *name = "nej";

void log_set_level(enum log_level level)
{
	max_level = level;
}

void log_set_name(const char *new_name)
{
	name = new_name;
}

void log_message(enum log_level level, const char *fmt, ...)
{
	char line[1024];
	va_list args;

	if (level > max_level)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	/* One write, so that lines of several processes do not mix. */
	fprintf(stderr, "%s: %s\n", name, line);
}
