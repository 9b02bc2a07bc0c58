/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The first process of a sandbox's pid namespace, and what it and the supervisor say to each other
 * over a SOCK_SEQPACKET socket. It masks the file system, waits for the word to go, gives up every
 * privilege, starts the command, reaps, and passes on what becomes of it. Read spawn.h for the
 * supervisor's side.
 */
#ifndef NEJ_SANDBOX_INIT_H
#define NEJ_SANDBOX_INIT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "identity.h"
#include "mask.h"

enum init_word {
	/* init to supervisor */
	INIT_NAMESPACES, /* the network namespace is there */
	INIT_MASKED,     /* waits for INIT_GO */
	INIT_READY,      /* the filter is loaded; its descriptor comes along, if there is one */
	INIT_FAILED,     /* value: negative errno, text: at what; it has ended */
	INIT_STOPPED,    /* value: the signal that stopped the command */
	INIT_ENDED,      /* value: wait status of the command */
	/* supervisor to init */
	INIT_GO,           /* text: hash of the authority's name (shadow.h), or empty */
	INIT_SIGNAL,       /* value: for the command alone */
	INIT_GROUP_SIGNAL, /* value: for its process group, as a terminal sends it */
	INIT_CONTINUE,     /* value: 1 to hand the terminal over first */
	/* supervisor to worker */
	INIT_SECRETS, /* the secrets were read anew; a memfd comes along (handoff.h) */
	INIT_POLICY,  /* value: generation; its memfd comes along. Secrets of it may follow */
	INIT_GRANTS, /* what lies over the policy from INIT_TURN on comes along; nothing: no grants */
	INIT_TURN,   /* that policy is in force now; what it forbids ends */
	INIT_HALT,   /* every connection ends */
	INIT_COUNT, /* how many connections are open? */
	/* worker to supervisor */
	INIT_TURNED,  /* value: connections that ended, or negative errno: nothing was done */
	INIT_COUNTED, /* value: connections that are open */
};

struct init_message {
	uint32_t word; /* enum init_word */
	int32_t value;
	char text[120];
};

struct init_plan {
	const struct identity *id;
	const struct mask_plan *mask;
	char *const *argv; /* the command */
	char **env;
	int cgroup_fd;       /* to join; -1: is in it already */
	int tty_fd;          /* controlling terminal, or -1 */
	bool wants_netns;    /* one of its own, still to be made */
	bool wants_terminal; /* the command gets the foreground at once */
	sigset_t signals;    /* the command's mask */
};

_Noreturn void init_main(const struct init_plan *plan, int socket);

/* 0 or negative errno; fd -1 for none. recv gives 1 for a message, 0 at the other's end. *ret_fd
 * (may be NULL: then descriptors are closed) is -1 without one. */
int init_send(int socket, enum init_word word, int value, const char *text, int fd);
int init_recv(int socket, struct init_message *ret, int *ret_fd);

#endif
