/* SPDX-License-Identifier: GPL-2.0-only */
/* SOCKS5 on the explicit port. Internal to user/proxy. */
#ifndef NEJ_PROXY_SOCKS_H
#define NEJ_PROXY_SOCKS_H

#include "conn.h"

/* setup->step while the client speaks SOCKS5. */
int socks_step(struct conn *c);

#endif
