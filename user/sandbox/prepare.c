/* SPDX-License-Identifier: GPL-2.0-only */
/* Decides whether and as what a sandbox may start; see prepare.h. Nothing is left behind. */
#include "prepare.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/err.h"
#include "../base/file.h"
#include "../base/log.h"
#include "../kernel/pins.h"
#include "state.h"
#include "trust.h"

#define POLICY_NAME ".nej.yaml"
#define NO_POLICY "version: 1\n"
#define AUDIT_DIR "/var/log/nej"

static int prepare_name(struct sandbox *sb)
{
	const char *name = sb->options->name;

	if (name)
		snprintf(sb->name, sizeof(sb->name), "%s", name);
	else
		snprintf(sb->name, sizeof(sb->name), "%s-%d", sb->is_attached ? "attach" : "run",
			getpid());
	if (name && (strlen(name) >= sizeof(sb->name) || !pins_is_name(name))) {
		log_error(
			"`%s` cannot name a sandbox: use letters, digits, `-` and `_`, at most 63",
			name);
		return SANDBOX_EXIT_USAGE;
	}
	sb->lock_fd = state_lock(sb->name);
	if (sb->lock_fd == -EWOULDBLOCK) {
		log_error("a sandbox named %s is running; choose another name with -n", sb->name);
		return SANDBOX_EXIT_FAILED;
	}
	if (sb->lock_fd < 0) {
		log_error("cannot use " STATE_ROOT "/%s: %s", sb->name, strerror(-sb->lock_fd));
		return SANDBOX_EXIT_FAILED;
	}
	return 0;
}

static int prepare_identity(struct sandbox *sb)
{
	char why[256];
	int r = identity_find(sb->options->user, sb->name, &sb->id, why, sizeof(why));

	if (r >= 0)
		return 0;
	log_error("%s", why);
	return r == -EINVAL || r == -EPERM ? SANDBOX_EXIT_USAGE : SANDBOX_EXIT_FAILED;
}

/* --- policy */

static void print_errors(const struct err_list *errs, bool is_hidden)
{
	if (!is_hidden)
		err_print(errs, stderr);
	else
		log_error("the policy %s has errors, the first in line %u: `nej check %s` tells "
			  "them",
			errs->file, errs->n_items ? errs->items[0].line : 0, errs->file);
}

int prepare_policy(const char *path, bool is_hidden, struct policy **ret)
{
	struct err_list errs;
	int r;

	err_init(&errs, path ? path : "(no policy)");
	if (path)
		r = policy_load(path, &errs, ret);
	else
		r = policy_load_text(NO_POLICY, strlen(NO_POLICY), NULL, &errs, ret);
	if (r == -EINVAL) {
		print_errors(&errs, is_hidden);
		return SANDBOX_EXIT_USAGE;
	}
	if (r < 0) {
		log_error("cannot read the policy %s: %s", errs.file, strerror(-r));
		return SANDBOX_EXIT_USAGE;
	}
	return 0;
}

/* .nej.yaml of this folder or of one above. */
static bool find_policy(const struct sandbox *sb, char out[static PATH_MAX])
{
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s", sb->cwd);
	while (*dir) {
		char *slash = strrchr(dir, '/');

		if (snprintf(out, PATH_MAX, "%s/" POLICY_NAME, slash == dir && !dir[1] ? "" : dir) <
				PATH_MAX &&
			access(out, F_OK) == 0)
			return true;
		if (!slash || !dir[1])
			break;
		slash[slash == dir ? 1 : 0] = 0;
	}
	return false;
}

/* 1 if the sandbox's user could write the policy or a list it names, 0 if not, negative errno. */
static int is_writable(const char *path, const struct policy *policy, const struct identity *id,
	char culprit[static PATH_MAX])
{
	int r = file_is_writable_by(path, id->uid, id->gid, culprit);
	const char *list;

	for (size_t i = 0; r == 0 && (list = policy_list_path(policy, i)); i++) {
		char file[2 * PATH_MAX];
		const char *slash = strrchr(path, '/');

		snprintf(file, sizeof(file), "%.*s%s", *list == '/' ? 0 : (int)(slash - path + 1),
			path, list);
		r = file_is_writable_by(file, id->uid, id->gid, culprit);
	}
	return r;
}

