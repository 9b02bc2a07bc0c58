/* SPDX-License-Identifier: GPL-2.0-only */
/* The loopback device and the addresses of a namespace, over libnl; see link.h. */
#include "link.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <netlink/cache.h>
#include <netlink/errno.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/socket.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/abi.h"
#include "../base/cleanup.h"

#define LO_IFINDEX 1 /* in every network namespace: net/core/dev.c registers it first */

DEFINE_CLEANUP(struct nl_sock, nl_socket_free);
DEFINE_CLEANUP(struct nl_addr, nl_addr_put);
DEFINE_CLEANUP(struct rtnl_addr, rtnl_addr_put);
DEFINE_CLEANUP(struct rtnl_link, rtnl_link_put);
DEFINE_CLEANUP(struct nl_cache, nl_cache_free);

/* libnl's errors as errnos, as far as callers tell them apart. */
static int nl_errno(int nl_error)
{
	switch (-nl_error) {
	case 0:
		return 0;
	case NLE_EXIST:
		return -EEXIST;
	case NLE_PERM:
	case NLE_NOACCESS:
		return -EPERM;
	case NLE_NOMEM:
		return -ENOMEM;
	case NLE_OPNOTSUPP:
	case NLE_AF_NOSUPPORT:
		return -EAFNOSUPPORT;
	default:
		return -EIO;
	}
}

static int open_route(struct nl_sock **ret)
{
	_cleanup_(nl_socket_free_ptr)
	struct nl_sock *sock = nl_socket_alloc();
	int r;

	if (!sock)
		return -ENOMEM;
	r = nl_connect(sock, NETLINK_ROUTE);
	if (r < 0)
		return nl_errno(r);
	*ret = TAKE_PTR(sock);
	return 0;
}

static int set_up(struct nl_sock *sock)
{
	_cleanup_(rtnl_link_put_ptr)
	struct rtnl_link *lo = rtnl_link_alloc();
	_cleanup_(rtnl_link_put_ptr)
	struct rtnl_link *change = rtnl_link_alloc();

	if (!lo || !change)
		return -ENOMEM;
	rtnl_link_set_ifindex(lo, LO_IFINDEX);
	rtnl_link_set_flags(change, IFF_UP);
	return nl_errno(rtnl_link_change(sock, lo, change, 0));
}

static int change_addr(struct nl_sock *sock, int family, const void *bytes, size_t len_bytes,
	int (*change)(struct nl_sock *sock, struct rtnl_addr *addr, int flags))
{
	_cleanup_(nl_addr_put_ptr)
	struct nl_addr *local = nl_addr_build(family, bytes, len_bytes);
	_cleanup_(rtnl_addr_put_ptr)
	struct rtnl_addr *addr = rtnl_addr_alloc();
	int r;

	if (!local || !addr)
		return -ENOMEM;
	nl_addr_set_prefixlen(local, (int)len_bytes * 8);
	rtnl_addr_set_ifindex(addr, LO_IFINDEX);
	r = rtnl_addr_set_local(addr, local);
	if (r < 0)
		return nl_errno(r);
	rtnl_addr_set_scope(addr, 0);
	if (family == AF_INET6)
		rtnl_addr_set_flags(addr, IFA_F_NODAD);
	r = nl_errno(change(sock, addr, 0));
	return r == -EEXIST ? 0 : r;
}

int link_set_up_lo(void)
{
	const uint32_t own4 = htonl(NEJ_OWN_ADDR4);
	const uint32_t own6[4] = {htonl(NEJ_OWN_ADDR6_HEAD), 0, 0, htonl(NEJ_OWN_ADDR6_TAIL)};
	_cleanup_(nl_socket_free_ptr)
	struct nl_sock *sock = NULL;
	int r;

	r = open_route(&sock);
	if (r < 0)
		return r;
	r = set_up(sock);
	if (r < 0)
		return r;
	r = change_addr(sock, AF_INET, &own4, sizeof(own4), rtnl_addr_add);
	if (r < 0)
		return r;
	/* Fails where IPv6 is switched off or not built in: the sandbox is then an IPv4 one. */
	change_addr(sock, AF_INET6, own6, sizeof(own6), rtnl_addr_add);
	return 0;
}

