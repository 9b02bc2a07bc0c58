/* SPDX-License-Identifier: GPL-2.0-only */
/* A stack of free blocks in one mapping; an address tells where it came from. See blocks.h. */
#include "blocks.h"

#include <openssl/crypto.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *region;
static unsigned char
	free_blocks[BLOCKS_COUNT]; /* the last one used is on top: its pages are there */
static size_t n_free;

static bool is_block(const void *p)
{
	return region && (const char *)p >= region &&
		(const char *)p < region + (size_t)BLOCKS_COUNT * BLOCKS_BYTES;
}

static void *take(void)
{
	void *p = NULL;

	pthread_mutex_lock(&lock);
	if (n_free)
		p = region + (size_t)free_blocks[--n_free] * BLOCKS_BYTES;
	pthread_mutex_unlock(&lock);
	return p;
}

static void give_back(void *p)
{
	pthread_mutex_lock(&lock);
	free_blocks[n_free++] = (unsigned short)((size_t)((char *)p - region) / BLOCKS_BYTES);
	pthread_mutex_unlock(&lock);
}

static bool is_passing(size_t n)
{
	return n >= BLOCKS_FROM_BYTES && n <= BLOCKS_BYTES &&
		(n < BLOCKS_NOT_FROM_BYTES || n >= BLOCKS_NOT_TO_BYTES);
}

static void *on_malloc(size_t n, const char *file, int line)
{
	void *p = is_passing(n) ? take() : NULL;

	(void)file;
	(void)line;
	return p ? p : malloc(n);
}

static void on_free(void *p, const char *file, int line)
{
	(void)file;
	(void)line;
	if (is_block(p))
		give_back(p);
	else
		free(p);
}

static void *on_realloc(void *old, size_t n, const char *file, int line)
{
	void *p;

	if (!old)
		return on_malloc(n, file, line);
	if (!is_block(old))
		return realloc(old, n);
	if (n <= BLOCKS_BYTES)
		return old;
	p = malloc(n);
	if (!p)
		return NULL;
	memcpy(p, old, BLOCKS_BYTES);
	on_free(old, file, line);
	return p;
}

void blocks_install(void)
{
	size_t size = (size_t)BLOCKS_COUNT * BLOCKS_BYTES;

	if (region)
		return;
	region = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (region == MAP_FAILED) {
		region = NULL;
		return;
	}
	for (size_t i = 0; i < BLOCKS_COUNT; i++)
		free_blocks[n_free++] = (unsigned short)(BLOCKS_COUNT - 1 - i);
	/* refused once OpenSSL has allocated anything: then the region is not used */
	if (CRYPTO_set_mem_functions(on_malloc, on_realloc, on_free))
		return;
	munmap(region, size);
	region = NULL;
	n_free = 0;
}
