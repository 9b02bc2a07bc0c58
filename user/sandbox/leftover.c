/* SPDX-License-Identifier: GPL-2.0-only */
/* Ends what nobody supervises any more; see leftover.h. To take it over instead is attach.c's. */
#include "leftover.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/log.h"
#include "record.h"
#include "stage.h"
#include "state.h"

static bool has_ring(const char *name, unsigned int i)
{
	char file[32], path[PATH_MAX];

	snprintf(file, sizeof(file), "ring.%u", i);
	state_path(name, file, path, sizeof(path));
	return access(path, F_OK) == 0;
}

/* Its log goes on where it stopped: under no policy, as nobody decides any more. */
static int write_end(struct sandbox *sb, const struct state *s)
{
	int r;

	snprintf(sb->audit_path, sizeof(sb->audit_path), "%s", s->audit);
	snprintf(sb->container, sizeof(sb->container), "%s", s->container);
	sb->is_attached = true;
	sb->is_leftover = true;
	sb->id.uid = s->uid;
	sb->cgroup.id = 0;
	sb->ended_by = "nej detach; its supervisor had died";
	r = stage_open_log(sb);
	if (r)
		return r;
	record_finished(sb);
	audit_sink_flush(sb->sink);
	return 0;
}

/* The processes of `nej run` may still be there, and were never meant to be free. */
static int check(const char *name, const struct state *s)
{
	bool is_pinned = object_is_pinned(name);

	if (!is_pinned && !s->pid) {
		log_error("there is no sandbox named %s", name);
		return 1;
	}
	if (s->is_attached)
		return 0;
	log_error(
		"%s was started by `nej run`, and nej does not let its processes go: end them, or "
		"take it over with `nej run -n %s`",
		name, name);
	return 1;
}

int leftover_remove(const char *name)
{
	struct sandbox_options options = {0};
	char path[128];
	static struct sandbox sb;
	static struct state s;
	int r = state_read(name, &s);

	if (r == -ENOENT) {
		log_error("there is no sandbox named %s", name);
		return 1;
	}
	r = check(name, &s);
	if (r)
		return r;
	while (options.n_threads < HANDOFF_MAX_THREADS && has_ring(name, options.n_threads))
		options.n_threads++;
	stage_begin(&sb, &options);
	snprintf(sb.name, sizeof(sb.name), "%s", name);
	sb.lock_fd = state_lock(name);
	if (sb.lock_fd < 0)
		return stage_failed(
			sb.lock_fd, "its supervisor lives, or its state cannot be used");
	r = s.audit[0] ? write_end(&sb, &s) : 0;
	if (r)
		log_warning("the end of %s is not in its log", name);
	r = object_unpin(name);
	snprintf(path, sizeof(path), STATE_ROOT "/%.63s.sock", name);
	unlink(path);
	stage_take_apart(&sb);
	if (r >= 0)
		log_notice("the supervisor of %s had died: what it left is taken away", name);
	return r < 0 ? stage_failed(r, "cannot take its links away") : 0;
}
