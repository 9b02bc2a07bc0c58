/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Theory of operation: oci_confine finds the policy, writes /run/nej/.oci/ID with the sandbox's name,
 * leaves the runtime's cgroup and attaches in the background. oci_release goes by that file alone, so
 * that neither annotations nor bundle have to be there any more; it is written before anything is
 * attached, so a hook that is killed half way is tidied up all the same.
 *
 * A pod's first container carries its namespaces, and the others' cgroups lie beside its own below the
 * pod's: there the pod is confined once, and the others are found to be.
 */
#include "oci.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "../base/log.h"
#include "../kernel/probe.h"
#include "attach.h"
#include "detach.h"
#include "leftover.h"
#include "state.h"

#define RECORDS STATE_ROOT "/.oci"
#define OWN_CGROUP "nej.oci"
#define NAME_BYTES 64
#define DEFAULT_NAME_CHARS 40
#define SHORT_ID_CHARS 12
#define REMOVE_ROUNDS 10
#define ROUND_MS 10

/* --- records */

static void record_path(const char *id, char ret[static PATH_MAX])
{
	snprintf(ret, PATH_MAX, RECORDS "/%s", id);
}

static int record_write(const char *id, const char *name)
{
	char path[PATH_MAX];
	int r = file_mkdirs(RECORDS, 0700);

	record_path(id, path);
	return r < 0 ? r : file_replace(path, name, strlen(name), 0600);
}

/* The name of the sandbox that a container is in. */
static int record_read(const char *id, char ret[static NAME_BYTES])
{
	_cleanup_free_ char *text = NULL;
	char path[PATH_MAX];
	size_t len;
	int r;

	record_path(id, path);
	r = file_read(path, NAME_BYTES - 1, &text, &len);
	if (r >= 0)
		memcpy(ret, text, len + 1);
	return r;
}

static void record_remove(const char *id)
{
	char path[PATH_MAX];

	record_path(id, path);
	unlink(path);
	rmdir(RECORDS);
}

/* --- the policy */

static bool is_policy_name(const char *text)
{
	if (*text == '.')
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("._-", *text))
			return false;
	return true;
}

/* Who may write an annotation must not be who may write a policy. */
static int check_policy(const char *path)
{
	char culprit[PATH_MAX];
	int r = file_is_writable_by(path, FILE_NOT_ROOT, FILE_NOT_ROOT, culprit);

	if (r == 0)
		return 0;
	if (r > 0)
		log_error("the policy %s is not root's alone: others may change %s", path, culprit);
	else
		log_error("the policy %s: %s", path, strerror(-r));
	return SANDBOX_EXIT_USAGE;
}

static int name_policy(
	const struct ocistate *s, const struct oci_plan *plan, char ret[static PATH_MAX])
{
	int n;

	if (s->policy[0] == '/' && !plan->is_closed) {
		n = snprintf(ret, PATH_MAX, "%s", s->policy);
	} else if (is_policy_name(s->policy)) {
		n = snprintf(ret, PATH_MAX, "%s/%s.yaml", plan->policies, s->policy);
	} else {
		log_error("annotation nej.policy: `%s` is not the name of a policy in %s%s",
			s->policy, plan->policies, plan->is_closed ? "" : ", nor a full path");
		return SANDBOX_EXIT_USAGE;
	}
	if (n < PATH_MAX)
		return 0;
	log_error("annotation nej.policy: the path is too long");
	return SANDBOX_EXIT_USAGE;
}

/* 0 with an empty path: this container is left alone. */
static int find_policy(
	const struct ocistate *s, const struct oci_plan *plan, char ret[static PATH_MAX])
{
	int r;

	*ret = 0;
	if (s->policy[0]) {
		r = name_policy(s, plan, ret);
		return r ? r : check_policy(ret);
	}
	if (access(plan->fallback, F_OK) == 0) {
		snprintf(ret, PATH_MAX, "%s", plan->fallback);
		return check_policy(ret);
	}
	/* Whoever names a sandbox wants one. */
	if (!plan->is_required && !s->name[0] && errno == ENOENT)
		return 0;
	log_error("container %s has no annotation nej.policy, and the default %s: %s", s->id,
		plan->fallback, strerror(errno));
	return SANDBOX_EXIT_USAGE;
}

/* --- names */

static void default_name(const char *id, char ret[static NAME_BYTES])
{
	snprintf(ret, NAME_BYTES, "oci-%.*s", DEFAULT_NAME_CHARS, id);
	for (char *at = ret; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("-_", *at))
			*at = '_';
}

/* Containers of one pod have one annotation, and may each be a sandbox. */
static int choose_name(const struct ocistate *s, char ret[static NAME_BYTES])
{
	int n = 0;

	if (!s->name[0])
		default_name(s->id, ret);
	else if (s->kind == OCISTATE_IN_POD)
		n = snprintf(ret, NAME_BYTES, "%s-%.*s", s->name, SHORT_ID_CHARS, s->id);
	else
		n = snprintf(ret, NAME_BYTES, "%s", s->name);
	if (n < NAME_BYTES)
		return 0;
	log_error("annotation nej.name: `%s` is too long", s->name);
	return SANDBOX_EXIT_USAGE;
}

