/* SPDX-License-Identifier: GPL-2.0-only */
/* Watches the folder above a cgroup for removals, and its file cgroup.events (inotify(7)); see tether.h.
 * A user, root too, has 128 inotify instances by default, less than a host may have sandboxes: without one
 * it looks each second. */
#include "tether.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/cleanup.h"

#define LOOK_MS 1000

struct tether {
	struct loop *loop;
	struct loop_io io;
	struct loop_timer look; /* armed when there is no inotify instance */
	const struct cgroup *cg;
	bool until_empty;
	void (*on_over)(void *arg);
	void *arg;
};

static bool is_over(const struct tether *t)
{
	struct stat st;

	/* A look that fails for another reason must not let anybody go. */
	if (stat(t->cg->path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR;
	if (st.st_ino != t->cg->id)
		return true;
	return t->until_empty && !cgroup_is_populated(t->cg->path);
}

static void on_event(struct loop_io *io, uint32_t events)
{
	struct tether *t = CONTAINER_OF(io, struct tether, io);
	char buffer[4096];

	(void)events;
	while (read(io->fd, buffer, sizeof(buffer)) > 0)
		;
	if (is_over(t))
		t->on_over(t->arg);
}

static void on_look(struct loop_timer *timer)
{
	struct tether *t = CONTAINER_OF(timer, struct tether, look);

	loop_timer_set(t->loop, &t->look, LOOK_MS);
	if (is_over(t))
		t->on_over(t->arg);
}

static bool is_used_up(int error)
{
	return error == EMFILE || error == ENOSPC;
}

static int watch(struct tether *t)
{
	char above[PATH_MAX], events[PATH_MAX + 16];
	_cleanup_close_ int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char *slash;

	snprintf(above, sizeof(above), "%s", t->cg->path);
	slash = strrchr(above, '/');
	if (!slash || slash == above)
		return -EINVAL;
	*slash = 0;
	if (fd < 0 && is_used_up(errno))
		return loop_timer_set(t->loop, &t->look, LOOK_MS);
	snprintf(events, sizeof(events), "%s/cgroup.events", t->cg->path);
	if (fd < 0 ||
		inotify_add_watch(fd, above, IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF) < 0 ||
		(t->until_empty && inotify_add_watch(fd, events, IN_MODIFY) < 0))
		return is_used_up(errno) ? loop_timer_set(t->loop, &t->look, LOOK_MS) : -errno;
	/* meanwhile */
	if (is_over(t))
		return -ENOENT;
	return loop_add(t->loop, &t->io, TAKE_FD(fd), EPOLLIN);
}

int tether_new(struct loop *loop, const struct cgroup *cg, bool until_empty,
	void (*on_over)(void *arg), void *arg, struct tether **ret)
{
	struct tether *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	*t = (struct tether){.loop = loop,
		.io = {on_event, -1},
		.look.on_timeout = on_look,
		.cg = cg,
		.until_empty = until_empty,
		.on_over = on_over,
		.arg = arg};
	r = watch(t);
	if (r < 0) {
		free(t);
		return r;
	}
	*ret = t;
	return 0;
}

void tether_free(struct tether *t)
{
	int fd;

	if (!t)
		return;
	loop_timer_del(t->loop, &t->look);
	fd = t->io.fd;
	if (fd >= 0) {
		loop_del(t->loop, &t->io, true);
		close(fd);
	}
	free(t);
}