int prepare_trust(const char *path, const struct policy *policy, const struct identity *id,
	char *why, size_t max_bytes)
{
	char culprit[PATH_MAX] = "";
	int r = id->uid ? is_writable(path, policy, id, culprit) : 0;

	/* root of the host, which an attach may meet, is kept from nothing */
	if (r == 0)
		return 0;
	if (r > 0)
		r = trust_has(path, policy_sha256(policy));
	if (r > 0)
		return 0;
	if (r < 0) {
		snprintf(why, max_bytes, "cannot tell whether %s may be used: %s", path,
			strerror(-r));
		return SANDBOX_EXIT_FAILED;
	}
	snprintf(why, max_bytes,
		"the policy could be written by the sandbox's own user %s (through %s): read it, "
		"then `nej trust %s`",
		id->name, culprit, path);
	return SANDBOX_EXIT_USAGE;
}

static int check_trust(const struct sandbox *sb)
{
	char why[2 * PATH_MAX + 256];
	int r = prepare_trust(sb->policy_path, sb->policy, &sb->id, why, sizeof(why));

	if (r == SANDBOX_EXIT_USAGE && trust_print_changes(sb->policy_path))
		log_error("the policy %s has changed since it was trusted", sb->policy_path);
	if (r)
		log_error("%s", why);
	return r;
}

void prepare_lookup(void *arg, uint32_t generation, uint32_t rule, const char **ret_text,
	unsigned int *ret_line, const char **ret_note)
{
	struct sandbox *sb = arg;
	const struct policy *p = generation == sb->generation ? sb->policy
		: generation + 1 == sb->generation            ? sb->policy_before
							      : NULL;
	struct policy_rule_info info;

	*ret_text = NULL;
	*ret_line = 0;
	if (policy_is_grant(rule)) {
		grants_text(&sb->grants, rule, ret_text, ret_note);
		return;
	}
	if (!p || !policy_rule(p, rule, &info))
		return;
	*ret_text = info.text;
	*ret_line = info.line;
	*ret_note = info.note;
}

static int prepare_rules(struct sandbox *sb)
{
	char found[PATH_MAX];
	const char *path = sb->options->policy_path;
	int r;

	if (!path && find_policy(sb, found))
		path = found;
	if (!path)
		log_notice("no policy (-p FILE, or " POLICY_NAME
			   " here or above): everything is denied");
	if (path && !realpath(path, sb->policy_path)) {
		log_error("cannot read the policy %s: %s", path, strerror(errno));
		return SANDBOX_EXIT_USAGE;
	}
	sb->generation = 1;
	r = prepare_policy(path, sb->options->is_policy_hidden, &sb->policy);
	if (!r && !sb->is_shared_net && policy_has_kernel_transport(sb->policy))
		log_warning("rules with `transport: kernel` open nothing without --net=host: the "
			    "sandbox's own network has no way out but the proxy");
	return r || !path ? r : check_trust(sb);
}

/* --- audit */

/* A log that the sandbox could write, or replace, would be no evidence. */
static int check_audit(struct sandbox *sb)
{
	char culprit[PATH_MAX] = "", dir[PATH_MAX];
	char *slash;
	int r = !sb->id.uid ? 0
		: access(sb->audit_path, F_OK) == 0
		? file_is_writable_by(sb->audit_path, sb->id.uid, sb->id.gid, culprit)
		: 0;

	snprintf(dir, sizeof(dir), "%s", sb->audit_path);
	slash = strrchr(dir, '/');
	slash[slash == dir ? 1 : 0] = 0;
	if (r == 0 && sb->id.uid)
		r = file_is_writable_by(dir, sb->id.uid, sb->id.gid, culprit);
	if (r == 0)
		return 0;
	if (r < 0)
		log_error("cannot use the audit log %s: %s", sb->audit_path, strerror(-r));
	else
		log_error("the audit log %s could be written by the sandbox's own user %s (through "
			  "%s): choose another path with --audit",
			sb->audit_path, sb->id.name, culprit);
	return SANDBOX_EXIT_USAGE;
}

static int prepare_audit(struct sandbox *sb)
{
	const char *path = sb->options->audit_path;
	int n;

	if (!path) {
		int r = file_mkdirs(AUDIT_DIR, 0750);

		if (r < 0) {
			log_error("cannot make " AUDIT_DIR ": %s", strerror(-r));
			return SANDBOX_EXIT_FAILED;
		}
		n = snprintf(sb->audit_path, PATH_MAX, AUDIT_DIR "/%s.jsonl", sb->name);
	} else if (path[0] == '/') {
		n = snprintf(sb->audit_path, PATH_MAX, "%s", path);
	} else {
		n = snprintf(sb->audit_path, PATH_MAX, "%s/%s", sb->cwd, path);
	}
	if (n >= PATH_MAX) {
		log_error("the path of the audit log is too long");
		return SANDBOX_EXIT_USAGE;
	}
	return check_audit(sb);
}

