/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sources of secrets; see source.h. Bytes go from the descriptor into locked memory and nowhere
 * else: no stdio, no heap, and messages name the source, never what it gave.
 */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/cleanup.h"
#include "handoff.h"

/* One newline behind the longest value, and one byte more to know that it is longer. */
#define MAX_READ_BYTES (HANDOFF_MAX_SECRET_BYTES + 2)

__attribute__((format(printf, 3, 4))) static int refuse(
	struct source_error *why, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why->why, sizeof(why->why), format, args);
	va_end(args);
	return err;
}

void source_print(const struct policy *p, size_t i, char *ret, size_t max_bytes)
{
	static const char *const words[] = {"variable", "file", "command"};

	snprintf(ret, max_bytes, "%s %s", words[policy_secret_source(p, i)],
		policy_secret_arg(p, i, 0));
}

/* What a header, a query or a log line could be broken by, is no value. */
static int check_value(const struct locked *value, struct source_error *why)
{
	if (!value->len)
		return refuse(why, -ENODATA, "it is empty");
	if (value->len > HANDOFF_MAX_SECRET_BYTES)
		return refuse(why, -EFBIG, "it has more than %u bytes", HANDOFF_MAX_SECRET_BYTES);
	for (size_t i = 0; i < value->len; i++)
		if ((unsigned char)value->data[i] < 0x20 || value->data[i] == 0x7f)
			return refuse(why, -EINVAL,
				value->data[i] == '\n' || value->data[i] == '\r'
					? "it has more than one line"
					: "it has a control character");
	return 0;
}

int source_take(const char *text, size_t len_bytes, struct locked *ret, struct source_error *why)
{
	struct locked value;
	int r;

	if (len_bytes > HANDOFF_MAX_SECRET_BYTES)
		return refuse(why, -EFBIG, "it has more than %u bytes", HANDOFF_MAX_SECRET_BYTES);
	r = locked_new(len_bytes + 1, &value);
	if (r < 0)
		return refuse(why, r, "no locked memory: %s", strerror(-r));
	memcpy(value.data, text, len_bytes);
	value.len = len_bytes;
	r = check_value(&value, why);
	if (r < 0)
		locked_free(&value);
	else
		*ret = value;
	return r;
}

/* Until the end, or until it is too long. deadline_ms 0: none. */
static int read_all(int fd, uint64_t deadline_ms, struct locked *value, struct source_error *why)
{
	while (value->len < MAX_READ_BYTES) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		uint64_t now = clock_monotonic_ms();
		ssize_t n;

		if (deadline_ms &&
			(now >= deadline_ms || poll(&p, 1, (int)(deadline_ms - now)) == 0))
			return refuse(why, -ETIMEDOUT, "it did not end within %d s",
				SOURCE_COMMAND_MS / 1000);
		n = read(fd, value->data + value->len, MAX_READ_BYTES - value->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return refuse(why, -errno, "%s", strerror(errno));
		if (!n)
			break;
		value->len += (size_t)n;
	}
	if (value->len && value->data[value->len - 1] == '\n')
		value->data[--value->len] = 0;
	return 0;
}

/* --- env, file */

static int read_env(const char *name, struct locked *ret, struct source_error *why)
{
	const char *text = getenv(name);

	if (!text)
		return refuse(why, -ENOENT, "it is not set");
	return source_take(text, strlen(text), ret, why);
}

/* A pipe nobody writes to would keep us for ever: only regular files. */
static int read_file(const char *path, struct locked *value, struct source_error *why)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return refuse(why, -errno, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return refuse(why, -EINVAL, "it is no regular file");
	return read_all(fd, 0, value, why);
}

/* --- command */

static int start_command(
	const struct policy *p, size_t i, const sigset_t *signals, int out, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	char *argv[65];
	size_t n = 0;
	int r;

	while (n < ARRAY_SIZE(argv) - 1 && policy_secret_arg(p, i, n)) {
		argv[n] = (char *)policy_secret_arg(p, i, n);
		n++;
	}
	argv[n] = NULL;
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, 1);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attr, signals);
	r = -posix_spawn(ret, argv[0], &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return r;
}

/* It has closed its output; what is left of its time is for its end. */
static int wait_command(pid_t pid, uint64_t deadline_ms, struct source_error *why)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	uint64_t now = clock_monotonic_ms();
	bool is_late =
		pidfd >= 0 && poll(&p, 1, now < deadline_ms ? (int)(deadline_ms - now) : 0) <= 0;
	int status = 0;

	if (is_late)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (is_late)
		return refuse(
			why, -ETIMEDOUT, "it did not end within %d s", SOURCE_COMMAND_MS / 1000);
	if (WIFSIGNALED(status))
		return refuse(why, -EPIPE, "it was ended by signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status))
		return refuse(why, -EPIPE, "it ended with status %d", WEXITSTATUS(status));
	return 0;
}

static int read_command(const struct policy *p, size_t i, const sigset_t *signals,
	struct locked *value, struct source_error *why)
{
	_cleanup_close_ int in = -1, out = -1;
	uint64_t deadline_ms = clock_monotonic_ms() + SOURCE_COMMAND_MS;
	int ends[2], r, end;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return refuse(why, -errno, "%s", strerror(errno));
	in = ends[0];
	out = ends[1];
	r = start_command(p, i, signals, out, &pid);
	if (r < 0)
		return refuse(why, r, "%s", strerror(-r));
	cleanup_close(&out);
	out = -1;
	r = read_all(in, deadline_ms, value, why);
	if (r < 0) {
		struct source_error after = {0};

		kill(pid, SIGKILL);
		wait_command(pid, deadline_ms, &after);
		return r;
	}
	end = wait_command(pid, value->len == MAX_READ_BYTES ? 0 : deadline_ms, why);
	/* one that writes on and on is told so */
	return value->len == MAX_READ_BYTES ? 0 : end;
}

/* What was read with room for the longest takes no more than it needs: locked memory is scarce. */
static int fit(struct locked *value)
{
	struct locked fitting;
	int r = locked_new(value->len, &fitting);

	if (r < 0)
		return r;
	memcpy(fitting.data, value->data, value->len);
	fitting.len = value->len;
	locked_free(value);
	*value = fitting;
	return 0;
}

int source_read(const struct policy *p, size_t i, const sigset_t *signals, struct locked *ret,
	struct source_error *why)
{
	struct locked value = {0};
	int r;

	why->why[0] = 0;
	if (policy_secret_source(p, i) == POLICY_SOURCE_ENV)
		return read_env(policy_secret_arg(p, i, 0), ret, why);
	r = locked_new(MAX_READ_BYTES, &value);
	if (r < 0)
		return refuse(why, r, "no locked memory: %s", strerror(-r));
	if (policy_secret_source(p, i) == POLICY_SOURCE_FILE)
		r = read_file(policy_secret_arg(p, i, 0), &value, why);
	else
		r = read_command(p, i, signals, &value, why);
	if (r >= 0)
		r = check_value(&value, why);
	if (r >= 0)
		r = fit(&value) < 0 ? refuse(why, -ENOMEM, "no locked memory") : 0;
	if (r < 0)
		locked_free(&value);
	else
		*ret = value;
	return r;
}
