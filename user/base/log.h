/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages of nej to its user, on stderr, prefixed `nej: `. Not the audit log: that is user/audit.
 */
#ifndef NEJ_BASE_LOG_H
#define NEJ_BASE_LOG_H

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_NOTICE, /* default */
	LOG_LEVEL_DEBUG,
};

void log_set_level(enum log_level level);
void log_set_name(const char *name); /* prefix instead of `nej`; not copied */
void log_to_syslog(void); /* as well: for who is started by a program that drops what it says */
void log_message(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_message(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...) log_message(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_debug(...) log_message(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
