/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Audit events from the worker to the supervisor, through a ring in shared memory (a file under
 * /run/nej, so that what was not yet drained survives both processes). Single producer, single
 * consumer, one ring a worker thread. The consumer trusts nothing it reads there.
 */
#ifndef NEJ_AUDIT_RING_H
#define NEJ_AUDIT_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"

struct audit_ring;

/* Creates (or opens what an earlier supervisor left, is_leftover then true) the ring file, mode 0600.
 * A leftover that is no ring of this version is replaced. */
int audit_ring_create(const char *path, struct audit_ring **ret, bool *ret_is_leftover);
int audit_ring_fd(const struct audit_ring *ring);

/* Producer side, from an inherited descriptor, which is closed once it is mapped (also on failure
 * -EINVAL: it is no ring). wake_fd: an eventfd, borrowed. */
int audit_ring_open(int fd, int wake_fd, struct audit_ring **ret);
void audit_ring_close(struct audit_ring *ring);

/* Is there room for one more event of the largest size? If not, nothing may be allowed. */
bool audit_ring_has_room(const struct audit_ring *ring);

/* Puts one event. Wakes the reader when the ring was empty (value 1) or is a quarter full (value
 * 1 << 32, drain at once). 0 or -ENOSPC. ret_ticket (may be NULL): for audit_ring_amend. */
int audit_ring_put(struct audit_ring *ring, const struct audit_event *event, uint64_t *ret_ticket);

/* Adds the totals to an event that has not been drained yet, in place; true when it was in time.
 * Otherwise the caller puts a NETWORK_CLOSED event. */
bool audit_ring_amend(struct audit_ring *ring, uint64_t ticket, uint64_t bytes_out,
	uint64_t bytes_in, uint64_t duration_us);

/* Consumer: calls on_event for all that is there; texts point into a private copy, valid for the
 * call. Returns their number; malformed ones are counted in *ret_malformed (set, not added to) and
 * the ring is reset. What an event claims is bounded: only kinds and layers a worker has, a time not
 * in the future, a count of at least 1. Stops after four times the ring, so that a flood cannot hold
 * the caller: audit_ring_has_more then says so, and the caller drains again in its next round. */
int audit_ring_drain(struct audit_ring *ring,
	void (*on_event)(const struct audit_event *event, void *arg), void *arg,
	uint64_t *ret_malformed);
bool audit_ring_has_more(const struct audit_ring *ring);

/* The two halves of a drain, for a caller that gives the room free only once it has written what it
 * read (a killed supervisor then loses nothing): peek reads on, release frees all that was read. */
int audit_ring_peek(struct audit_ring *ring,
	void (*on_event)(const struct audit_event *event, void *arg), void *arg,
	uint64_t *ret_malformed);
void audit_ring_release(struct audit_ring *ring);

/* Consumer: events that found no room since the last call, as the producer counts them. */
uint64_t audit_ring_lost(struct audit_ring *ring);

#endif