void link_tidy_lo(void)
{
	const uint32_t own4 = htonl(NEJ_OWN_ADDR4);
	const uint32_t own6[4] = {htonl(NEJ_OWN_ADDR6_HEAD), 0, 0, htonl(NEJ_OWN_ADDR6_TAIL)};
	_cleanup_(nl_socket_free_ptr)
	struct nl_sock *sock = NULL;

	if (open_route(&sock) < 0)
		return;
	change_addr(sock, AF_INET, &own4, sizeof(own4), rtnl_addr_delete);
	change_addr(sock, AF_INET6, own6, sizeof(own6), rtnl_addr_delete);
}

static void count_up(struct nl_object *object, void *arg)
{
	struct rtnl_link *device = (struct rtnl_link *)object;
	int *n = arg;

	*n += rtnl_link_get_ifindex(device) != LO_IFINDEX && (rtnl_link_get_flags(device) & IFF_UP);
}

static bool is_of_kernel(struct rtnl_link *device)
{
	static const char *const kinds[] = {"ipip", "gre", "gretap", "erspan", "vti", "sit",
		"ip6tnl", "ip6gre", "ip6gretap", "ip6erspan", "vti6"};
	const char *kind = rtnl_link_get_type(device);

	for (size_t i = 0; kind && i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kind, kinds[i]) == 0)
			return !(rtnl_link_get_flags(device) & IFF_UP);
	return false;
}

static void count_made(struct nl_object *object, void *arg)
{
	struct rtnl_link *device = (struct rtnl_link *)object;
	int *n = arg;

	*n += rtnl_link_get_ifindex(device) != LO_IFINDEX && !is_of_kernel(device);
}

/* Is none among this namespace's devices that it counts? */
static int is_without(void (*count)(struct nl_object *object, void *arg))
{
	_cleanup_(nl_socket_free_ptr)
	struct nl_sock *sock = NULL;
	_cleanup_(nl_cache_free_ptr)
	struct nl_cache *cache = NULL;
	int r = open_route(&sock), n = 0;

	if (r < 0)
		return r;
	r = rtnl_link_alloc_cache(sock, AF_UNSPEC, &cache);
	if (r < 0)
		return nl_errno(r);
	nl_cache_foreach(cache, count, &n);
	return n == 0;
}

int link_is_alone(void)
{
	return is_without(count_up);
}

int link_is_bare(void)
{
	return is_without(count_made);
}

struct addr_list {
	struct addr *items;
	size_t n, cap;
	bool is_failed;
};

static void collect_addr(struct nl_object *object, void *arg)
{
	struct nl_addr *local = rtnl_addr_get_local((struct rtnl_addr *)object);
	struct addr_list *list = arg;
	struct addr a;

	if (!local || list->is_failed)
		return;
	if (nl_addr_get_family(local) == AF_INET && nl_addr_get_len(local) == 4) {
		uint32_t be;

		memcpy(&be, nl_addr_get_binary_addr(local), 4);
		a = addr_from_v4(ntohl(be));
	} else if (nl_addr_get_family(local) == AF_INET6 && nl_addr_get_len(local) == 16) {
		memcpy(a.b, nl_addr_get_binary_addr(local), 16);
	} else {
		return;
	}
	if (list->n == list->cap) {
		size_t cap = list->cap ? 2 * list->cap : 16;
		struct addr *items = reallocarray(list->items, cap, sizeof(*items));

		if (!items) {
			list->is_failed = true;
			return;
		}
		list->items = items;
		list->cap = cap;
	}
	list->items[list->n++] = a;
}

int link_addrs(struct addr **ret, size_t *ret_n)
{
	_cleanup_(nl_socket_free_ptr)
	struct nl_sock *sock = NULL;
	_cleanup_(nl_cache_free_ptr)
	struct nl_cache *cache = NULL;
	struct addr_list list = {0};
	int r;

	r = open_route(&sock);
	if (r < 0)
		return r;
	r = rtnl_addr_alloc_cache(sock, &cache);
	if (r < 0)
		return nl_errno(r);
	nl_cache_foreach(cache, collect_addr, &list);
	if (list.is_failed) {
		free(list.items);
		return -ENOMEM;
	}
	*ret = list.items;
	*ret_n = list.n;
	return 0;
}
