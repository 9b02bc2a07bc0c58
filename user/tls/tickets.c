/* SPDX-License-Identifier: GPL-2.0-only */
/* A table of slots by key: a new session replaces what its slot holds. See tickets.h. */
#include "tickets.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/bounds.h"
#include "../base/htab.h"

struct slot {
	uint8_t key[TICKET_KEY_BYTES];
	SSL_SESSION *session;
};

struct tickets {
	pthread_mutex_t lock;
	struct slot slots[NEJ_MAX_TICKETS];
};

int tickets_new(struct tickets **ret)
{
	struct tickets *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	*ret = t;
	return 0;
}

void tickets_free(struct tickets *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < NEJ_MAX_TICKETS; i++)
		SSL_SESSION_free(t->slots[i].session);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

static struct slot *slot_of(struct tickets *t, const uint8_t key[static TICKET_KEY_BYTES])
{
	return &t->slots[hash_bytes(key, TICKET_KEY_BYTES) % NEJ_MAX_TICKETS];
}

void tickets_put(
	struct tickets *t, const uint8_t key[static TICKET_KEY_BYTES], SSL_SESSION *session)
{
	struct slot *s = slot_of(t, key);
	SSL_SESSION *old;

	pthread_mutex_lock(&t->lock);
	old = s->session;
	s->session = session;
	memcpy(s->key, key, TICKET_KEY_BYTES);
	pthread_mutex_unlock(&t->lock);
	SSL_SESSION_free(old);
}

SSL_SESSION *tickets_take(struct tickets *t, const uint8_t key[static TICKET_KEY_BYTES])
{
	struct slot *s = slot_of(t, key);
	SSL_SESSION *session = NULL;

	pthread_mutex_lock(&t->lock);
	if (s->session && !memcmp(s->key, key, TICKET_KEY_BYTES)) {
		session = s->session;
		s->session = NULL;
	}
	pthread_mutex_unlock(&t->lock);
	return session;
}
