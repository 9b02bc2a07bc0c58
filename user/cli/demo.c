/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs `nej run` on the program of demo_client.c in the world of demo_world.c and sets what was
 * tried, what the program saw and the audit record side by side. It judges too: each row says what
 * should come. Needs root and what `nej run` needs, no network and no other program.
 */
#include "demo.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/buf.h"
#include "../base/cleanup.h"
#include "../base/file.h"
#include "../base/log.h"
#include "demo_world.h"

#define EXIT_CANNOT 3
#define POLICY "version: 1\nrules:\n  - allow: " DEMO_GOOD_NAME "\n"

/* What is tried, and what should come: the program's words begin with `saw`, the record has these. */
static const struct demo_case {
	const char *id, *title, *saw, *event, *reason, *key, *value;
} cases[] = {
	{"allowed", "a call the policy allows: GET http://" DEMO_GOOD_NAME "/", "HTTP/1.1 200",
		"network_allowed", "rule", "host", DEMO_GOOD_NAME},
	{"denied", "a name no rule allows: GET http://" DEMO_EVIL_NAME "/", "NXDOMAIN",
		"dns_blocked", "no-rule", "host", DEMO_EVIL_NAME},
	{"address", "a hard-coded address: GET http://" DEMO_EVIL_ADDR "/", "HTTP/1.1 403",
		"network_blocked", "address-literal", "addr", DEMO_EVIL_ADDR},
	{"raw", "a raw socket: socket(AF_INET, SOCK_RAW, IPPROTO_ICMP)", "Operation not permitted",
		"network_blocked", "socket-type", "comm", NULL},
	{"tunnel", "a DNS tunnel: a secret in the name, asked of " DEMO_OTHER_RESOLVER, "NXDOMAIN",
		"dns_blocked", "no-rule", "host", "7365637265742d746f6b656e." DEMO_EVIL_NAME},
};

struct demo {
	char dir[64];
	char program[96], policy[96], audit[96], stderr_path[96];
	bool is_tty;
	char *client_text; /* what the client printed */
	json_t *records;
};

static const char *colour(const struct demo *demo, const char *code)
{
	return demo->is_tty ? code : "";
}

/* The sandboxed user must be able to execute the program, wherever it was built. */
static int copy_self(const char *to)
{
	_cleanup_free_ char *data = NULL;
	size_t len;
	_cleanup_close_ int fd = -1;
	int r = file_read("/proc/self/exe", 256u << 20, &data, &len);

	if (r < 0)
		return r;
	fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	return fd < 0 ? -errno : file_write_fd(fd, data, len);
}

static int make_folder(struct demo *demo)
{
	snprintf(demo->dir, sizeof(demo->dir), "/run/nej-demo.XXXXXX");
	if (!mkdtemp(demo->dir) || chmod(demo->dir, 0755) < 0)
		return -errno;
	snprintf(demo->program, sizeof(demo->program), "%s/nej", demo->dir);
	snprintf(demo->policy, sizeof(demo->policy), "%s/policy.yaml", demo->dir);
	snprintf(demo->audit, sizeof(demo->audit), "%s/audit.jsonl", demo->dir);
	snprintf(demo->stderr_path, sizeof(demo->stderr_path), "%s/stderr", demo->dir);
	int r = copy_self(demo->program);

	return r < 0 ? r : file_replace(demo->policy, POLICY, strlen(POLICY), 0644);
}

static void remove_folder(const struct demo *demo)
{
	char path[PATH_MAX];
	static const char *const left[] = {"nej", "policy.yaml", "stderr", "audit.jsonl",
		"audit.jsonl.head", "audit.jsonl.pub", "audit.jsonl.key", "audit.jsonl.lock"};

	for (size_t i = 0; i < ARRAY_SIZE(left); i++) {
		snprintf(path, sizeof(path), "%s/%s", demo->dir, left[i]);
		unlink(path);
	}
	if (rmdir(demo->dir) < 0)
		log_warning("%s is not empty and stays", demo->dir);
}

static void become(char *const argv[], int out, const char *err)
{
	int null = open("/dev/null", O_RDWR);
	int fd = open(err, O_WRONLY | O_CREAT | O_APPEND, 0600);

	if (dup2(null, 0) < 0 || dup2(out < 0 ? null : out, 1) < 0 || dup2(fd, 2) < 0)
		_exit(126);
	execv("/proc/self/exe", argv);
	_exit(127);
}

/* Runs ourselves with these arguments; what it prints goes to *ret_text. Exit status, or negative
 * errno. */
static int run_self(const struct demo *demo, char *const argv[], char **ret_text)
{
	int ends[2], status, r;
	size_t len;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		become(argv, ends[1], demo->stderr_path);
	close(ends[1]);
	r = pid < 0 ? -errno : file_read_fd(ends[0], 1u << 20, ret_text, &len);
	close(ends[0]);
	if (pid < 0)
		return r;
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}

static int run_client(struct demo *demo)
{
	char *argv[] = {"nej", "run", "-p", demo->policy, "-n", "demo", "--audit", demo->audit,
		"--resolver", DEMO_RESOLVER, "--", demo->program, "demo-client", NULL};

	return run_self(demo, argv, &demo->client_text);
}

static bool is_chain_good(const struct demo *demo)
{
	char *argv[] = {"nej", "verify", (char *)demo->audit, NULL};
	_cleanup_free_ char *text = NULL;

	return run_self(demo, argv, &text) == 0;
}

