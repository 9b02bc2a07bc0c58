/* SPDX-License-Identifier: GPL-2.0-only */
/* Audit events in shared memory; see ring.h. The producer is the worker, which may be taken over. */
#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/clock.h"

/*
 * Theory of operation
 *
 * The file is a page of header and then DATA_BYTES of records. Positions are 64 bits and only grow;
 * a record begins at a multiple of 8 and never crosses the end of the data (a PAD record fills what
 * is left there). The producer writes behind `head` and then moves it; the consumer reads up to head,
 * and moves `tail` when it needs a record no more. Each side moves its own word only, and keeps its
 * own position in private memory: a producer that lies about either is caught, not believed.
 *
 * A record's state is READY until the consumer takes it (TAKEN). The producer may turn READY into
 * AMENDING, write the totals, and turn it back. A consumer that meets AMENDING waits a moment, then
 * takes the record as it is: each total is one word, so the worst is an old one beside a new one.
 *
 * Sleeping and waking is Dekker's pattern: the producer moves head, fences and looks at tail; the
 * consumer moves tail, fences and looks at head. One of the two sees the other.
 */

#define MAGIC 0x676e69722d6a656eULL /* "nej-ring" */
#define VERSION 1
#define HEADER_BYTES 4096
#define DATA_BYTES ((uint64_t)NEJ_AUDIT_RING_BYTES)
#define FILE_BYTES (HEADER_BYTES + DATA_BYTES)
#define MAX_TEXT_BYTES                                                                             \
	(AUDIT_MAX_HOST + AUDIT_MAX_METHOD + AUDIT_MAX_URL + AUDIT_MAX_DETAIL + 4 * AUDIT_CUT_BYTES)
#define MAX_RECORD_BYTES ((sizeof(struct record) + MAX_TEXT_BYTES + 7) & ~(size_t)7)
#define WAKE_FULL (1ULL << 32)
#define AMEND_SPINS 2000
#define NO_TEXT UINT16_MAX

_Static_assert((DATA_BYTES & (DATA_BYTES - 1)) == 0, "positions are masked");

enum {
	STATE_READY = 1,
	STATE_TAKEN,
	STATE_AMENDING,
	STATE_PAD,
};

struct header {
	uint64_t magic;
	uint32_t version;
	uint32_t data_bytes;
	_Alignas(64) _Atomic uint64_t head; /* of the producer, as is the next */
	_Atomic uint64_t lost;
	_Alignas(64) _Atomic uint64_t tail; /* of the consumer, as is the next */
	_Atomic uint64_t told;              /* of the lost ones */
};

enum { TEXT_HOST, TEXT_METHOD, TEXT_URL, TEXT_DETAIL, N_TEXTS };

/* What follows are the texts, one behind the other. */
struct record {
	_Atomic uint32_t len_bytes; /* of all, a multiple of 8 */
	_Atomic uint32_t state;
	_Atomic uint64_t bytes_out, bytes_in, duration_us; /* amendable */
	uint64_t cgroup_id, count, time_us;
	uint32_t rule, generation, pid, uid;
	struct addr addr;
	char comm[NEJ_COMM_BYTES];
	uint16_t text_len[N_TEXTS]; /* NO_TEXT: null */
	uint16_t status, port;
	uint8_t kind, layer, reason, app, proto, has_addr;
	uint8_t pad[6];
};

_Static_assert(sizeof(struct record) % 8 == 0, "texts follow at once");

struct audit_ring {
	struct header *header;
	uint8_t *data;
	int fd;                     /* owned */
	int wake_fd;                /* borrowed; -1 for the consumer */
	uint64_t head;              /* producer: where it writes; consumer: unused */
	uint64_t seen_tail;         /* producer: the newest tail it has looked at */
	uint64_t read_pos;          /* consumer: read up to here */
	uint64_t tail;              /* consumer: released up to here */
	uint64_t lost;              /* producer: events that found no room */
	_Alignas(8) uint8_t copy[]; /* consumer: MAX_RECORD_BYTES */
};

