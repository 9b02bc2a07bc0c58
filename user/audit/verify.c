/* SPDX-License-Identifier: GPL-2.0-only */
/* Walks a log from its oldest record to its newest; see verify.h. */
#include "verify.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "logfile.h"

#define CHUNK_BYTES (1u << 20)
#define MAX_LINE_BYTES (16u << 20) /* no record comes near it */
#define MAX_FILES 10000
#define GAP "\"event\":\"audit_gap\""
#define GAP_WITHIN_BYTES 512
#define TORN_WAIT_MS 50 /* a writer at work ends its line sooner */

/* The files of a log, oldest last. */
struct files {
	int fds[MAX_FILES];
	unsigned int n;
};

struct walk {
	struct chain chain; /* seq and hash of the last record; 0: none yet */
	struct verify_result *result;
	uint64_t line;
	bool has_head_record; /* the one the head names was met, and is right */
};

static void files_close(struct files *f)
{
	while (f->n)
		close(f->fds[--f->n]);
}

static void files_free_ptr(struct files **f)
{
	if (*f)
		files_close(*f);
	free(*f);
}

static void walk_done(struct walk *w)
{
	chain_done(&w->chain);
}

static bool is_same_file(int a, int b)
{
	struct stat sa, sb;

	return fstat(a, &sa) == 0 && fstat(b, &sb) == 0 && sa.st_ino == sb.st_ino &&
		sa.st_dev == sb.st_dev;
}

/* Newest first, so that a rotation in between shows one file twice instead of hiding one. */
static int open_once(const char *path, struct files *f)
{
	for (unsigned int n = 0; n < MAX_FILES; n++) {
		char name[PATH_MAX];
		int fd;

		logfile_name(path, n, name);
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (fd < 0 && errno != ENOENT)
			return -errno;
		if (fd < 0 && n)
			break;
		if (fd < 0)
			fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		f->fds[f->n++] = fd;
		if (n && is_same_file(fd, f->fds[n - 1]))
			return -EAGAIN;
	}
	return 0;
}

static int files_open(const char *path, struct files *f)
{
	for (int i = 0; i < 10; i++) {
		int r = open_once(path, f);

		if (r != -EAGAIN)
			return r;
		files_close(f);
	}
	return -EBUSY;
}

static bool is_json(const char *line, size_t len)
{
	json_t *json = json_loadb(line, len, JSON_ALLOW_NUL, NULL);
	bool is_object = json_is_object(json);

	json_decref(json);
	return is_object;
}

static bool fault(struct walk *w, enum verify_fault what, uint64_t seq)
{
	w->result->fault = what;
	w->result->line = w->line;
	w->result->seq = seq;
	return false;
}

/* The first record of all. */
static bool check_start(struct walk *w, const struct chain_link *link)
{
	struct verify_result *v = w->result;

	v->first_seq = link->seq;
	if (link->seq == 1 && memcmp(link->prev, w->chain.hash, 64) != 0)
		return fault(w, VERIFY_PREV, 1);
	/* Older ones than the head promises are fine: a rotation may have been cut short. */
	if (v->has_head && link->seq > v->head.first) {
		v->missing = link->seq - v->head.first;
		return fault(w, VERIFY_START, v->head.first);
	}
	return true;
}

static bool check_order(struct walk *w, const struct chain_link *link)
{
	uint64_t expected = w->chain.seq + 1;

	if (link->seq != expected) {
		w->result->found_seq = link->seq;
		w->result->missing = link->seq > expected ? link->seq - expected : 0;
		return fault(w, VERIFY_SEQ, expected);
	}
	return memcmp(link->prev, w->chain.hash, 64) == 0 ? true : fault(w, VERIFY_PREV, expected);
}

