/* SPDX-License-Identifier: GPL-2.0-only */
/* The authority and its leaves; see ca.h. */
#include "ca.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/bounds.h"
#include "../base/cleanup.h"
#include "../base/clock.h"
#include "../base/htab.h"
#include "mint.h"

#define RENEW_S (MINT_LEAF_S / 2) /* a leaf is replaced when half of its life is over */

struct leaf {
	struct htab_node node;
	struct leaf *older, *newer; /* by last use */
	X509 *cert;
	uint64_t made_us; /* CLOCK_REALTIME: what clients compare its validity with */
	uint8_t kind, len;
	char name[];
};

struct ca {
	EVP_PKEY *key, *leaf_key;
	X509 *cert;
	struct mint_profile profile;
	pthread_mutex_t lock; /* of what follows */
	struct htab leaves;
	struct leaf *oldest, *newest;
};

DEFINE_CLEANUP(struct ca, ca_free);

int ca_new(const char *sandbox, struct ca **ret)
{
	_cleanup_(ca_free_ptr)
	struct ca *ca = calloc(1, sizeof(*ca));
	int r;

	if (!ca)
		return -ENOMEM;
	htab_init(&ca->leaves);
	pthread_mutex_init(&ca->lock, NULL);
	ca->key = mint_key();
	ca->leaf_key = mint_key();
	if (ca->key && ca->leaf_key)
		ca->cert = mint_ca(ca->key, sandbox);
	if (!ca->cert)
		return -ENOMEM;
	r = mint_profile_init(&ca->profile, ca->cert, ca->leaf_key);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(ca);
	return 0;
}

/* --- the cache */

static void unlink_leaf(struct ca *ca, struct leaf *l)
{
	*(l->older ? &l->older->newer : &ca->oldest) = l->newer;
	*(l->newer ? &l->newer->older : &ca->newest) = l->older;
	l->older = l->newer = NULL;
}

static void link_newest(struct ca *ca, struct leaf *l)
{
	l->older = ca->newest;
	*(ca->newest ? &ca->newest->newer : &ca->oldest) = l;
	ca->newest = l;
}

static void drop(struct ca *ca, struct leaf *l)
{
	htab_del(&ca->leaves, &l->node);
	unlink_leaf(ca, l);
	X509_free(l->cert);
	free(l);
}

void ca_free(struct ca *ca)
{
	if (!ca)
		return;
	while (ca->oldest)
		drop(ca, ca->oldest);
	htab_done(&ca->leaves);
	pthread_mutex_destroy(&ca->lock);
	mint_profile_done(&ca->profile);
	X509_free(ca->cert);
	EVP_PKEY_free(ca->key);
	EVP_PKEY_free(ca->leaf_key);
	free(ca);
}

static struct leaf *find(struct ca *ca, const struct host *host, uint64_t hash)
{
	for (struct htab_node *n = htab_find(&ca->leaves, hash); n; n = htab_next(n)) {
		struct leaf *l = CONTAINER_OF(n, struct leaf, node);

		if (l->kind == host->kind && l->len == host->len &&
			!memcmp(l->name, host->name, l->len))
			return l;
	}
	return NULL;
}

static struct leaf *make(struct ca *ca, const struct host *host, uint64_t hash)
{
	struct leaf *l = malloc(sizeof(*l) + host->len);

	if (!l)
		return NULL;
	*l = (struct leaf){.kind = host->kind, .len = host->len};
	memcpy(l->name, host->name, host->len);
	l->made_us = clock_real_us();
	l->cert = mint_leaf(&ca->profile, ca->cert, ca->key, ca->leaf_key, host);
	if (!l->cert || htab_add(&ca->leaves, &l->node, hash) < 0) {
		X509_free(l->cert);
		free(l);
		return NULL;
	}
	link_newest(ca, l);
	if (ca->leaves.n_nodes > NEJ_MAX_LEAVES)
		drop(ca, ca->oldest);
	return l;
}

static bool is_old(const struct leaf *l)
{
	uint64_t now_us = clock_real_us();

	return now_us < l->made_us || now_us - l->made_us > RENEW_S * 1000000ULL;
}

int ca_leaf(struct ca *ca, const struct host *host, X509 **ret)
{
	uint64_t hash = hash_bytes(host->name, host->len);
	struct leaf *l;

	pthread_mutex_lock(&ca->lock);
	l = find(ca, host, hash);
	if (l && is_old(l)) {
		drop(ca, l);
		l = NULL;
	}
	if (!l) {
		l = make(ca, host, hash);
	} else if (l != ca->newest) {
		unlink_leaf(ca, l);
		link_newest(ca, l);
	}
	if (l && X509_up_ref(l->cert))
		*ret = l->cert;
	pthread_mutex_unlock(&ca->lock);
	return l ? 0 : -ENOMEM;
}

EVP_PKEY *ca_leaf_key(const struct ca *ca)
{
	return ca->leaf_key;
}

int ca_print_der(const struct ca *ca, struct buf *out)
{
	uint8_t *der = NULL;
	int len = i2d_X509(ca->cert, &der);

	if (len < 0)
		return -ENOMEM;
	buf_add(out, der, (size_t)len);
	OPENSSL_free(der);
	return out->is_failed ? -ENOMEM : 0;
}
