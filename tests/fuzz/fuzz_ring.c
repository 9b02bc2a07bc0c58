/* SPDX-License-Identifier: GPL-2.0-only */
/* A hostile producer: the input is written over the shared memory, then the consumer drains. */
#include <assert.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../user/audit/ring.h"

#define HEADER_BYTES 4096
#define HEAD_AT 64
#define TAIL_AT 128
#define FILE_BYTES (HEADER_BYTES + NEJ_AUDIT_RING_BYTES)

static struct audit_ring *ring;
static uint8_t *map;

static void open_ring(void)
{
	char dir[] = "/tmp/nej-fuzz-XXXXXX", path[64];
	bool is_leftover;

	if (!mkdtemp(dir))
		abort();
	snprintf(path, sizeof(path), "%s/ring", dir);
	if (audit_ring_create(path, &ring, &is_leftover) < 0)
		abort();
	unlink(path);
	rmdir(dir);
	map = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, audit_ring_fd(ring), 0);
	if (map == MAP_FAILED)
		abort();
}

static void on_event(const struct audit_event *e, void *arg)
{
	const struct audit_text texts[] = {e->host, e->method, e->url, e->detail};
	unsigned int *sum = arg;

	assert(e->kind < AUDIT_KIND_COUNT && e->layer < AUDIT_LAYER_COUNT);
	assert(e->layer != AUDIT_LAYER_SUPERVISOR && e->layer != AUDIT_LAYER_KERNEL);
	assert(e->reason < NEJ_REASON_COUNT && e->app < AUDIT_APP_COUNT && e->count);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		for (uint32_t k = 0; k < texts[i].len; k++)
			*sum += (unsigned char)texts[i].ptr[k];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Eight bytes say how far the head is moved (two of them) and where the rest is written; then the
 * tail may be overwritten too. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t head, malformed, lie;
	unsigned int sum = 0;
	size_t at;

	if (!ring)
		open_ring();
	if (size < 8)
		return 0;
	memcpy(&head, map + HEAD_AT, sizeof(head));
	at = head & (NEJ_AUDIT_RING_BYTES - 1);
	lie = (uint64_t)data[0] << 8 | data[1];
	if (data[2] & 1)
		lie <<= 8 * (data[2] >> 5);
	if (data[2] & 2)
		memcpy(map + TAIL_AT, data, 8);
	at = (at + data[3]) & (NEJ_AUDIT_RING_BYTES - 1);
	data += 8;
	size -= 8;
	if (size > NEJ_AUDIT_RING_BYTES - at)
		size = NEJ_AUDIT_RING_BYTES - at;
	memcpy(map + HEADER_BYTES + at, data, size);
	head += lie;
	memcpy(map + HEAD_AT, &head, sizeof(head));
	audit_ring_drain(ring, on_event, &sum, &malformed);
	/* The honest way on from here, so that the next input meets a working ring. */
	head = (head + 7) & ~7ULL;
	memcpy(map + HEAD_AT, &head, sizeof(head));
	audit_ring_drain(ring, on_event, &sum, &malformed);
	return 0;
}
