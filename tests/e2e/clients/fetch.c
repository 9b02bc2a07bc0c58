/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The plainest client: getaddrinfo, connect to each address in turn, one HTTP/1.0 GET, print the
 * body. Built against glibc and against musl, whose resolvers differ.
 */
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int connect_to(const char *host, const char *port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
	struct addrinfo *list;
	int status = getaddrinfo(host, port, &hints, &list);

	if (status) {
		fprintf(stderr, "%s: %s\n", host, gai_strerror(status));
		return -1;
	}
	for (struct addrinfo *one = list; one; one = one->ai_next) {
		int fd = socket(one->ai_family, one->ai_socktype, one->ai_protocol);

		if (fd >= 0 && connect(fd, one->ai_addr, one->ai_addrlen) == 0)
			return fd;
		perror("connect");
		close(fd);
	}
	return -1;
}

int main(int argc, char **argv)
{
	char buffer[4096];
	ssize_t n;

	if (argc < 3)
		return 2;
	int fd = connect_to(argv[1], argv[2]);

	if (fd < 0)
		return 1;
	n = snprintf(buffer, sizeof(buffer), "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n",
		argc > 3 ? argv[3] : "/", argv[1]);
	if (write(fd, buffer, (size_t)n) != n)
		return 1;
	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		fwrite(buffer, 1, (size_t)n, stdout);
	return n < 0;
}