static const size_t text_max[N_TEXTS] = {
	[TEXT_HOST] = AUDIT_MAX_HOST,
	[TEXT_METHOD] = AUDIT_MAX_METHOD,
	[TEXT_URL] = AUDIT_MAX_URL,
	[TEXT_DETAIL] = AUDIT_MAX_DETAIL,
};

DEFINE_CLEANUP(struct audit_ring, audit_ring_close);

static struct record *at(const struct audit_ring *ring, uint64_t pos)
{
	return (struct record *)(void *)(ring->data + (pos & (DATA_BYTES - 1)));
}

static int map_ring(int fd, int wake_fd, struct audit_ring **ret)
{
	struct audit_ring *ring = calloc(1, sizeof(*ring) + MAX_RECORD_BYTES);
	struct stat st;
	void *m;

	if (!ring)
		return -ENOMEM;
	ring->fd = -1;
	m = fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != FILE_BYTES
		? MAP_FAILED
		: mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (m == MAP_FAILED) {
		free(ring);
		return -EINVAL;
	}
	ring->fd = fd;
	ring->wake_fd = wake_fd;
	ring->header = m;
	ring->data = (uint8_t *)m + HEADER_BYTES;
	*ret = ring;
	return 0;
}

static bool is_header_good(const struct audit_ring *ring)
{
	const struct header *h = ring->header;

	return h->magic == MAGIC && h->version == VERSION && h->data_bytes == DATA_BYTES;
}

/* Takes fd on success. */
static int create_at(int fd, struct audit_ring **ret)
{
	_cleanup_(audit_ring_close_ptr)
	struct audit_ring *ring = NULL;
	int r;

	if (ftruncate(fd, 0) < 0 || posix_fallocate(fd, 0, (off_t)FILE_BYTES) != 0)
		return -ENOSPC;
	r = map_ring(fd, -1, &ring);
	if (r < 0)
		return r;
	ring->header->version = VERSION;
	ring->header->data_bytes = DATA_BYTES;
	ring->header->magic = MAGIC;
	*ret = TAKE_PTR(ring);
	return 0;
}

/* Takes fd on success. */
static int adopt(int fd, struct audit_ring **ret)
{
	_cleanup_(audit_ring_close_ptr)
	struct audit_ring *ring = NULL;
	int r = map_ring(fd, -1, &ring);

	if (r < 0)
		return r;
	if (!is_header_good(ring)) {
		ring->fd = -1;
		return -EINVAL;
	}
	ring->tail = ring->read_pos = atomic_load(&ring->header->tail) & ~7ULL;
	*ret = TAKE_PTR(ring);
	return 0;
}

int audit_ring_create(const char *path, struct audit_ring **ret, bool *ret_is_leftover)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int r = fd < 0 ? -errno : adopt(fd, ret);

	*ret_is_leftover = r == 0;
	if (r == 0) {
		fd = -1;
		return 0;
	}
	if (fd >= 0) {
		close(fd);
		fd = -1;
		if (unlink(path) < 0)
			return -errno;
	} else if (r != -ENOENT) {
		return r;
	}
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = create_at(fd, ret);
	if (r == 0)
		fd = -1;
	return r;
}

int audit_ring_fd(const struct audit_ring *ring)
{
	return ring->fd;
}

int audit_ring_open(int fd, int wake_fd, struct audit_ring **ret)
{
	struct audit_ring *ring;
	int r = map_ring(fd, wake_fd, &ring);

	/* Mapped is enough. A worker that is taken over later could cut the file, and the supervisor
	 * would die of SIGBUS. */
	close(fd);
	if (r < 0)
		return r;
	ring->fd = -1;
	ring->head = (atomic_load(&ring->header->head) + 7) & ~7ULL;
	ring->seen_tail = atomic_load(&ring->header->tail);
	ring->lost = atomic_load(&ring->header->lost);
	if (!is_header_good(ring) || ring->head - ring->seen_tail > DATA_BYTES) {
		audit_ring_close(ring);
		return -EINVAL;
	}
	*ret = ring;
	return 0;
}

void audit_ring_close(struct audit_ring *ring)
{
	if (!ring)
		return;
	munmap(ring->header, FILE_BYTES);
	if (ring->fd >= 0)
		close(ring->fd);
	free(ring);
}

