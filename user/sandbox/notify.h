/* SPDX-License-Identifier: GPL-2.0-only */
/* Tells the service manager that started us that we are ready: sd_notify(3), without its library. */
#ifndef NEJ_SANDBOX_NOTIFY_H
#define NEJ_SANDBOX_NOTIFY_H

/* Does nothing where nobody asked (NOTIFY_SOCKET), which is gone from the environment afterwards. */
void notify_ready(void);

#endif
