/* SPDX-License-Identifier: GPL-2.0-only */
/* The store of credentials; see secret.h. */
#include "secret.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../policy/decide.h"

#define DIGEST_BYTES 65 /* of a policy, as text */

struct secret_book {
	atomic_uint users;
	uint64_t serial;           /* of the states of this process */
	char policy[DIGEST_BYTES]; /* whose numbers these are */
	struct needles *placeholders, *values;
	char *vault; /* every text, placeholders and names too */
	size_t vault_bytes, used;
	size_t n;
	struct secret secrets[NEEDLE_MAX];
};

struct secret_store {
	pthread_mutex_t lock; /* held for a few instructions only */
	struct secret_book *book;
	struct secret_book *before; /* of the policy before */
};

/* --- locked memory */

static int vault_open(struct secret_book *b, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *vault;

	bytes = (bytes + page) / page * page;
	vault = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (vault == MAP_FAILED)
		return -errno;
	b->vault = vault;
	b->vault_bytes = bytes;
	if (mlock(vault, bytes) < 0 || madvise(vault, bytes, MADV_DONTDUMP) < 0)
		return -errno;
	return 0;
}

static struct secret_text vault_add(struct secret_book *b, struct secret_text t)
{
	char *at = b->vault + b->used;

	if (!t.len)
		return (struct secret_text){0};
	memcpy(at, t.ptr, t.len);
	b->used += t.len;
	return (struct secret_text){at, t.len};
}

static void book_free(struct secret_book *b)
{
	needles_free(b->placeholders);
	needles_free(b->values);
	if (b->vault) {
		explicit_bzero(b->vault, b->vault_bytes);
		munmap(b->vault, b->vault_bytes);
	}
	explicit_bzero(b, sizeof(*b));
	free(b);
}

DEFINE_CLEANUP(struct secret_book, book_free);

/* --- a state */

/* Nothing in it ends a header line or is unprintable. */
static bool is_clean(struct secret_text t)
{
	for (size_t i = 0; i < t.len; i++)
		if ((unsigned char)t.ptr[i] < ' ' || t.ptr[i] == 0x7f)
			return false;
	return t.len <= NEEDLE_MAX_BYTES;
}

static bool is_sound(const struct secret *s)
{
	return s->placeholder.len >= NEEDLE_MIN_BYTES && is_clean(s->placeholder) &&
		is_clean(s->value) && is_clean(s->key_id);
}

static int book_fill(
	struct secret_book *b, const struct policy *policy, const struct secret *items, size_t n)
{
	struct needle placeholders[NEEDLE_MAX], values[NEEDLE_MAX];
	int r;

	for (size_t i = 0; i < n; i++) {
		struct secret *s = &b->secrets[i];
		struct policy_secret p;

		if (!policy_secret(policy, i, &p) || !is_sound(&items[i]))
			return -EINVAL;
		s->name = vault_add(b, (struct secret_text){p.name, strlen(p.name) + 1}).ptr;
		s->placeholder = vault_add(b, items[i].placeholder);
		s->value = vault_add(b, items[i].value);
		s->key_id = vault_add(b, items[i].key_id);
		s->in = p.in;
		s->is_aws = p.is_aws;
		placeholders[i] = (struct needle){s->placeholder.ptr, s->placeholder.len, true};
		values[i] = (struct needle){s->value.ptr, s->value.len, false};
	}
	b->n = n;
	r = needles_new(placeholders, n, &b->placeholders);
	return r < 0 ? r : needles_new(values, n, &b->values);
}

static size_t bytes_for(const struct policy *policy, const struct secret *items, size_t n)
{
	struct policy_secret p;
	size_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		sum += items[i].placeholder.len + items[i].value.len + items[i].key_id.len;
		if (policy_secret(policy, i, &p))
			sum += strlen(p.name) + 1;
	}
	return sum;
}

static int book_new(
	const struct policy *policy, const struct secret *items, size_t n, struct secret_book **ret)
{
	_cleanup_(book_free_ptr)
	struct secret_book *b = calloc(1, sizeof(*b));
	static atomic_ullong n_books;
	int r;

	if (!b)
		return -ENOMEM;
	atomic_init(&b->users, 1);
	b->serial = atomic_fetch_add(&n_books, 1) + 1;
	strncpy(b->policy, policy_sha256(policy), sizeof(b->policy) - 1);
	r = vault_open(b, bytes_for(policy, items, n));
	if (r == 0)
		r = book_fill(b, policy, items, n);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(b);
	return 0;
}

/* --- the store */

int secret_store_new(struct secret_store **ret)
{
	struct secret_store *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	*ret = s;
	return 0;
}

/* The new state in force, the old one given up; one of another policy stays until the next comes:
 * threads change over to a new policy one after the other. */
static void exchange(struct secret_store *s, struct secret_book *book)
{
	struct secret_book *old, *older = NULL;

	pthread_mutex_lock(&s->lock);
	old = s->book;
	s->book = book;
	if (!book || (old && strcmp(old->policy, book->policy))) {
		older = s->before;
		s->before = book ? old : NULL;
		old = book ? NULL : old;
	}
	pthread_mutex_unlock(&s->lock);
	secret_drop(old);
	secret_drop(older);
}

int secret_store_set(struct secret_store *store, const struct policy *policy,
	const struct secret *items, size_t n)
{
	struct secret_book *book;
	int r;

	if (n > NEEDLE_MAX || n != policy_secret_count(policy))
		return -EINVAL;
	r = book_new(policy, items, n, &book);
	if (r == 0)
		exchange(store, book);
	return r;
}

void secret_store_clear(struct secret_store *store)
{
	exchange(store, NULL);
}

void secret_store_free(struct secret_store *store)
{
	if (!store)
		return;
	exchange(store, NULL);
	pthread_mutex_destroy(&store->lock);
	free(store);
}

struct secret_book *secret_take(struct secret_store *store, const struct policy *policy)
{
	struct secret_book *book = NULL;

	if (!store || !policy_secret_count(policy))
		return NULL;
	pthread_mutex_lock(&store->lock);
	if (store->book && !strcmp(store->book->policy, policy_sha256(policy)))
		book = secret_share(store->book);
	else if (store->before && !strcmp(store->before->policy, policy_sha256(policy)))
		book = secret_share(store->before);
	pthread_mutex_unlock(&store->lock);
	return book;
}

struct secret_book *secret_share(struct secret_book *book)
{
	if (book)
		atomic_fetch_add_explicit(&book->users, 1, memory_order_relaxed);
	return book;
}

void secret_drop(struct secret_book *book)
{
	if (book && atomic_fetch_sub_explicit(&book->users, 1, memory_order_acq_rel) == 1)
		book_free(book);
}

size_t secret_count(const struct secret_book *book)
{
	return book ? book->n : 0;
}

uint64_t secret_serial(const struct secret_book *book)
{
	return book ? book->serial : 0;
}

const struct secret *secret_at(const struct secret_book *book, size_t i)
{
	return &book->secrets[i];
}

const struct needles *secret_placeholders(const struct secret_book *book)
{
	return book ? book->placeholders : NULL;
}

const struct needles *secret_values(const struct secret_book *book)
{
	return book ? book->values : NULL;
}
