/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages to the user on stderr; see log.h. */
#include "log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <syslog.h>

static enum log_level max_level = LOG_LEVEL_NOTICE;
static const char *name = "nej";
static bool is_syslog;

void log_set_level(enum log_level level)
{
	max_level = level;
}

void log_set_name(const char *new_name)
{
	name = new_name;
}

void log_to_syslog(void)
{
	is_syslog = true;
}

/* Opened for each message: who closes descriptors he does not know must not find it open. */
static void put_syslog(enum log_level level, const char *line)
{
	static const int priorities[] = {
		[LOG_LEVEL_ERROR] = LOG_ERR,
		[LOG_LEVEL_WARNING] = LOG_WARNING,
		[LOG_LEVEL_NOTICE] = LOG_NOTICE,
		[LOG_LEVEL_DEBUG] = LOG_DEBUG,
	};

	openlog(name, LOG_PID, LOG_DAEMON);
	syslog(priorities[level], "%s", line);
	closelog();
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
	if (is_syslog)
		put_syslog(level, line);
}