/* --- pods */

/* 1: the container's pod is confined, and the container in it; 0: it is for itself. */
static int find_pod(const struct ocistate *s)
{
	static struct state pod;
	char name[NAME_BYTES], path[64];
	_cleanup_free_ char *text = NULL;
	const char *below;
	size_t len;

	if (s->kind != OCISTATE_IN_POD || !s->pod_id[0] || record_read(s->pod_id, name) < 0)
		return 0;
	if (state_read(name, &pod) < 0 || !pod.is_live) {
		log_error("the sandbox %s of this pod has ended: start the pod anew", name);
		return -SANDBOX_EXIT_FAILED;
	}
	snprintf(path, sizeof(path), "/proc/%d/cgroup", s->pid);
	if (file_read(path, 65536, &text, &len) < 0 || !(below = strstr(text, "0::"))) {
		log_error("process %d is in no cgroup2", s->pid);
		return -SANDBOX_EXIT_FAILED;
	}
	below = strstr(below + 3, strrchr(pod.cgroup, '/'));
	return below != NULL && strchr(below + 1, '/') != NULL;
}

/* --- our own cgroup */

static int own_cgroup(char ret[static PATH_MAX])
{
	char root[PATH_MAX - 32];
	int r = probe_cgroup2(root, sizeof(root));

	if (r < 0)
		return r;
	snprintf(ret, PATH_MAX, "%s/" OWN_CGROUP, root);
	return 0;
}

/* The end of the engine's service, or of a session, is not that of its containers' sandboxes. */
static int leave_cgroup(void)
{
	char dir[PATH_MAX], path[PATH_MAX + 16];
	int r = own_cgroup(dir);

	if (r < 0)
		return r;
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return -errno;
	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	return file_put(path, "0");
}

/* Unless others still live in it. */
static void remove_cgroup(void)
{
	const struct timespec pause = {.tv_nsec = ROUND_MS * 1000000};
	char dir[PATH_MAX];

	if (own_cgroup(dir) < 0)
		return;
	/* A supervisor that has just ended may be there a moment longer. */
	for (int i = 0; i < REMOVE_ROUNDS && rmdir(dir) < 0 && errno == EBUSY; i++)
		nanosleep(&pause, NULL);
}

/* --- both stages */

static int confine(const struct ocistate *s, const char *policy, const char *name)
{
	struct sandbox_options o = {
		.policy_path = policy,
		.name = name,
		.n_threads = 1,
		.pid = s->pid,
		.container = s->id,
		.pod_uid = s->kind == OCISTATE_POD ? s->pod_uid : NULL,
		.is_background = true,
	};
	int r = record_write(s->id, name);

	if (r >= 0)
		r = leave_cgroup();
	if (r < 0) {
		log_error("cannot write what is known of container %s, or leave its runtime's "
			  "cgroup: %s",
			s->id, strerror(-r));
		record_remove(s->id);
		return SANDBOX_EXIT_FAILED;
	}
	r = attach(&o);
	if (r) {
		record_remove(s->id);
		log_error("container %s does not start: nej could not confine it", s->id);
	}
	return r;
}

/* A runtime that died ran no poststop; the sandbox ended with the container's cgroup. */
static int forget_earlier(const struct ocistate *s)
{
	static struct state earlier;
	char name[NAME_BYTES];

	if (record_read(s->id, name) < 0)
		return 0;
	if (state_read(name, &earlier) < 0 || !earlier.is_live)
		return oci_release(s);
	log_error("container %s is in the sandbox %s already", s->id, name);
	return SANDBOX_EXIT_FAILED;
}

int oci_confine(const struct ocistate *s, const struct oci_plan *plan)
{
	char policy[PATH_MAX], name[NAME_BYTES];
	int r = find_policy(s, plan, policy);

	if (r)
		return r;
	if (!s->pid) {
		log_error("the state of container %s has no pid", s->id);
		return SANDBOX_EXIT_USAGE;
	}
	r = find_pod(s);
	if (r || !*policy)
		return r < 0 ? -r : 0;
	r = forget_earlier(s);
	if (!r)
		r = choose_name(s, name);
	return r ? r : confine(s, policy, name);
}

int oci_release(const struct ocistate *s)
{
	static struct state state;
	char name[NAME_BYTES];
	int r = record_read(s->id, name);

	if (r < 0)
		return r == -ENOENT ? 0 : SANDBOX_EXIT_FAILED;
	r = 0;
	if (state_read(name, &state) == 0 && state.is_live)
		r = detach(name);
	/* Its supervisor may have been killed, or have ended with the cgroup while we asked. */
	if (state_read(name, &state) == 0)
		r = state.is_live ? r : leftover_remove(name);
	else
		r = 0;
	if (r == 0)
		record_remove(s->id);
	remove_cgroup();
	return r;
}
