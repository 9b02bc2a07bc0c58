/* SPDX-License-Identifier: GPL-2.0-only */
/* Images from another process: sealed and whole, or not taken. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policies.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static const char policy_text[] = "private: [10.0.0.0/8]\n"
				  "rules:\n"
				  "  - allow: GET https://a.example/x/**\n"
				  "  - deny: .b.example\n"
				  "  - {allow: 10.1.0.0/16, transport: kernel, note: why}\n"
				  "  - allow: '*'\n"
				  "  - {allow: m.example, mcp: {tools: [a, 'b_*']}}\n";

static int memfd_of(const void *data, size_t len, int seals)
{
	int fd = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static char *bytes_of(const struct policy *p, size_t *ret_len)
{
	struct stat st;
	char *data;

	assert_int_equal(fstat(policy_fd(p), &st), 0);
	*ret_len = (size_t)st.st_size;
	data = malloc(*ret_len);
	assert_non_null(data);
	assert_int_equal(pread(policy_fd(p), data, *ret_len, 0), st.st_size);
	return data;
}

static void mapped_policy_decides_the_same(void **state)
{
	struct policy *p = policy_of(policy_text), *q = NULL;

	(void)state;
	assert_int_equal(policy_map(policy_fd(p), &q), 0);
	policy_free(p);
	assert_int_equal(
		ask_connection(q, POLICY_SCHEME_HTTPS, "a.example", 443).verdict, POLICY_NEED_URL);
	assert_int_equal(ask_connection(q, POLICY_SCHEME_HTTPS, "x.b.example", 443).rule, 1);
	assert_int_equal(ask_connection(q, POLICY_SCHEME_HTTPS, "c.example", 443).rule, 3);
	policy_free(q);
}

static void image_cannot_be_written(void **state)
{
	struct policy *p = policy_of(policy_text);

	(void)state;
	assert_int_equal(pwrite(policy_fd(p), "x", 1, 0), -1);
	assert_int_equal(ftruncate(policy_fd(p), 0), -1);
	assert_int_equal(fcntl(policy_fd(p), F_GET_SEALS) & SEALS, SEALS);
	policy_free(p);
}

static void unsealed_or_cut_images_are_refused(void **state)
{
	struct policy *p = policy_of(policy_text), *q = NULL;
	size_t len;
	char *data = bytes_of(p, &len);
	int fd;

	(void)state;
	fd = memfd_of(data, len, F_SEAL_SHRINK | F_SEAL_GROW);
	assert_int_equal(policy_map(fd, &q), -EINVAL);
	close(fd);
	for (size_t cut = 0; cut < len; cut += 1 + cut / 8) {
		fd = memfd_of(data, cut, SEALS);
		assert_int_equal(policy_map(fd, &q), -EINVAL);
		close(fd);
	}
	fd = memfd_of(data, len, SEALS);
	assert_int_equal(policy_map(fd, &q), 0);
	policy_free(q);
	close(fd);
	free(data);
	policy_free(p);
}

static void use(const struct policy *p)
{
	const struct policy_port *ports;
	const struct policy_range *ranges;
	struct policy_rule_info rule;

	ask_connection(p, POLICY_SCHEME_ANY, "a.example", 443);
	ask_url(p, POLICY_SCHEME_HTTPS, "a.example", 443, "GET", "/x/y");
	ask_connection(p, POLICY_SCHEME_ANY, "10.1.2.3", 443);
	ask_dns(p, "x.b.example");
	policy_ports(p, &ports);
	policy_kernel_ranges(p, &ranges);
	for (uint32_t i = 0; policy_rule(p, i, &rule); i++)
		assert_true(strlen(rule.text) < 4096);
	for (uint32_t i = 0; i < 8; i++)
		policy_mcp_allows(p, i, "b_c", 3);
}

/* Every byte of a small image, changed: refused, or read within its bounds (the sanitizers see). */
static void changed_bytes_never_lead_outside(void **state)
{
	struct policy *p = policy_of(policy_text), *q;
	size_t len;
	char *data = bytes_of(p, &len);

	(void)state;
	for (size_t i = 0; i < len; i++) {
		static const char flips[] = {1, (char)0x80, (char)0xff};

		for (size_t k = 0; k < sizeof(flips); k++) {
			int fd;

			data[i] ^= flips[k];
			fd = memfd_of(data, len, SEALS);
			q = NULL;
			if (!policy_map(fd, &q))
				use(q);
			policy_free(q);
			close(fd);
			data[i] ^= flips[k];
		}
	}
	free(data);
	policy_free(p);
}

static void other_descriptors_are_refused(void **state)
{
	struct policy *q = NULL;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(policy_map(fd, &q) < 0);
	assert_true(policy_map(-1, &q) < 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mapped_policy_decides_the_same),
		cmocka_unit_test(image_cannot_be_written),
		cmocka_unit_test(unsealed_or_cut_images_are_refused),
		cmocka_unit_test(changed_bytes_never_lead_outside),
		cmocka_unit_test(other_descriptors_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
