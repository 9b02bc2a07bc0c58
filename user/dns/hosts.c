/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads hosts(5) and the servers of resolv.conf(5); see hosts.h and resolve_host_servers. */
#include "hosts.h"

#include <errno.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/file.h"

#define MAX_FILE_BYTES (1u << 20)
#define HOSTS_TTL_S 5

static void add_name(struct cache *into, const struct addr *addr, const char *text)
{
	struct resolve_answer answer = {.ttl_s = HOSTS_TTL_S};
	struct host name;
	int status;

	if (host_parse(text, strlen(text), &name) < 0 || name.kind != HOST_NAME || name.is_local)
		return;
	cache_get(into, &name, 0, &status, &answer);
	if (answer.n_addrs == RESOLVE_MAX_ADDRS)
		return;
	if (addr_is_v4(addr)) {
		answer.addrs[answer.n_addrs] = *addr;
	} else { /* IPv6 first */
		memmove(answer.addrs + 1, answer.addrs, answer.n_addrs * sizeof(*addr));
		answer.addrs[0] = *addr;
	}
	answer.n_addrs++;
	cache_put(into, &name, 0, &answer, CACHE_FOREVER);
}

void hosts_read(const char *path, struct cache *into)
{
	_cleanup_free_ char *text = NULL;
	char *line, *lines;
	size_t len;

	if (file_read(path, MAX_FILE_BYTES, &text, &len) < 0)
		return;
	for (line = strtok_r(text, "\n", &lines); line; line = strtok_r(NULL, "\n", &lines)) {
		char *words, *word;
		struct addr addr;

		line[strcspn(line, "#")] = 0;
		word = strtok_r(line, " \t\r", &words);
		if (!word || addr_parse(word, strlen(word), &addr) < 0)
			continue;
		while ((word = strtok_r(NULL, " \t\r", &words)))
			add_name(into, &addr, word);
	}
}

size_t resolve_host_servers(struct endpoint *ret, size_t max)
{
	_cleanup_free_ char *text = NULL;
	char *line, *lines;
	size_t len, n = 0;

	if (file_read("/etc/resolv.conf", MAX_FILE_BYTES, &text, &len) < 0)
		return 0;
	for (line = strtok_r(text, "\n", &lines); line && n < max;
		line = strtok_r(NULL, "\n", &lines)) {
		char *words, *word = strtok_r(line, " \t\r", &words);

		if (!word || strcmp(word, "nameserver"))
			continue;
		word = strtok_r(NULL, " \t\r", &words);
		if (word && endpoint_parse(word, 53, &ret[n]) == 0)
			n++;
	}
	return n;
}