/* One line without its line feed. False: stop. */
static bool check_line(struct walk *w, const char *line, size_t len)
{
	struct verify_result *v = w->result;
	char hash[CHAIN_HEX_BYTES];
	struct chain_link link;

	w->line++;
	if (!chain_read(line, len, &link))
		return fault(w, is_json(line, len) ? VERIFY_NO_RECORD : VERIFY_NOT_JSON,
			w->chain.seq + 1);
	if (chain_digest(&w->chain, line, &link, hash) < 0 || memcmp(hash, link.hash, 64) != 0)
		return fault(w, VERIFY_HASH, link.seq);
	if (v->n_records ? !check_order(w, &link) : !check_start(w, &link))
		return false;
	if (v->has_head && link.seq == v->head.seq) {
		if (memcmp(hash, v->head.hash, 64) != 0)
			return fault(w, VERIFY_HEAD_HASH, link.seq);
		w->has_head_record = true;
	}
	chain_set(&w->chain, link.seq, hash);
	/* A quote inside a text is escaped: this can only be the key. */
	if (memmem(line, len < GAP_WITHIN_BYTES ? len : GAP_WITHIN_BYTES, GAP, sizeof(GAP) - 1))
		v->n_gaps++;
	v->n_records++;
	return true;
}

/* What is being read of one file. */
struct reader {
	char *data;
	size_t len, cap;
};

static void reader_done(struct reader *r)
{
	free(r->data);
}

/* Lines that are whole; the rest moves to the front. */
static bool take_lines(struct walk *w, struct reader *r)
{
	char *p = r->data, *end = r->data + r->len, *feed;

	while ((feed = memchr(p, '\n', (size_t)(end - p)))) {
		if (!check_line(w, p, (size_t)(feed - p)))
			return false;
		p = feed + 1;
	}
	r->len = (size_t)(end - p);
	memmove(r->data, p, r->len);
	return true;
}

