/* SPDX-License-Identifier: GPL-2.0-only */
/* The signed head of a log; see head.h. */
#include "head.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/clock.h"
#include "../base/file.h"

#define SIG ",\"sig\":\""
#define SIG_TAIL_BYTES (sizeof(SIG) - 1 + CHAIN_SIGNATURE_BYTES - 1 + 2)

static void json_decref_ptr(json_t **json)
{
	json_decref(*json);
}

static bool copy_text(const json_t *json, const char *key, char *out, size_t size)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text && snprintf(out, size, "%s", text) < (int)size;
}

static bool read_fields(const char *line, size_t len, struct head *h)
{
	_cleanup_(json_decref_ptr)
	json_t *json = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	json_int_t seq = json_integer_value(json_object_get(json, "seq"));
	json_int_t first = json_integer_value(json_object_get(json, "first"));

	if (!json_is_object(json) || seq < 0 || first < 1 ||
		!copy_text(json, "hash", h->hash, sizeof(h->hash)) ||
		strspn(h->hash, "0123456789abcdef") != 64)
		return false;
	h->seq = (uint64_t)seq;
	h->first = (uint64_t)first;
	if (!copy_text(json, "time", h->time, sizeof(h->time)))
		return false;
	if (json_is_null(json_object_get(json, "key")))
		return json_is_null(json_object_get(json, "sig"));
	return copy_text(json, "key", h->key_id, sizeof(h->key_id));
}

/* line: without line feed; altered. */
static enum head_signature check(
	char *line, size_t len, const struct head *h, const struct chain_key *key)
{
	char sig[CHAIN_SIGNATURE_BYTES];
	char *tail;

	if (!h->key_id[0])
		return HEAD_UNSIGNED;
	if (!key)
		return HEAD_UNCHECKED;
	if (strcmp(h->key_id, chain_key_id(key)) != 0)
		return HEAD_OTHER_KEY;
	if (len < SIG_TAIL_BYTES)
		return HEAD_FORGED;
	tail = line + len - SIG_TAIL_BYTES;
	if (memcmp(tail, SIG, sizeof(SIG) - 1) != 0 || memcmp(line + len - 2, "\"}", 2) != 0)
		return HEAD_FORGED;
	memcpy(sig, tail + sizeof(SIG) - 1, sizeof(sig) - 1);
	sig[sizeof(sig) - 1] = 0;
	*tail = '}';
	return chain_is_signed(key, line, (size_t)(tail + 1 - line), sig) ? HEAD_SIGNED
									  : HEAD_FORGED;
}

int head_read(const char *path, const struct chain_key *key, struct head *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	_cleanup_free_ char *data = NULL;
	struct head h = {0};
	size_t len;
	int r;

	if (fd < 0)
		return -errno;
	r = file_read_fd(fd, HEAD_MAX_BYTES, &data, &len);
	if (r < 0)
		return r == -EFBIG ? -EBADMSG : r;
	if (!len || data[len - 1] != '\n' || !read_fields(data, len - 1, &h))
		return -EBADMSG;
	h.signature = check(data, len - 1, &h, key);
	*ret = h;
	return 0;
}

static int print(
	struct buf *b, const struct head *h, const char *sandbox_json, const struct chain_key *key)
{
	char time[CLOCK_TEXT_BYTES], sig[CHAIN_SIGNATURE_BYTES];
	int r;

	clock_print(clock_real_us(), time);
	buf_printf(b, "{\"seq\":%llu,\"hash\":\"%s\",\"first\":%llu,\"time\":\"%s\",\"sandbox\":",
		(unsigned long long)h->seq, h->hash, (unsigned long long)h->first, time);
	buf_add_str(b, sandbox_json);
	if (!key) {
		buf_add_str(b, ",\"key\":null,\"sig\":null}\n");
		return b->is_failed ? -ENOMEM : 0;
	}
	buf_printf(b, ",\"key\":\"%s\"}", chain_key_id(key));
	if (b->is_failed)
		return -ENOMEM;
	r = chain_sign(key, b->data, b->len, sig);
	if (r < 0)
		return r;
	b->len--;
	buf_printf(b, SIG "%s\"}\n", sig);
	return b->is_failed ? -ENOMEM : 0;
}

int head_write(const char *log_path, const struct head *head, const char *sandbox_json,
	const struct chain_key *key, bool want_sync)
{
	char path[PATH_MAX], temp[PATH_MAX];
	_cleanup_(buf_done)
	struct buf b = {0};
	_cleanup_close_ int fd = -1;
	int r = print(&b, head, sandbox_json, key);

	if (r < 0)
		return r;
	if (snprintf(path, sizeof(path), "%s.head", log_path) >= (int)sizeof(path) ||
		snprintf(temp, sizeof(temp), "%s.head.new", log_path) >= (int)sizeof(temp))
		return -ENAMETOOLONG;
	/* Only the holder of the log's lock comes here: a file of this name is a dead one's. */
	unlink(temp);
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return -errno;
	r = file_write_fd(fd, b.data, b.len);
	if (r == 0 && ((want_sync && fsync(fd) < 0) || rename(temp, path) < 0))
		r = -errno;
	if (r < 0)
		unlink(temp);
	return r;
}
