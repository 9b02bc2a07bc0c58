/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the host's listening sockets; see sockets.h. */
#include "sockets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../include/unix_paths.h"
#include "../base/cleanup.h"

/* Where services put theirs even if they start later, or listen in another network namespace. */
static const char *const usual[] = {"/run/docker.sock", "/var/run/docker.sock",
	"/run/podman/podman.sock", "/run/containerd/containerd.sock", "/run/crio/crio.sock",
	"/run/snapd.socket", "/run/snapd-snap.socket", "/run/lxd.socket", "/run/nscd/socket",
	"/var/run/nscd/socket", "/run/dbus/system_bus_socket", "/var/run/dbus/system_bus_socket",
	"/run/avahi-daemon/socket", "/run/libvirt/libvirt-sock", "/run/cups/cups.sock",
	"/run/gssproxy.sock", "/run/acpid.socket", "/run/rpcbind.sock"};

static const char *const service_tails[] = {
#define X(tail, service, is_quiet) tail,
	NEJ_UNIX_PATHS(X)
#undef X
};

static bool is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 && path[len] == '/';
}

bool sockets_is_open_below(const char *const *unix_open, const char *folder)
{
	for (; unix_open && *unix_open; unix_open++)
		if (is_below(*unix_open, folder))
			return true;
	return false;
}

bool sockets_is_open(const char *const *unix_open, const char *path)
{
	for (; unix_open && *unix_open; unix_open++)
		if (strcmp(*unix_open, path) == 0 || is_below(path, *unix_open))
			return true;
	return false;
}

bool sockets_is_service(const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < ARRAY_SIZE(service_tails); i++) {
		size_t tail_len = strlen(service_tails[i]);

		if (service_tails[i][0] != '@' && len > tail_len &&
			path[len - tail_len - 1] == '/' &&
			strcmp(path + len - tail_len, service_tails[i]) == 0)
			return true;
	}
	return false;
}

/* Only a folder of the user's own: `/` or /run is everybody's. In a home lie the sockets of agents
 * and of ssh's shared connections, which lead out. */
static bool is_own_folder(const struct sockets_plan *plan)
{
	struct stat st, home;

	if (!plan->cwd || plan->cwd[0] != '/' || !plan->cwd[1] || stat(plan->cwd, &st) < 0 ||
		st.st_uid != plan->uid)
		return false;
	return !plan->home || stat(plan->home, &home) < 0 || st.st_ino != home.st_ino ||
		st.st_dev != home.st_dev;
}

/* `Num RefCount Protocol Flags Type St Inode Path`; the path may hold blanks. */
char *sockets_parse_line(char *line)
{
	char *at = line;

	for (int field = 0; field < 7; field++) {
		at += strspn(at, " ");
		at += strcspn(at, " \n");
	}
	at += strspn(at, " ");
	at[strcspn(at, "\n")] = 0;
	return at[0] == '/' ? at : NULL;
}

struct walk {
	const struct sockets_plan *plan;
	bool keeps_cwd;
	int (*on_socket)(void *arg, const char *path);
	void *arg;
};

static int visit(const struct walk *w, const char *path)
{
	struct stat st;

	if (sockets_is_open(w->plan->unix_open, path))
		return 0;
	if (w->keeps_cwd && is_below(path, w->plan->cwd) && !sockets_is_service(path))
		return 0;
	/* One that is masked already is no socket any more. */
	if (stat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return 0;
	return w->on_socket(w->arg, path);
}

static int visit_table(const struct walk *w, const char *table)
{
	_cleanup_fclose_ FILE *f = fopen(table, "re");
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;
	int r = 0;

	while (f && r >= 0 && getline(&line, &cap, f) > 0) {
		const char *path = sockets_parse_line(line);

		if (path)
			r = visit(w, path);
	}
	return r;
}

int sockets_each(
	const struct sockets_plan *plan, int (*on_socket)(void *arg, const char *path), void *arg)
{
	struct walk w = {.plan = plan, .on_socket = on_socket, .arg = arg};
	int r = 0;

	w.keeps_cwd = is_own_folder(plan);
	for (size_t i = 0; i < ARRAY_SIZE(usual) && r >= 0; i++)
		r = visit(&w, usual[i]);
	if (r >= 0)
		r = visit_table(&w, "/proc/self/net/unix");
	if (r >= 0)
		r = visit_table(&w, "/proc/1/net/unix");
	return r;
}