/* More of the file. Number of bytes, 0 at the end, negative errno; -EMSGSIZE: an endless line. */
static ssize_t read_more(int fd, struct reader *r)
{
	ssize_t n;

	if (r->cap - r->len < CHUNK_BYTES / 2) {
		size_t cap = r->cap ? r->cap * 2 : CHUNK_BYTES;
		char *data;

		if (cap > 2 * MAX_LINE_BYTES)
			return -EMSGSIZE;
		data = realloc(r->data, cap);
		if (!data)
			return -ENOMEM;
		r->data = data;
		r->cap = cap;
	}
	do
		n = read(fd, r->data + r->len, r->cap - r->len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	r->len += (size_t)n;
	return n;
}

/* 1: all lines are good, 0: a fault was found, or negative errno. */
static int walk_file(struct walk *w, int fd, bool is_newest)
{
	_cleanup_(reader_done)
	struct reader r = {0};
	int waits = is_newest ? 4 : 0;

	w->line = 0;
	for (;;) {
		ssize_t n = read_more(fd, &r);

		if (n == -EMSGSIZE) {
			w->line++;
			fault(w, VERIFY_NOT_JSON, w->chain.seq + 1);
			return 0;
		}
		if (n < 0)
			return (int)n;
		if (n > 0) {
			if (!take_lines(w, &r))
				return 0;
			continue;
		}
		if (!r.len)
			return 1;
		if (!waits--) {
			w->line++;
			fault(w, VERIFY_TORN, w->chain.seq + 1);
			return 0;
		}
		nanosleep(&(struct timespec){0, TORN_WAIT_MS * 1000000L}, NULL);
	}
}

/* The end of a log whose lines are all good. */
static void check_end(struct walk *w)
{
	struct verify_result *v = w->result;

	v->line = 0;
	v->file[0] = 0;
	v->seq = w->chain.seq;
	if (!v->has_head) {
		v->fault = VERIFY_NO_HEAD;
		return;
	}
	if (w->chain.seq < v->head.seq) {
		v->missing = v->head.seq - w->chain.seq;
		v->fault = v->n_records ? VERIFY_TAIL : VERIFY_NO_LOG;
		return;
	}
	if (v->n_records && v->head.seq && !w->has_head_record && v->head.seq >= v->first_seq) {
		v->fault = VERIFY_HEAD_HASH;
		v->seq = v->head.seq;
		return;
	}
	v->n_unsigned = w->chain.seq - v->head.seq;
	if (v->head.signature != HEAD_SIGNED && v->head.signature != HEAD_UNCHECKED)
		v->fault = VERIFY_BAD_HEAD;
}

static int read_head(const char *path, const struct chain_key *key, struct verify_result *v)
{
	char name[PATH_MAX];
	int r;

	if (snprintf(name, sizeof(name), "%s.head", path) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	r = head_read(name, key, &v->head);
	v->has_head = r == 0;
	if (r == -EBADMSG) {
		/* As if it said nothing; the chain is still worth a look. */
		return 0;
	}
	return r == -ENOENT ? 0 : r;
}

int verify_log(const char *path, const struct chain_key *key, struct verify_result *ret)
{
	_cleanup_(files_free_ptr)
	struct files *files = calloc(1, sizeof(*files));
	_cleanup_(walk_done)
	struct walk w = {.result = ret};
	struct stat st;
	int r;

	memset(ret, 0, sizeof(*ret));
	if (!files)
		return -ENOMEM;
	r = chain_init(&w.chain);
	/* The head before the log: what is written meanwhile only makes the log longer. */
	if (r == 0)
		r = read_head(path, key, ret);
	if (r == 0)
		r = files_open(path, files);
	if (r < 0)
		return r;
	if (!ret->has_head && files->n == 1 && stat(path, &st) < 0)
		return -ENOENT;
	ret->n_files = files->n;
	for (unsigned int n = files->n; n-- > 0;) {
		logfile_name(path, n, ret->file);
		r = walk_file(&w, files->fds[n], n == 0);
		if (r <= 0)
			return r;
	}
	check_end(&w);
	return 0;
}

static void print_missing(const struct verify_result *v, struct buf *b, const char *where)
{
	buf_printf(b, "%llu record%s missing %s", (unsigned long long)v->missing,
		v->missing == 1 ? " is" : "s are", where);
}

static void print_head_fault(const struct verify_result *v, struct buf *b)
{
	switch (v->head.signature) {
	case HEAD_UNSIGNED:
		buf_add_str(b, "the head is not signed");
		break;
	case HEAD_OTHER_KEY:
		buf_printf(b, "the head is signed by an unknown key (%s)", v->head.key_id);
		break;
	default:
		buf_add_str(b, "the head's signature is wrong: the head was changed");
	}
}

static void print_end_fault(const struct verify_result *v, struct buf *b)
{
	switch (v->fault) {
	case VERIFY_TAIL:
		print_missing(v, b, "at the end: ");
		buf_printf(b, "the log ends with record %llu, its head says %llu",
			(unsigned long long)v->seq, (unsigned long long)v->head.seq);
		buf_printf(b, " (%s); it was cut, or an older copy was put back", v->head.time);
		break;
	case VERIFY_NO_LOG:
		buf_printf(b, "all %llu records are missing: the head is there, the log is not",
			(unsigned long long)v->missing);
		break;
	case VERIFY_NO_HEAD:
		buf_printf(b,
			"the head is missing or unreadable: the chain holds up to record "
			"%llu, but whether that is its end nobody can tell",
			(unsigned long long)v->seq);
		break;
	case VERIFY_BAD_HEAD:
		print_head_fault(v, b);
		break;
	default:
		buf_printf(b, "record %llu is not the one that was signed",
			(unsigned long long)v->seq);
	}
}

void verify_print(const struct verify_result *v, struct buf *b)
{
	unsigned long long seq = v->seq;

	switch (v->fault) {
	case VERIFY_NOT_JSON:
		buf_add_str(b, "not JSON");
		break;
	case VERIFY_NO_RECORD:
		buf_add_str(b, "not a record of the chain (no seq, prev or hash at its place)");
		break;
	case VERIFY_TORN:
		buf_printf(b, "torn: the line of record %llu has no end", seq);
		break;
	case VERIFY_HASH:
		buf_printf(b, "hash: record %llu was changed", seq);
		break;
	case VERIFY_PREV:
		buf_printf(b, "prev: record %llu does not follow the one before it", seq);
		break;
	case VERIFY_SEQ:
		buf_printf(b, "seq: record %llu should stand here, not %llu", seq,
			(unsigned long long)v->found_seq);
		if (v->missing) {
			buf_add_str(b, "; ");
			print_missing(v, b, "before it");
		}
		break;
	case VERIFY_START:
		print_missing(v, b, "at the beginning");
		buf_printf(b, ": the log should begin with record %llu", seq);
		break;
	case VERIFY_HEAD_HASH:
		buf_printf(b, "hash: record %llu is not the one that was signed", seq);
		break;
	default:
		print_end_fault(v, b);
	}
}
