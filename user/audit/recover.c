/* SPDX-License-Identifier: GPL-2.0-only */
/* From an old log and its head to the place in the chain where writing goes on; see recover.h. */
#include "recover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/cleanup.h"

#define WINDOW_BYTES (256u << 10)    /* looked at first */
#define MAX_WINDOW_BYTES (64u << 20) /* the head is never further behind than this */

/* The end of one file. */
struct tail {
	char *data; /* begins at a record, unless the file has none */
	size_t len; /* ends behind a line feed */
	uint64_t torn_bytes;
	bool is_whole; /* data is all of the file */
};

static void tail_done(struct tail *t)
{
	free(t->data);
	*t = (struct tail){0};
}

/* The last `want` bytes of a file of `size` bytes. */
static int read_end(int fd, uint64_t size, size_t want, struct tail *ret)
{
	struct tail t = {.is_whole = want >= size};
	size_t len = t.is_whole ? (size_t)size : want, got = 0;
	char *begin, *end;

	t.data = malloc(len + 1);
	if (!t.data)
		return -ENOMEM;
	while (got < len) {
		ssize_t n = pread(fd, t.data + got, len - got, (off_t)(size - len + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			free(t.data);
			return n < 0 ? -errno : -EIO;
		}
		got += (size_t)n;
	}
	end = len ? memrchr(t.data, '\n', len) : NULL;
	t.torn_bytes = end ? (uint64_t)(t.data + len - end - 1) : len;
	t.len = len - (size_t)t.torn_bytes;
	begin = t.is_whole || !t.len ? t.data : (char *)memchr(t.data, '\n', t.len) + 1;
	t.len -= (size_t)(begin - t.data);
	memmove(t.data, begin, t.len);
	*ret = t;
	return 0;
}

/* Calls on_line for each line, without its line feed, until it returns false. */
static void each_line(
	const struct tail *t, bool (*on_line)(void *arg, const char *line, size_t len), void *arg)
{
	for (size_t at = 0; at < t->len;) {
		const char *line = t->data + at;
		size_t len = (size_t)((const char *)memchr(line, '\n', t->len - at) - line);

		if (!on_line(arg, line, len))
			break;
		at += len + 1;
	}
}

static bool on_first(void *arg, const char *line, size_t len)
{
	struct chain_link link;

	if (!chain_read(line, len, &link))
		return true;
	*(uint64_t *)arg = link.seq;
	return false;
}

/* Enough of the file's end to hold the record the head names, when the file has it. */
static int read_tail(int fd, uint64_t size, uint64_t head_seq, struct tail *ret)
{
	for (size_t want = WINDOW_BYTES;; want *= 4) {
		uint64_t first = UINT64_MAX;
		int r = read_end(fd, size, want, ret);

		if (r < 0)
			return r;
		each_line(ret, on_first, &first);
		if (ret->is_whole || first <= head_seq || want >= MAX_WINDOW_BYTES)
			return 0;
		tail_done(ret);
	}
}

/* A walk over the last records. */
struct walk {
	struct chain *chain;     /* for digests */
	const struct head *head; /* NULL: none */
	uint64_t seq;            /* of the last record; 0: none */
	char hash[CHAIN_HEX_BYTES];
	uint64_t broken;    /* seq of the first wrong record; 0: none */
	bool is_head_wrong; /* the record the head names has another hash */
};

static bool on_record(void *arg, const char *line, size_t len)
{
	struct walk *w = arg;
	struct chain_link link;
	char hash[CHAIN_HEX_BYTES];
	bool is_good;

	if (!chain_read(line, len, &link) || chain_digest(w->chain, line, &link, hash) < 0) {
		w->broken = w->broken ? w->broken : w->seq + 1;
		return true;
	}
	is_good = memcmp(hash, link.hash, 64) == 0;
	if (w->seq)
		is_good &= link.seq == w->seq + 1 && memcmp(link.prev, w->hash, 64) == 0;
	else if (w->head && link.seq == w->head->seq + 1)
		is_good &= memcmp(link.prev, w->head->hash, 64) == 0;
	if (!is_good && !w->broken)
		w->broken = link.seq;
	if (w->head && link.seq == w->head->seq && memcmp(hash, w->head->hash, 64) != 0)
		w->is_head_wrong = true;
	w->seq = link.seq;
	memcpy(w->hash, hash, sizeof(w->hash));
	return true;
}

/* Walks the log's end, or that of the newest rotated file when the log has no record. */
static int walk_end(struct logfile *f, struct walk *w, uint64_t *ret_torn)
{
	uint64_t head_seq = w->head ? w->head->seq : UINT64_MAX;
	_cleanup_(tail_done)
	struct tail t = {0};
	_cleanup_(tail_done)
	struct tail old = {0};
	_cleanup_close_ int fd = -1;
	char name[PATH_MAX];
	struct stat st;
	int r = read_tail(f->fd, f->size_bytes, head_seq, &t);

	if (r < 0)
		return r;
	*ret_torn = t.torn_bytes;
	if (t.torn_bytes) {
		r = logfile_cut(f, f->size_bytes - t.torn_bytes);
		if (r < 0)
			return r;
	}
	each_line(&t, on_record, w);
	if (t.len)
		return 0;
	logfile_name(f->path, 1, name);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -EINVAL;
	r = read_tail(fd, (uint64_t)st.st_size, head_seq, &old);
	if (r == 0)
		each_line(&old, on_record, w);
	return r;
}

static void judge(const struct walk *w, int head_error, struct recovery *ret)
{
	const struct head *h = w->head;
	size_t size = sizeof(ret->detail);

	ret->seq = w->seq;
	memcpy(ret->hash, w->hash, sizeof(ret->hash));
	if (!h) {
		if (head_error == -EBADMSG)
			snprintf(ret->detail, size, "the head file cannot be read");
		else if (w->seq)
			snprintf(ret->detail, size, "the head file is missing");
	} else if (h->signature == HEAD_FORGED || h->signature == HEAD_OTHER_KEY) {
		snprintf(ret->detail, size, "the head is not signed by this machine's key");
	}
	if (h && w->seq < h->seq) {
		ret->missing = h->seq - w->seq;
		snprintf(ret->detail, size, "%llu record%s missing behind record %llu",
			(unsigned long long)ret->missing, ret->missing == 1 ? " is" : "s are",
			(unsigned long long)w->seq);
		ret->seq = h->seq;
		memcpy(ret->hash, h->hash, sizeof(ret->hash));
	} else if (h && w->is_head_wrong) {
		/* The next record follows the one that was signed: the break stays to be seen. */
		snprintf(ret->detail, size, "record %llu is not the one that was signed",
			(unsigned long long)h->seq);
		memcpy(ret->hash, h->hash, sizeof(ret->hash));
	} else if (w->broken) {
		snprintf(ret->detail, size, "the chain is broken at record %llu",
			(unsigned long long)w->broken);
	}
}

static uint64_t oldest_seq(const char *path)
{
	char name[PATH_MAX];
	uint64_t first = 1;

	logfile_name(path, logfile_count_old(path), name);
	recover_first_seq(name, &first);
	return first;
}

int recover(struct logfile *f, const struct chain_key *key, struct recovery *ret)
{
	_cleanup_(chain_done)
	struct chain chain = {0};
	struct recovery rec = {0};
	struct walk w = {.chain = &chain};
	char name[PATH_MAX];
	struct head head;
	int head_error, r = chain_init(&chain);

	if (r < 0)
		return r;
	memcpy(w.hash, chain.hash, sizeof(w.hash));
	snprintf(name, sizeof(name), "%s.head", f->path);
	head_error = head_read(name, key, &head);
	if (head_error == 0)
		w.head = &head;
	else if (head_error != -ENOENT && head_error != -EBADMSG)
		return head_error;
	r = walk_end(f, &w, &rec.torn_bytes);
	if (r < 0)
		return r;
	judge(&w, head_error, &rec);
	rec.first = w.head ? head.first : oldest_seq(f->path);
	rec.is_gap = rec.detail[0] != 0;
	if (rec.torn_bytes && !rec.is_gap)
		snprintf(rec.detail, sizeof(rec.detail),
			"the last record was torn: %llu bytes were cut off",
			(unsigned long long)rec.torn_bytes);
	*ret = rec;
	return 0;
}

int recover_first_seq(const char *path, uint64_t *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_free_ char *data = malloc(WINDOW_BYTES);
	struct chain_link link;
	const char *end;
	ssize_t n;

	if (fd < 0)
		return -errno;
	if (!data)
		return -ENOMEM;
	n = pread(fd, data, WINDOW_BYTES, 0);
	end = n > 0 ? memchr(data, '\n', (size_t)n) : NULL;
	if (!end || !chain_read(data, (size_t)(end - data), &link))
		return -EBADMSG;
	*ret = link.seq;
	return 0;
}
