/* SPDX-License-Identifier: GPL-2.0-only */
/* `nej detach`: the end of an attach, its processes as they were before. */
#ifndef NEJ_SANDBOX_DETACH_H
#define NEJ_SANDBOX_DETACH_H

/* Returns when the supervisor has ended and all it made is gone. 0 or an exit status; the message is
 * out. */
int detach(const char *name);
/* The same while nobody is in its cgroup, by the supervisor's own eyes: one that hangs acts on a request
 * whenever it wakes up, when others may be there. It is waited for less long. */
int detach_empty(const char *name);

#endif
