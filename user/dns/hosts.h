/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the host's own files say about names: /etc/hosts and /etc/resolv.conf. Read once, before the
 * worker locks itself in.
 */
#ifndef NEJ_DNS_HOSTS_H
#define NEJ_DNS_HOSTS_H

#include "cache.h"

/* Names of a hosts file, never to expire. A file that is not there has none. */
void hosts_read(const char *path, struct cache *into);

#endif
