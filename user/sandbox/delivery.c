/* SPDX-License-Identifier: GPL-2.0-only */
/* From a memfd to the worker's store; see delivery.h. */
#include "delivery.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "handoff.h"

#define MAX_BYTES                                                                                  \
	(sizeof(struct handoff_secrets) +                                                          \
		NEEDLE_MAX * (sizeof(struct handoff_secret) + 3 * HANDOFF_MAX_SECRET_BYTES))

/* A piece of the file, or false when it is not in it. */
static bool cut(
	const char *file, size_t size, const struct handoff_piece *p, struct secret_text *ret)
{
	if (p->len > HANDOFF_MAX_SECRET_BYTES || p->at > size || p->len > size - p->at)
		return false;
	*ret = (struct secret_text){p->len ? file + p->at : NULL, p->len};
	return true;
}

static int take(
	const char *file, size_t size, const struct policy *policy, struct secret_store *store)
{
	const struct handoff_secrets *head = (const void *)file;
	struct secret items[NEEDLE_MAX] = {0};

	if (size < sizeof(*head) || head->magic != HANDOFF_SECRETS_MAGIC || head->n > NEEDLE_MAX ||
		size < sizeof(*head) + head->n * sizeof(head->secrets[0]))
		return -EINVAL;
	for (size_t i = 0; i < head->n; i++) {
		const struct handoff_secret *s = &head->secrets[i];

		if (!cut(file, size, &s->placeholder, &items[i].placeholder) ||
			!cut(file, size, &s->value, &items[i].value) ||
			!cut(file, size, &s->key_id, &items[i].key_id))
			return -EINVAL;
	}
	return secret_store_set(store, policy, items, head->n);
}

int delivery_take(int fd, const struct policy *policy, struct secret_store *store)
{
	off_t end = lseek(fd, 0, SEEK_END); /* libc's fstat is a call that isolate.c refuses */
	size_t size = (size_t)end;
	char *file;
	int r;

	if (end < 0)
		return -errno;
	if (!end || size > MAX_BYTES)
		return -EINVAL;
	file = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (file == MAP_FAILED)
		return -errno;
	/* while it is mapped here no dump has it either */
	r = madvise(file, size, MADV_DONTDUMP) < 0 ? -errno : take(file, size, policy, store);
	munmap(file, size);
	return r;
}