static uint64_t used(const struct audit_ring *ring)
{
	return ring->head - atomic_load_explicit(&ring->header->tail, memory_order_acquire);
}

bool audit_ring_has_room(const struct audit_ring *ring)
{
	return DATA_BYTES - used(ring) >= 2 * MAX_RECORD_BYTES;
}

static size_t record_bytes(const struct audit_text texts[N_TEXTS])
{
	size_t len = sizeof(struct record);

	for (size_t i = 0; i < N_TEXTS; i++) {
		if (!texts[i].ptr)
			continue;
		len += texts[i].len <= text_max[i] ? texts[i].len : text_max[i] + AUDIT_CUT_BYTES;
	}
	return (len + 7) & ~(size_t)7;
}

/* Fills what is left before the end of the data, when the record does not fit there. */
static void pad_to_end(struct audit_ring *ring, size_t len)
{
	uint64_t left = DATA_BYTES - (ring->head & (DATA_BYTES - 1));
	struct record *pad = at(ring, ring->head);

	if (left >= len)
		return;
	atomic_store_explicit(&pad->len_bytes, (uint32_t)left, memory_order_relaxed);
	atomic_store_explicit(&pad->state, STATE_PAD, memory_order_relaxed);
	ring->head += left;
}

static void fill(struct record *rec, const struct audit_event *e, const struct audit_text *texts)
{
	char *out = (char *)(rec + 1);

	atomic_store_explicit(&rec->bytes_out, e->bytes_out, memory_order_relaxed);
	atomic_store_explicit(&rec->bytes_in, e->bytes_in, memory_order_relaxed);
	atomic_store_explicit(&rec->duration_us, e->duration_us, memory_order_relaxed);
	rec->cgroup_id = e->cgroup_id;
	rec->count = e->count;
	rec->time_us = e->time_us;
	rec->rule = e->rule;
	rec->generation = e->generation;
	rec->pid = e->pid;
	rec->uid = e->uid;
	rec->addr = e->addr;
	memcpy(rec->comm, e->comm, sizeof(rec->comm));
	rec->status = e->status;
	rec->port = e->port;
	rec->kind = e->kind;
	rec->layer = e->layer;
	rec->reason = e->reason;
	rec->app = e->app;
	rec->proto = e->proto;
	rec->has_addr = e->has_addr;
	for (size_t i = 0; i < N_TEXTS; i++) {
		size_t len = audit_text_cut(texts[i], text_max[i], out);

		rec->text_len[i] = texts[i].ptr ? (uint16_t)len : NO_TEXT;
		out += len;
	}
}

/* After head has moved from `before`. */
static void wake(struct audit_ring *ring, uint64_t before)
{
	uint64_t tail, value = 0;

	atomic_thread_fence(memory_order_seq_cst);
	tail = atomic_load_explicit(&ring->header->tail, memory_order_relaxed);
	if (tail == before)
		value = 1;
	if (before - tail < DATA_BYTES / 4 && ring->head - tail >= DATA_BYTES / 4)
		value = WAKE_FULL;
	if (value && write(ring->wake_fd, &value, sizeof(value)) < 0) {
		/* Its counter is full: the reader is awake already. */
	}
}

int audit_ring_put(struct audit_ring *ring, const struct audit_event *e, uint64_t *ret_ticket)
{
	const struct audit_text texts[N_TEXTS] = {e->host, e->method, e->url, e->detail};
	size_t len = record_bytes(texts);
	uint64_t before = ring->head, left = DATA_BYTES - (before & (DATA_BYTES - 1));
	uint64_t need = left >= len ? len : left + len;
	struct record *rec;

	if (DATA_BYTES - (before - ring->seen_tail) < need) {
		ring->seen_tail = atomic_load_explicit(&ring->header->tail, memory_order_acquire);
		if (DATA_BYTES - (before - ring->seen_tail) < need) {
			atomic_store_explicit(
				&ring->header->lost, ++ring->lost, memory_order_relaxed);
			return -ENOSPC;
		}
	}
	pad_to_end(ring, len);
	rec = at(ring, ring->head);
	fill(rec, e, texts);
	atomic_store_explicit(&rec->len_bytes, (uint32_t)len, memory_order_relaxed);
	atomic_store_explicit(&rec->state, STATE_READY, memory_order_relaxed);
	if (ret_ticket)
		*ret_ticket = ring->head;
	ring->head += len;
	atomic_store_explicit(&ring->header->head, ring->head, memory_order_release);
	wake(ring, before);
	return 0;
}

