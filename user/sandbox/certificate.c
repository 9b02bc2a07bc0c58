/* SPDX-License-Identifier: GPL-2.0-only */
/* Certificates out of descriptors; see certificate.h. Their use is proxy/front.c's. */
#include "certificate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../tls/context.h"
#include "../tls/session.h"

struct certificate {
	struct certificate *older;
	struct context *cx;
	struct session_io *io;
};

/* Caller wipes. */
static int read_all(int fd, struct buf *ret)
{
	char part[4096];
	ssize_t n;

	buf_reserve(ret, CERTIFICATE_MAX_BYTES); /* never moved, so wiped whole */
	if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -EBADF;
	while ((n = read(fd, part, sizeof(part))) > 0 &&
		ret->len + (size_t)n < CERTIFICATE_MAX_BYTES)
		buf_add(ret, part, (size_t)n);
	explicit_bzero(part, sizeof(part));
	return n < 0 ? -errno : n > 0 ? -EFBIG : ret->is_failed ? -ENOMEM : 0;
}

static void certificate_free(struct certificate *c)
{
	session_io_free(c->io);
	context_free(c->cx);
	free(c);
}

DEFINE_CLEANUP(struct certificate, certificate_free);

static int add(struct certificate **newest, const struct buf *pem, const char **ret_what)
{
	_cleanup_(certificate_free_ptr)
	struct certificate *c = calloc(1, sizeof(*c));
	int r = c ? context_new_fixed(pem->data, pem->len, &c->cx, ret_what) : -ENOMEM;

	if (r >= 0)
		r = session_io_new(c->cx, &c->io);
	if (r < 0)
		return r;
	c->older = *newest;
	*newest = TAKE_PTR(c);
	return 0;
}

int certificate_read(struct certificate **newest, int fd, const char **ret_what)
{
	struct buf pem;
	int r;

	buf_init(&pem);
	*ret_what = "the certificate";
	r = read_all(fd, &pem);
	if (r >= 0 && pem.len)
		r = add(newest, &pem, ret_what);
	if (pem.data)
		explicit_bzero(pem.data, pem.cap);
	buf_done(&pem);
	return r;
}

struct session_io *certificate_io(const struct certificate *c)
{
	return c->io;
}
