/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Theory of operation: oci_confine finds the policy (ocichoice.c), refuses a container that could get
 * out (ociguard.c), writes which sandbox it will be in (ocirecord.c), leaves the runtime's cgroup and
 * attaches in the background. oci_release goes by that record alone, so that neither annotations nor
 * bundle have to be there any more; it is written before anything is attached, so a hook that is killed
 * half way is tidied up all the same.
 *
 * Nothing is let go while a process is in its cgroup: the end of another container, of the same id in
 * another runtime or the first of a pod, is not its end. Such a record is marked, and whichever hook runs
 * next after the last process tidies it up.
 *
 * Under one lock of all hooks a sandbox is let go, and a container found to be in one or written down as
 * one to come: else what a hook has found could be gone when its container runs.
 *
 * A pod whose containers' cgroups lie below one of its own is confined once, by whichever of its containers
 * has the hooks first (containerd runs none for the one that holds the namespaces); the others are found
 * to be in it.
 */
#include "oci.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "../base/log.h"
#include "../kernel/probe.h"
#include "attach.h"
#include "cgroup.h"
#include "detach.h"
#include "leftover.h"
#include "ocirecord.h"
#include "target.h"

#define OWN_CGROUP "nej.oci"
#define CONFIG_MAX_BYTES (16 * 1024 * 1024)
#define WHY_BYTES 768
#define REMOVE_ROUNDS 10
#define ENTER_ROUNDS 10
#define EMPTY_ROUNDS 50
#define POD_ROUNDS 2000
#define ROUND_MS 10