bool audit_ring_amend(struct audit_ring *ring, uint64_t ticket, uint64_t bytes_out,
	uint64_t bytes_in, uint64_t duration_us)
{
	uint64_t tail = atomic_load_explicit(&ring->header->tail, memory_order_acquire);
	struct record *rec = at(ring, ticket);
	uint32_t state = STATE_READY;

	/* Only this side writes over a record, and only behind the tail it has seen. */
	if (ring->head - ticket > ring->head - tail)
		return false;
	if (!atomic_compare_exchange_strong(&rec->state, &state, STATE_AMENDING))
		return false;
	atomic_store_explicit(&rec->bytes_out, bytes_out, memory_order_relaxed);
	atomic_store_explicit(&rec->bytes_in, bytes_in, memory_order_relaxed);
	atomic_store_explicit(&rec->duration_us, duration_us, memory_order_relaxed);
	state = STATE_AMENDING;
	return atomic_compare_exchange_strong(&rec->state, &state, STATE_READY);
}

/* --- consumer: everything below reads memory that somebody hostile may be writing */

static void take(struct record *rec)
{
	for (int i = 0; i < AMEND_SPINS; i++) {
		uint32_t state = STATE_READY;

		if (atomic_compare_exchange_strong(&rec->state, &state, STATE_TAKEN))
			return;
		if (state != STATE_AMENDING)
			return; /* taken by a supervisor that died; or a lie, which copying bears */
		__builtin_ia32_pause();
	}
	atomic_store(&rec->state, STATE_TAKEN);
}

/* Worker's kinds and layers; all else would speak for the supervisor or the kernel. */
static bool is_workers_kind(uint8_t kind)
{
	switch (kind) {
	case AUDIT_NETWORK_ALLOWED:
	case AUDIT_NETWORK_CLOSED:
	case AUDIT_NETWORK_BLOCKED:
	case AUDIT_NETWORK_FAILED:
	case AUDIT_DNS_BLOCKED:
	case AUDIT_SECRET_INJECTED:
	case AUDIT_SECRET_REFLECTED:
	case AUDIT_NAME_GIVEN:
		return true;
	default:
		return false;
	}
}

static bool cut_texts(const struct record *rec, size_t len, struct audit_text texts[N_TEXTS])
{
	const char *p = (const char *)(rec + 1);
	size_t left = len - sizeof(*rec);

	for (size_t i = 0; i < N_TEXTS; i++) {
		size_t n = rec->text_len[i];

		texts[i] = (struct audit_text){NULL, 0};
		if (n == NO_TEXT)
			continue;
		if (n > left || n > text_max[i] + AUDIT_CUT_BYTES)
			return false;
		texts[i] = (struct audit_text){p, (uint32_t)n};
		p += n;
		left -= n;
	}
	return true;
}

/* From the private copy. */
static bool parse(const struct record *rec, size_t len, uint64_t now_us, struct audit_event *e)
{
	struct audit_text texts[N_TEXTS];

	if (!is_workers_kind(rec->kind) || rec->layer >= AUDIT_LAYER_COUNT ||
		rec->reason >= NEJ_REASON_COUNT || rec->app >= AUDIT_APP_COUNT ||
		rec->has_addr > 1 || !cut_texts(rec, len, texts))
		return false;
	*e = (struct audit_event){
		.kind = rec->kind,
		.layer = rec->layer <= AUDIT_LAYER_KERNEL ? AUDIT_LAYER_PROXY : rec->layer,
		.reason = rec->reason,
		.app = rec->app,
		.proto = rec->proto,
		.has_addr = rec->has_addr,
		.status = rec->status,
		.port = rec->port,
		.rule = rec->rule,
		.generation = rec->generation,
		.pid = rec->pid,
		.uid = rec->uid,
		.cgroup_id = rec->cgroup_id,
		.count = rec->count && rec->count < UINT32_MAX ? rec->count : 1,
		.time_us = rec->time_us < now_us ? rec->time_us : now_us,
		.duration_us = rec->duration_us,
		.bytes_out = rec->bytes_out,
		.bytes_in = rec->bytes_in,
		.addr = rec->addr,
		.host = texts[TEXT_HOST],
		.method = texts[TEXT_METHOD],
		.url = texts[TEXT_URL],
		.detail = texts[TEXT_DETAIL],
	};
	memcpy(e->comm, rec->comm, sizeof(e->comm));
	return true;
}