/* --- streams */

/* Why a stream may not go into the sandbox; NULL if it may. A socket made outside the cgroup passes
 * every hook: its cgroup is that of its maker. A folder opened outside leads around every mask. */
static const char *why_not(int fd)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	struct stat st;

	if (fstat(fd, &st) < 0)
		return NULL; /* closed */
	if (S_ISREG(st.st_mode) || S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode) ||
		S_ISBLK(st.st_mode))
		return NULL;
	if (S_ISDIR(st.st_mode))
		return "a folder opened outside the sandbox";
	if (!S_ISSOCK(st.st_mode))
		return "neither a file nor a terminal, pipe or local socket";
	if (getsockname(fd, (struct sockaddr *)&sa, &len) == 0 && sa.ss_family == AF_UNIX)
		return NULL;
	return "a network socket made outside the sandbox";
}

static int check_streams(void)
{
	for (int fd = 0; fd < 3; fd++) {
		const char *why = why_not(fd);

		if (!why)
			continue;
		log_error(
			"descriptor %d is %s: nothing could keep the command from using it; put a "
			"pipe between (`| cat`)",
			fd, why);
		return SANDBOX_EXIT_USAGE;
	}
	return 0;
}

/* --- secrets, and whom to trust */

/* It is masked inside, but the user has other ways to it. */
static void warn_readable(const struct sandbox *sb)
{
	for (size_t i = 0; i < sb->secrets.n; i++) {
		const char *path = policy_secret_arg(sb->policy, i, 0);

		if (policy_secret_source(sb->policy, i) == POLICY_SOURCE_FILE &&
			file_is_readable_by(path, sb->id.uid, sb->id.gid) > 0)
			log_warning("%s, which holds the secret %s, can be read by the sandbox's "
				    "user %s outside: take the right away (chmod, chown)",
				path, sb->secrets.items[i].name, sb->id.name);
	}
}

/* Placeholders stand in a command's environment from its first moment, or nowhere. */
static int refuse_secrets(const struct sandbox *sb)
{
	if (!policy_secret_count(sb->policy))
		return 0;
	log_error(
		"the policy has secrets, whose placeholders only `nej run` can give to a command: "
		"take them out");
	return SANDBOX_EXIT_USAGE;
}

static int prepare_secrets(struct sandbox *sb)
{
	int r;

	if (sb->is_attached)
		return refuse_secrets(sb);
	r = secrets_open(sb->policy, &sb->signals, &sb->secrets);
	if (r)
		return r;
	warn_readable(sb);
	r = secrets_hide(&sb->secrets, sb->options->argv);
	if (r >= 0)
		return 0;
	log_error("cannot hide the secrets: %s", strerror(-r));
	return SANDBOX_EXIT_FAILED;
}

static int prepare_anchors(struct sandbox *sb)
{
	if (policy_inspects(sb->policy))
		return anchors_collect(sb->options->ca_paths, sb->options->n_cas, &sb->anchors);
	if (sb->options->n_cas)
		log_warning("--ca is for nothing: the policy looks inside no TLS connection");
	return 0;
}

int prepare_begin(struct sandbox *sb)
{
	if (geteuid() != 0) {
		log_error("nej %s loads BPF programs and enters namespaces: run it with sudo",
			sb->is_attached ? "attach" : "run");
		return SANDBOX_EXIT_FAILED;
	}
	if (!getcwd(sb->cwd, sizeof(sb->cwd)))
		sb->cwd[0] = 0;
	return prepare_name(sb);
}

int prepare_rest(struct sandbox *sb)
{
	int r = prepare_rules(sb);

	if (!r)
		r = prepare_audit(sb);
	if (!r)
		r = prepare_anchors(sb);
	if (!r)
		r = prepare_secrets(sb);
	return r;
}

static int prepare_workspace(struct sandbox *sb)
{
	char why[WORKSPACE_WHY_BYTES];
	int r = sb->options->workspace.dir
		? workspace_resolve(&sb->options->workspace, &sb->id, &sb->workspace, why)
		: 0;

	if (r >= 0)
		return 0;
	log_error("%s", r == -ENOMEM ? "out of memory" : why);
	return SANDBOX_EXIT_USAGE;
}

int prepare(struct sandbox *sb)
{
	int r = check_streams();

	if (!r)
		r = prepare_begin(sb);
	if (!r)
		r = prepare_identity(sb);
	if (!r)
		r = prepare_workspace(sb);
	return r ? r : prepare_rest(sb);
}
