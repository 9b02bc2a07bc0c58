/* SPDX-License-Identifier: GPL-2.0-only */
/* One datagram to the service manager; see notify.h. */
#include "notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../base/cleanup.h"
#include "../base/log.h"

#define READY "READY=1"

static int send_ready(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t len = strlen(path);
	_cleanup_close_ int fd = -1;

	if (len >= sizeof(to.sun_path) || (path[0] != '/' && path[0] != '@'))
		return -EINVAL;
	memcpy(to.sun_path, path, len);
	if (path[0] == '@')
		to.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
		sendto(fd, READY, strlen(READY), 0, (struct sockaddr *)&to,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0)
		return -errno;
	return 0;
}

void notify_ready(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	int r = path ? send_ready(path) : 0;

	if (r < 0)
		log_warning("cannot tell the service manager that we are ready: %s", strerror(-r));
	unsetenv("NOTIFY_SOCKET");
}