/* Gives up on all that is there. */
static void reset(struct audit_ring *ring, uint64_t head)
{
	ring->read_pos = head & ~7ULL;
}

/* The length of the record at read_pos, 0 if it cannot be one. */
static size_t checked_len(const struct audit_ring *ring, const struct record *rec, uint64_t head)
{
	size_t len = atomic_load_explicit(&rec->len_bytes, memory_order_relaxed);
	uint64_t offset = ring->read_pos & (DATA_BYTES - 1);

	if (len < 8 || len % 8 || len > DATA_BYTES - offset || len > head - ring->read_pos)
		return 0;
	return len;
}

/* One record at read_pos. 1: an event in *e; 0: padding; -1: malformed. */
static int read_one(struct audit_ring *ring, uint64_t head, uint64_t now_us, struct audit_event *e)
{
	struct record *rec = at(ring, ring->read_pos);
	size_t len = checked_len(ring, rec, head);

	if (!len)
		return -1;
	if (atomic_load_explicit(&rec->state, memory_order_relaxed) == STATE_PAD) {
		ring->read_pos += len;
		return 0;
	}
	if (len < sizeof(*rec) || len > MAX_RECORD_BYTES)
		return -1;
	take(rec);
	memcpy(ring->copy, rec, len);
	ring->read_pos += len;
	return parse((const struct record *)(const void *)ring->copy, len, now_us, e) ? 1 : -1;
}

int audit_ring_peek(struct audit_ring *ring,
	void (*on_event)(const struct audit_event *event, void *arg), void *arg,
	uint64_t *ret_malformed)
{
	uint64_t head = atomic_load_explicit(&ring->header->head, memory_order_acquire);
	uint64_t now_us = clock_real_us();
	int n = 0;

	*ret_malformed = 0;
	/* A head that cannot be: nothing it claims can be found. */
	if (head % 8 || head - ring->tail > DATA_BYTES || head - ring->read_pos > DATA_BYTES) {
		*ret_malformed = 1;
		reset(ring, head);
		return 0;
	}
	while (ring->read_pos != head) {
		struct audit_event e;
		int r = read_one(ring, head, now_us, &e);

		if (r < 0) {
			(*ret_malformed)++;
			reset(ring, head);
			break;
		}
		if (r > 0) {
			on_event(&e, arg);
			n++;
		}
	}
	return n;
}

void audit_ring_release(struct audit_ring *ring)
{
	ring->tail = ring->read_pos;
	atomic_store_explicit(&ring->header->tail, ring->tail, memory_order_release);
	atomic_thread_fence(memory_order_seq_cst);
}

bool audit_ring_has_more(const struct audit_ring *ring)
{
	return atomic_load(&ring->header->head) != ring->read_pos;
}

int audit_ring_drain(struct audit_ring *ring,
	void (*on_event)(const struct audit_event *event, void *arg), void *arg,
	uint64_t *ret_malformed)
{
	uint64_t malformed, sum = 0;
	int n = 0;

	for (int round = 0; round < 4; round++) {
		n += audit_ring_peek(ring, on_event, arg, &malformed);
		sum += malformed;
		audit_ring_release(ring);
		if (!audit_ring_has_more(ring))
			break;
	}
	*ret_malformed = sum;
	return n;
}

uint64_t audit_ring_lost(struct audit_ring *ring)
{
	uint64_t lost = atomic_load_explicit(&ring->header->lost, memory_order_relaxed);
	uint64_t told = atomic_load_explicit(&ring->header->told, memory_order_relaxed);

	atomic_store_explicit(&ring->header->told, lost, memory_order_relaxed);
	return lost - told;
}
