/* SPDX-License-Identifier: GPL-2.0-only */
/* One thread at a time, its end told by an eventfd; see renew.h. */
#include "renew.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../base/cleanup.h"

#define STACK_BYTES (256u << 10)

struct renew {
	struct loop *loop;
	struct loop_io end;
	struct secrets *secrets;
	void (*on_done)(void *arg, const char *read, const char *failed);
	void *arg;
	pthread_t thread;
	bool is_running, wants_again;
	/* the thread's while it runs */
	struct locked *values; /* one a secret */
	struct buf read, failed;
};

static void *work(void *arg)
{
	struct renew *r = arg;
	uint64_t one = 1;

	secrets_read_again(r->secrets, r->values, &r->read, &r->failed);
	while (write(r->end.fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	return NULL;
}

int renew_start(struct renew *r)
{
	pthread_attr_t attr;
	int err;

	if (r->is_running) {
		r->wants_again = true;
		return 0;
	}
	buf_clear(&r->read);
	buf_clear(&r->failed);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	err = -pthread_create(&r->thread, &attr, work, r);
	pthread_attr_destroy(&attr);
	r->is_running = err == 0;
	return err;
}

static void on_end(struct loop_io *io, uint32_t events)
{
	struct renew *r = CONTAINER_OF(io, struct renew, end);
	uint64_t n;

	(void)events;
	if (read(io->fd, &n, sizeof(n)) != sizeof(n) || !r->is_running)
		return;
	pthread_join(r->thread, NULL);
	r->is_running = false;
	secrets_renew(r->secrets, r->values);
	r->on_done(r->arg, r->read.len ? r->read.data : "", r->failed.len ? r->failed.data : "");
	if (r->wants_again) {
		r->wants_again = false;
		renew_start(r);
	}
}

DEFINE_CLEANUP(struct renew, renew_free);

int renew_new(struct loop *loop, struct secrets *secrets,
	void (*on_done)(void *arg, const char *read, const char *failed), void *arg,
	struct renew **ret)
{
	_cleanup_(renew_free_ptr)
	struct renew *r = calloc(1, sizeof(*r));
	int fd, err;

	if (!r)
		return -ENOMEM;
	r->loop = loop;
	r->secrets = secrets;
	r->on_done = on_done;
	r->arg = arg;
	r->end = (struct loop_io){on_end, -1};
	r->values = calloc(secrets->n + 1, sizeof(*r->values));
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!r->values || fd < 0)
		return r->values ? -errno : -ENOMEM;
	err = loop_add(loop, &r->end, fd, EPOLLIN);
	if (err < 0) {
		close(fd);
		return err;
	}
	*ret = TAKE_PTR(r);
	return 0;
}

void renew_free(struct renew *r)
{
	int fd;

	if (!r)
		return;
	if (r->is_running) {
		pthread_join(r->thread, NULL);
		for (size_t i = 0; i < r->secrets->n; i++)
			locked_free(&r->values[i]);
	}
	fd = r->end.fd;
	if (fd >= 0)
		loop_del(r->loop, &r->end, true);
	cleanup_close(&fd);
	buf_done(&r->read);
	buf_done(&r->failed);
	free(r->values);
	free(r);
}
