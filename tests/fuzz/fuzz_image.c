/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A compiled policy with bytes changed: three bytes of place and one of value each. It is refused,
 * or every question is answered from within the image.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../user/base/cleanup.h"
#include "../../user/policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char text[] =
	"private: [10.0.0.0/8]\n"
	"host_ports: [5432]\n"
	"unix: [/run/x]\n"
	"resolver: [192.0.2.53]\n"
	"upstream: { p: { url: 'https://p.example', username: u, password: w } }\n"
	"rules:\n"
	"  - {allow: e.example, transport: upstream}\n"
	"  - allow: GET,HEAD https://a.example/x/*/y/**\n"
	"  - deny: [.b.example, '*.c.example', 'd.example:1-99']\n"
	"  - {allow: [10.1.0.0/16, 192.0.2.7, '[2001:db8::]/32'], transport: kernel, note: why}\n"
	"  - allow: ['*', 'tcp://d.example:*']\n"
	"  - {allow: https://m.example/mcp, mcp: {tools: [a, 'b_*']}, hosted_tools: deny}\n"
	"secrets:\n"
	"  T: {env: T, for: [.a.example]}\n"
	"  U: {command: [/bin/x, y], for: [a.example, '*.c.example'], sign: aws-v4, key_id: T}\n";

static volatile uint32_t sum; /* what is read goes somewhere */
static uint8_t *image;
static size_t image_len;

static void load_image(void)
{
	struct policy *p = NULL;
	struct err_list errs;
	struct stat st;

	err_init(&errs, "policy.yaml");
	assert(!policy_load_text(text, sizeof(text) - 1, NULL, &errs, &p));
	assert(!fstat(policy_fd(p), &st));
	image_len = (size_t)st.st_size;
	image = malloc(image_len);
	assert(image && pread(policy_fd(p), image, image_len, 0) == st.st_size);
	policy_free(p);
}

static void ask_secrets(const struct policy *p, const struct host *h)
{
	uint16_t found[4];
	size_t n = policy_secrets_for(p, h, 443, found, 4);

	for (size_t i = 0; i < n; i++) {
		struct policy_secret s;

		assert(policy_secret(p, found[i], &s));
		sum += (uint32_t)strlen(s.name) + (s.key_id ? (uint32_t)strlen(s.key_id) : 0);
		sum += policy_secret_source(p, found[i]);
		for (size_t k = 0; policy_secret_arg(p, found[i], k); k++)
			sum += (uint32_t)strlen(policy_secret_arg(p, found[i], k));
	}
}

static void ask_upstream(const struct policy *p, uint32_t rule)
{
	struct policy_upstream u;

	if (!policy_upstream(p, rule, &u))
		return;
	assert(u.port && u.host.len == strlen(u.host.name));
	sum += (uint32_t)strlen(u.name) + (u.username ? (uint32_t)strlen(u.username) : 0) +
		(u.password ? (uint32_t)strlen(u.password) : 0) +
		(u.ca_path ? (uint32_t)strlen(u.ca_path) : 0);
	for (size_t i = 0; i < u.ca_len; i++)
		sum += (uint8_t)u.ca[i];
}

static void ask(const struct policy *p, const char *name, enum policy_scheme scheme, bool has_url)
{
	struct policy_decision d;
	struct policy_rule_info rule;
	struct host h;
	struct policy_ask a = {.scheme = scheme,
		.host = &h,
		.port = 443,
		.has_url = has_url,
		.method = "GET",
		.method_len = 3,
		.path = "/x/1/y/2",
		.path_len = 8};

	assert(!host_parse(name, strlen(name), &h));
	policy_decide(p, &a, &d);
	if (policy_rule(p, d.rule, &rule))
		assert(strlen(rule.text) < image_len &&
			(!rule.note || strlen(rule.note) < image_len));
	policy_decide_dns(p, &h, &d);
	ask_upstream(p, d.rule);
	ask_secrets(p, &h);
}

static void use(const struct policy *p)
{
	static const char *const names[] = {"a.example", "x.a.example", "b.example",
		"y.x.c.example", "d.example", "e.example", "10.1.2.3", "192.0.2.7",
		"[2001:db8::7]"};
	const struct policy_port *ports;
	const struct policy_range *ranges;
	const uint16_t *host_ports;
	struct endpoint resolvers[4];
	struct policy_limits limits;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ask(p, names[i], POLICY_SCHEME_ANY, false);
		ask(p, names[i], POLICY_SCHEME_HTTPS, true);
	}
	for (size_t n = policy_ports(p, &ports); n--;)
		sum += ports[n].last;
	for (size_t n = policy_kernel_ranges(p, &ranges); n--;)
		sum += ranges[n].rule;
	for (size_t n = policy_host_ports(p, &host_ports); n--;)
		sum += host_ports[n];
	for (size_t i = 0; policy_unix_path(p, i); i++)
		sum += (uint32_t)strlen(policy_unix_path(p, i));
	sum += (uint32_t)strlen(policy_sha256(p)) + (uint32_t)policy_resolvers(p, resolvers, 4);
	policy_limits(p, 0, &limits);
	for (uint32_t i = 0; i < 8; i++)
		sum += policy_mcp_allows(p, i, "b_c", 3) + policy_denies_hosted_tools(p, i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ uint8_t *changed = NULL;
	_cleanup_close_ int fd = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct policy *p = NULL;

	if (!image)
		load_image();
	changed = malloc(image_len);
	assert(fd >= 0 && changed);
	memcpy(changed, image, image_len);
	for (size_t i = 0; i + 4 <= size; i += 4) {
		size_t at = data[i] | (size_t)data[i + 1] << 8 | (size_t)data[i + 2] << 16;

		changed[at % image_len] = data[i + 3];
	}
	assert(write(fd, changed, image_len) == (ssize_t)image_len);
	assert(!fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE));
	if (!policy_map(fd, &p))
		use(p);
	policy_free(p);
	return 0;
}
