/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Builds veth.h's requests with libnl. Each call opens a socket of its own: the calling thread has
 * changed namespaces in between.
 */
#include "veth.h"

#include <errno.h>
#include <net/if.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/route.h>

#include "../base/cleanup.h"

DEFINE_CLEANUP(struct nl_sock, nl_socket_free);
DEFINE_CLEANUP(struct nl_addr, nl_addr_put);
DEFINE_CLEANUP(struct rtnl_addr, rtnl_addr_put);
DEFINE_CLEANUP(struct rtnl_link, rtnl_link_put);
DEFINE_CLEANUP(struct rtnl_route, rtnl_route_put);

/* libnl counts errors of its own; those that hide an errno are told apart as far as it can be. */
static int errno_of(int nl_error)
{
	switch (-nl_error) {
	case 0:
		return 0;
	case NLE_PERM:
	case NLE_NOACCESS:
		return -EPERM;
	case NLE_EXIST:
		return -EEXIST;
	case NLE_OPNOTSUPP:
		return -EOPNOTSUPP;
	case NLE_NOMEM:
		return -ENOMEM;
	case NLE_NODEV:
	case NLE_OBJ_NOTFOUND:
		return -ENODEV;
	default:
		return -EIO;
	}
}

static int connect_route(struct nl_sock **ret)
{
	struct nl_sock *sock = nl_socket_alloc();
	int r;

	if (!sock)
		return -ENOMEM;
	r = errno_of(nl_connect(sock, NETLINK_ROUTE));
	if (r < 0) {
		nl_socket_free(sock);
		return r;
	}
	*ret = sock;
	return 0;
}

static struct nl_addr *build_addr(const struct addr *addr, int prefix_bits)
{
	struct nl_addr *built = nl_addr_build(AF_INET, addr->b + 12, 4);

	if (built)
		nl_addr_set_prefixlen(built, prefix_bits);
	return built;
}

int veth_add(const char *name, const char *peer, int peer_ns_fd)
{
	_cleanup_(nl_socket_free_ptr)
	struct nl_sock *sock = NULL;
	struct rtnl_link *link, *other;
	int r = connect_route(&sock);

	if (r < 0)
		return r;
	link = rtnl_link_veth_alloc();
	if (!link)
		return -ENOMEM;
	other = rtnl_link_veth_get_peer(link);
	rtnl_link_set_name(link, name);
	rtnl_link_set_name(other, peer);
	rtnl_link_set_ns_fd(other, peer_ns_fd);
	r = errno_of(rtnl_link_add(sock, link, NLM_F_CREATE | NLM_F_EXCL));
	rtnl_link_put(other);
	rtnl_link_veth_release(link);
	return r;
}

static int set_flag_up(struct nl_sock *sock, int index)
{
	_cleanup_(rtnl_link_put_ptr)
	struct rtnl_link *link = rtnl_link_alloc();
	_cleanup_(rtnl_link_put_ptr)
	struct rtnl_link *change = rtnl_link_alloc();

	if (!link || !change)
		return -ENOMEM;
	rtnl_link_set_ifindex(link, index);
	rtnl_link_set_flags(change, IFF_UP);
	return errno_of(rtnl_link_change(sock, link, change, 0));
}

int veth_set_up(const char *name, const struct addr *addr, unsigned int prefix_bits)
{
	_cleanup_(nl_socket_free_ptr)
	struct nl_sock *sock = NULL;
	_cleanup_(rtnl_addr_put_ptr)
	struct rtnl_addr *own = rtnl_addr_alloc();
	_cleanup_(nl_addr_put_ptr)
	struct nl_addr *local = build_addr(addr, (int)prefix_bits);
	int index = (int)if_nametoindex(name);
	int r = connect_route(&sock);

	if (r < 0)
		return r;
	if (!index)
		return -ENODEV;
	if (!own || !local)
		return -ENOMEM;
	rtnl_addr_set_ifindex(own, index);
	rtnl_addr_set_local(own, local);
	r = errno_of(rtnl_addr_add(sock, own, 0));
	return r < 0 ? r : set_flag_up(sock, index);
}

int veth_set_gateway(const char *name, const struct addr *gateway)
{
	_cleanup_(nl_socket_free_ptr)
	struct nl_sock *sock = NULL;
	_cleanup_(rtnl_route_put_ptr)
	struct rtnl_route *route = rtnl_route_alloc();
	_cleanup_(nl_addr_put_ptr)
	struct nl_addr *via = build_addr(gateway, 32);
	_cleanup_(nl_addr_put_ptr)
	struct nl_addr *all = build_addr(&(struct addr){0}, 0);
	struct rtnl_nexthop *hop = rtnl_route_nh_alloc();
	int r = connect_route(&sock);

	if (!route || !via || !all || !hop) {
		if (hop)
			rtnl_route_nh_free(hop);
		return -ENOMEM;
	}
	rtnl_route_nh_set_ifindex(hop, (int)if_nametoindex(name));
	rtnl_route_nh_set_gateway(hop, via);
	rtnl_route_set_family(route, AF_INET);
	rtnl_route_set_dst(route, all);
	rtnl_route_add_nexthop(route, hop);
	return r < 0 ? r : errno_of(rtnl_route_add(sock, route, NLM_F_CREATE | NLM_F_EXCL));
}
