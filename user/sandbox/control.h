/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control socket of a sandbox, /run/nej/NAME.sock: root alone, one JSON object a line, one line
 * back for each. Knows no commands; live.c does. The client's side is here too.
 */
#ifndef NEJ_SANDBOX_CONTROL_H
#define NEJ_SANDBOX_CONTROL_H

#include <jansson.h>
#include <stdint.h>

#include "../base/loop.h"

#define CONTROL_MAX_CLIENTS 16
#define CONTROL_MAX_LINE_BYTES 65536

struct control;

/* on_request: a request, borrowed; exactly one control_reply with its id must follow, now or later.
 * cgroup: whose processes may ask for nothing, as long as it is in use; NULL: nobody's. 0 or negative
 * errno. */
int control_new(struct loop *loop, const char *sandbox, const char *cgroup,
	void (*on_request)(void *arg, uint32_t id, const json_t *request), void *arg,
	struct control **ret);
/* reply is taken over; the client may be gone. */
void control_reply(struct control *c, uint32_t id, json_t *reply);
void control_free(struct control *c); /* and the socket's file */

/* `{"ok":false,"error":…}` */
json_t *control_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Asks a running sandbox and waits for the answer. 0 with *ret the caller's; -ENOENT, -ECONNREFUSED:
 * nobody is there; -EACCES; -ETIMEDOUT; -EBADMSG. */
int control_ask(const char *sandbox, const json_t *request, int timeout_ms, json_t **ret);
/* Its two halves, for who asks many at once. begin gives a descriptor, which end closes. */
int control_begin(const char *sandbox, const json_t *request, int timeout_ms, int *ret_fd);
int control_end(int fd, int timeout_ms, json_t **ret);

#endif