static int read_records(struct demo *demo)
{
	_cleanup_free_ char *data = NULL;
	size_t len;
	int r = file_read(demo->audit, 16u << 20, &data, &len);

	demo->records = json_array();
	if (r < 0)
		return r;
	for (char *line = data; *line;) {
		char *end = strchrnul(line, '\n');

		json_array_append_new(
			demo->records, json_loadb(line, (size_t)(end - line), 0, NULL));
		line = end + (*end == '\n');
	}
	return 0;
}

static bool has(const json_t *record, const char *key, const char *value)
{
	const char *text = json_string_value(json_object_get(record, key));

	return text && (!value || strcmp(text, value) == 0);
}

static const json_t *find_record(const struct demo *demo, const struct demo_case *c)
{
	size_t i;
	json_t *record;

	json_array_foreach(demo->records, i, record)
	{
		if (has(record, "event", c->event) && has(record, "reason", c->reason) &&
			has(record, c->key, c->value))
			return record;
	}
	return NULL;
}

/* The part of a record that a reader of the demo cares for, as it stands in the log. */
static void print_record(const json_t *record)
{
	static const char *const keys[] = {"seq", "event", "layer", "reason", "rule", "proto",
		"host", "addr", "port", "status", "pid", "comm"};
	const char *comma = "";

	printf("{");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const json_t *value = json_object_get(record, keys[i]);
		_cleanup_free_ char *text = NULL;

		if (!value || json_is_null(value))
			continue;
		text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
		printf("%s\"%s\":%s", comma, keys[i], text ? text : "null");
		comma = ",";
	}
	printf("}\n");
}

/* The client's line of a case, or NULL; *ret_len bytes. */
static const char *find_line(const struct demo *demo, const char *id, int *ret_len)
{
	size_t id_len = strlen(id);

	for (const char *line = demo->client_text; line && *line;) {
		size_t len = strcspn(line, "\n");

		if (len > id_len && strncmp(line, id, id_len) == 0 && line[id_len] == '\t') {
			*ret_len = (int)(len - id_len - 1);
			return line + id_len + 1;
		}
		line += len + (line[len] == '\n');
	}
	return NULL;
}

static bool show_case(const struct demo *demo, size_t number)
{
	const struct demo_case *c = &cases[number];
	const json_t *record = find_record(demo, c);
	int len = 0;
	const char *saw = find_line(demo, c->id, &len);
	bool is_good = saw && record && strncmp(saw, c->saw, strlen(c->saw)) == 0;

	printf("%s%zu  %s%s\n", colour(demo, "\033[1m"), number + 1, c->title,
		colour(demo, "\033[0m"));
	printf("   program saw  %.*s\n", saw ? len : 7, saw ? saw : "nothing");
	printf("   audit says   ");
	if (record)
		print_record(record);
	else
		printf("nothing\n");
	if (!is_good)
		printf("   %sshould be    %s..., and a record %s with reason %s%s\n",
			colour(demo, "\033[31m"), c->saw, c->event, c->reason,
			colour(demo, "\033[0m"));
	printf("\n");
	return is_good;
}

static bool show_all(const struct demo *demo, const struct demo_seen *seen)
{
	bool is_good = true, is_chained = is_chain_good(demo);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		is_good &= show_case(demo, i);
	printf("The other side saw %u request(s) to " DEMO_GOOD_NAME
	       ", %u connection(s) to the evil\n"
	       "address and %u question(s) about the evil name. The chain of %zu audit records "
	       "%s.\n",
		seen->good_requests, seen->evil_connections, seen->evil_questions,
		json_array_size(demo->records), is_chained ? "holds" : "is broken");
	is_good &= is_chained && seen->good_requests == 1 && !seen->evil_connections &&
		!seen->evil_questions;
	printf("%s%s%s\n", colour(demo, is_good ? "\033[32m" : "\033[31m"),
		is_good ? "All of it came as it should." : "Not all of it came as it should.",
		colour(demo, "\033[0m"));
	return is_good;
}

static void show_stderr(const struct demo *demo)
{
	_cleanup_free_ char *text = NULL;
	size_t len;

	if (file_read(demo->stderr_path, 1u << 20, &text, &len) == 0 && len)
		fprintf(stderr, "%s", text);
}

static int play(struct demo *demo, const struct demo_seen *seen)
{
	int status = run_client(demo);
	int r = read_records(demo);

	if (status != 0 || r < 0) {
		show_stderr(demo);
		log_error("the sandbox did not run (exit status %d); `nej doctor` says what is "
			  "missing",
			status);
		return status == EXIT_CANNOT ? EXIT_CANNOT : 1;
	}
	printf("A program in a sandbox, a made-up internet, and this policy:\n\n%s\n", POLICY);
	if (show_all(demo, seen))
		return 0;
	show_stderr(demo);
	return 1;
}

int demo_main(int argc, char **argv)
{
	struct demo demo = {.is_tty = isatty(STDOUT_FILENO)};
	struct demo_world world = {0};
	const char *what;
	int status, r;

	if (argc > 1) {
		fprintf(stderr, "usage: %s\n", argv[0]);
		return 2;
	}
	if (geteuid() != 0) {
		log_error("the demo makes network namespaces and a sandbox: run it as root");
		return EXIT_CANNOT;
	}
	r = demo_world_start(&world, &what);
	if (r < 0) {
		log_error("cannot make %s: %s", what, strerror(-r));
		return EXIT_CANNOT;
	}
	r = make_folder(&demo);
	if (r < 0)
		log_error("cannot make %s: %s", demo.dir, strerror(-r));
	status = r < 0 ? EXIT_CANNOT : play(&demo, world.seen);
	demo_world_stop(&world);
	remove_folder(&demo);
	free(demo.client_text);
	json_decref(demo.records);
	return status;
}