static void pause_a_round(void)
{
	const struct timespec pause = {.tv_nsec = ROUND_MS * 1000000};

	nanosleep(&pause, NULL);
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

/* The end of the engine's service, or of a session, is not that of its containers' sandboxes. Another
 * hook may be removing the folder just now. */
static int leave_cgroup(void)
{
	char dir[PATH_MAX], path[PATH_MAX + 16];
	int r = own_cgroup(dir);

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	for (int i = 0; i < ENTER_ROUNDS; i++) {
		if (mkdir(dir, 0755) < 0 && errno != EEXIST)
			return -errno;
		r = file_put(path, "0");
		if (r != -ENOENT && r != -ENODEV)
			return r;
	}
	return r;
}

/* Unless others still live in it. */
static void remove_cgroup(void)
{
	char dir[PATH_MAX];

	if (own_cgroup(dir) < 0)
		return;
	/* A supervisor that has just ended may be there a moment longer. */
	for (int i = 0; i < REMOVE_ROUNDS && rmdir(dir) < 0 && errno == EBUSY; i++)
		pause_a_round();
}

/* A pod as if it were a container: one record, whoever of it comes. */
static void be_pod(const struct ocistate *s, struct ocistate *ret)
{
	*ret = *s;
	ret->kind = OCISTATE_WHOLE_POD;
	memcpy(ret->id, s->pod_id, sizeof(ret->id));
	snprintf(ret->bundle, sizeof(ret->bundle), "pod");
}

/* --- the end of a container */

/* The sandbox that a record names, if it is there and the container's. */
static bool read_sandbox(const struct ocirecord *r, struct state *ret)
{
	return state_read(r->name, ret) == 0 && ret->cgroup[0] && ocirecord_is_of(r, ret);
}

/* Nobody is in its cgroup any more, but the process of is_own: a container that starts again. The lock is
 * held. */
static int let_go(const struct ocirecord *record, bool is_own)
{
	static struct state s;
	int r = 0;

	if (read_sandbox(record, &s) && s.is_live)
		r = is_own ? detach(record->name) : detach_empty(record->name);
	/* Its supervisor may have been killed, or have ended with the cgroup while we asked. */
	if (read_sandbox(record, &s))
		r = s.is_live ? r : leftover_remove(record->name);
	else
		r = 0;
	if (r == 0)
		ocirecord_remove(record);
	return r;
}

/* What runtimes and hooks that were killed left, and pods whose last container has ended. */
static int tidy_one(void *arg, const struct ocirecord *r)
{
	static struct state s;

	(void)arg;
	/* Asked first: what a hook has done when it ends is there to be seen. */
	if (ocirecord_is_at_work(r))
		return 0;
	if (!read_sandbox(r, &s))
		ocirecord_remove(r);
	else if (!cgroup_is_populated(s.cgroup) && (r->has_ended || !s.is_live))
		let_go(r, false);
	return 0;
}

/* Where another hook is at it already, it is no matter of ours. */
static void tidy(void)
{
	_cleanup_close_ int lock = ocirecord_lock(false);

	if (lock >= 0)
		ocirecord_each(tidy_one, NULL);
}

/* The record of a container, or else of its pod. */
static int find_record(const struct ocistate *s, struct ocirecord *ret)
{
	struct ocistate pod = {0};
	int r = ocirecord_find(s, ret);

	if (r != -ENOENT || !s->pod_id[0])
		return r;
	be_pod(s, &pod);
	return ocirecord_find(&pod, ret);
}

static bool is_populated(const struct ocirecord *r)
{
	static struct state s;

	return read_sandbox(r, &s) && cgroup_is_populated(s.cgroup);
}

/* Its last processes may be there a moment longer. */
static void wait_until_empty(const struct ocistate *s)
{
	struct ocirecord record;

	if (s->kind != OCISTATE_CONTAINER || ocirecord_find(s, &record) < 0)
		return;
	for (int i = 0; i < EMPTY_ROUNDS && is_populated(&record); i++)
		pause_a_round();
}

static int release(const struct ocistate *s)
{
	struct ocirecord record;
	_cleanup_close_ int lock = ocirecord_lock(true);
	int r = lock < 0 ? lock : find_record(s, &record);

	if (r == -EBADMSG) /* nothing had begun yet */
		ocirecord_remove(&record);
	if (r < 0)
		return r == -ENOENT || r == -EBADMSG ? 0 : SANDBOX_EXIT_FAILED;
	if (is_populated(&record)) {
		log_notice("container %s has ended, and others live in its cgroup: the sandbox %s "
			   "goes on until they have ended too",
			s->id, record.name);
		ocirecord_mark_ended(&record);
		return 0;
	}
	return let_go(&record, false);
}

int oci_release(const struct ocistate *s)
{
	int r;

	tidy();
	wait_until_empty(s);
	r = release(s);
	remove_cgroup();
	return r;
}

/* --- pods */

struct search {
	char cgroup[PATH_MAX];  /* of the container, whole */
	struct ocirecord found; /* of the live sandbox that it is in by that */
};

static int is_around(void *arg, const struct ocirecord *r)
{
	static struct state pod;
	struct search *search = arg;
	size_t n;

	if (!read_sandbox(r, &pod) || !pod.is_live)
		return 0;
	n = strlen(pod.cgroup);
	if (strncmp(search->cgroup, pod.cgroup, n) != 0 || search->cgroup[n] != '/')
		return 0;
	search->found = *r;
	return 1;
}

/* 1: the container's pod is confined, and the container in it; 0: it is not; -1: the message is out.
 * ret: whose sandbox it would be, the pod's where that has a cgroup of its own. ret_pod: the record of the
 * confined one. */
static int find_pod(const struct ocistate *s, struct ocistate *ret, struct ocirecord *ret_pod)
{
	struct search search;
	struct cgroup cg = {.fd = -1};
	int r;

	*ret = *s;
	if (s->kind == OCISTATE_CONTAINER || !s->pod_id[0])
		return 0;
	r = cgroup_of(s->pid, &cg);
	if (r < 0) {
		log_error("process %d of container %s: %s", s->pid, s->id,
			r == -ENOENT ? "it is in no cgroup2" : strerror(-r));
		return -1;
	}
	cgroup_close(&cg);
	memcpy(search.cgroup, cg.path, sizeof(search.cgroup));
	if (ocirecord_each(is_around, &search) > 0) {
		*ret_pod = search.found;
		return 1;
	}
	if (target_climb_to_pod(cg.path, s->pod_uid))
		be_pod(s, ret);
	return 0;
}

/* --- its start */

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

/* Is it one that can be confined? pod_uid: with its pod, if it is not empty. */
static int check_container(
	const struct ocistate *s, const char *pod_uid, const struct oci_plan *plan)
{
	static struct ociguard_facts facts;
	_cleanup_free_ char *text = NULL;
	char path[PATH_MAX + 16], why[WHY_BYTES];
	size_t len;
	int r;

	snprintf(path, sizeof(path), "%s/config.json", s->bundle);
	r = file_read(path, CONFIG_MAX_BYTES, &text, &len);
	if (r < 0) {
		log_error("%s: %s: what the container may do is not known", path, strerror(-r));
		return SANDBOX_EXIT_USAGE;
	}
	r = ociguard_read(text, len, s->bundle, &facts, why, sizeof(why));
	if (r >= 0)
		r = ociguard_check(&facts, s->pid, pod_uid, &plan->accept, why, sizeof(why));
	if (r >= 0)
		return 0;
	log_error("container %s cannot be confined: %s", s->id, why);
	return SANDBOX_EXIT_USAGE;
}

static int confine(const struct ocistate *s, const char *policy, const char *name)
{
	struct sandbox_options o = {
		.policy_path = policy,
		.name = name,
		.n_threads = 1,
		.pid = s->pid,
		.container = s->id,
		.pod_uid = s->kind == OCISTATE_WHOLE_POD ? s->pod_uid : NULL,
		.is_policy_hidden = true,
		.is_background = true,
		/* `crun run` is the reaper of all that its hooks leave behind, and does not end, nor
		 * remove the cgroup, before they have. Containers of a pod come and go. */
		.is_until_empty = s->kind != OCISTATE_WHOLE_POD,
	};
	struct ocirecord record;
	int r = leave_cgroup();

	if (r < 0)
		log_error("cannot leave the cgroup of the container's runtime: %s", strerror(-r));
	else
		r = attach(&o);
	if (r == 0)
		return 0;
	if (ocirecord_find(s, &record) == 0 && record.hook == getpid())
		ocirecord_remove(&record);
	log_error("container %s does not start: nej could not confine it", s->id);
	return r < 0 ? SANDBOX_EXIT_FAILED : r;
}

/* What else is in the sandbox than this container, whose own cgroup holds nobody else's processes? */
static bool has_others(const struct state *sandbox, const struct ocistate *s)
{
	struct cgroup cg = {.fd = -1};
	bool is_own = cgroup_of(s->pid, &cg) == 0 && strcmp(cg.path, sandbox->cgroup) == 0;

	cgroup_close(&cg);
	return !is_own && cgroup_is_populated(sandbox->cgroup);
}

/* A runtime that died ran no poststop, and now starts a container of the same id and bundle. */
static int forget_earlier(const struct ocistate *s)
{
	static struct state earlier;
	struct ocirecord record;

	if (ocirecord_find(s, &record) < 0)
		return 0;
	if (ocirecord_is_at_work(&record))
		return -EWOULDBLOCK;
	if (!read_sandbox(&record, &earlier) || !has_others(&earlier, s))
		return let_go(&record, true);
	if (!earlier.is_live) /* the attach takes it over: nobody of it is free meanwhile */
		return 0;
	log_error("container %s is in the sandbox %s already: `nej detach %s` ends that one", s->id,
		record.name, record.name);
	return SANDBOX_EXIT_FAILED;
}

static int choose(const struct ocistate *s, const struct oci_plan *plan,
	char policy[static PATH_MAX], char name[static OCICHOICE_NAME_BYTES])
{
	char why[WHY_BYTES];
	int r = ocichoice_policy(s, &plan->choice, policy, why, sizeof(why));

	if (r >= 0)
		r = ocichoice_name(s, name, why, sizeof(why));
	if (r < 0) {
		log_error("%s", why);
		return SANDBOX_EXIT_USAGE;
	}
	return *policy ? check_policy(policy) : 0;
}

/* Whoever asks for another policy than the pod's would get that of the container that came first. */
static int join_pod(
	const struct ocistate *s, const struct oci_plan *plan, const struct ocirecord *pod)
{
	char policy[PATH_MAX], name[OCICHOICE_NAME_BYTES];
	int r = s->policy[0] ? choose(s, plan, policy, name) : 0;

	if (!r && s->policy[0] && !ocirecord_is_by(pod, policy)) {
		log_error("container %s: its pod is confined already by another policy than %s, as "
			  "the sandbox %s: one pod, one policy",
			s->id, policy, pod->name);
		return SANDBOX_EXIT_USAGE;
	}
	return r ? r : check_container(s, s->pod_uid, plan);
}

/* Under the lock: who is in what, and that a sandbox is to come. ret_name: of that, empty if none is. An
 * exit status, or -EAGAIN: another hook is at work for the same pod. */
static int plan_sandbox(const struct ocistate *s, const struct oci_plan *plan,
	struct ocistate *ret_who, char policy[static PATH_MAX],
	char ret_name[static OCICHOICE_NAME_BYTES])
{
	_cleanup_close_ int lock = ocirecord_lock(true);
	char name[OCICHOICE_NAME_BYTES];
	struct ocirecord pod;
	int r;

	*ret_name = 0;
	if (lock < 0) {
		log_error("cannot lock " STATE_ROOT ": %s", strerror(-lock));
		return SANDBOX_EXIT_FAILED;
	}
	r = find_pod(s, ret_who, &pod);
	if (r)
		return r < 0 ? SANDBOX_EXIT_FAILED : join_pod(s, plan, &pod);
	r = choose(ret_who, plan, policy, name);
	if (r || !*policy)
		return r;
	r = check_container(s, ret_who->kind == OCISTATE_WHOLE_POD ? s->pod_uid : "", plan);
	if (!r)
		r = forget_earlier(ret_who);
	if (!r)
		r = ocirecord_begin(ret_who, name, policy);
	if (r > 0)
		return r;
	if (r == -EWOULDBLOCK && ret_who->kind == OCISTATE_WHOLE_POD)
		return -EAGAIN;
	if (r < 0) {
		log_error("cannot write what is known of container %s: %s", s->id,
			r == -EWOULDBLOCK ? "another hook is at work for it" : strerror(-r));
		return SANDBOX_EXIT_FAILED;
	}
	memcpy(ret_name, name, sizeof(name));
	return 0;
}

int oci_confine(const struct ocistate *s, const struct oci_plan *plan)
{
	static struct ocistate who;
	char policy[PATH_MAX], name[OCICHOICE_NAME_BYTES];
	int r;

	if (!s->pid) {
		log_error("the state of container %s has no pid", s->id);
		return SANDBOX_EXIT_USAGE;
	}
	tidy();
	r = plan_sandbox(s, plan, &who, policy, name);
	for (int i = 0; i < POD_ROUNDS && r == -EAGAIN; i++) {
		pause_a_round();
		r = plan_sandbox(s, plan, &who, policy, name);
	}
	if (r == -EAGAIN) {
		log_error("container %s: another one of its pod has not been confined in time",
			s->id);
		return SANDBOX_EXIT_FAILED;
	}
	return r || !*name ? r : confine(&who, policy, name);
}
