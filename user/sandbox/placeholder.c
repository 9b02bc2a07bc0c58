/* SPDX-License-Identifier: GPL-2.0-only */
/* Draws placeholders position by position; see placeholder.h. */
#include "placeholder.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>

#include "../base/cleanup.h"

/* As services document them for scanners. Only what stands here is kept: the first characters of any
 * other value may be secret, whatever they look like. A longer one goes before its beginning. */
static const char *const prefixes[] = {
	/* GitHub, GitLab, Atlassian, Bitbucket */
	"github_pat_",
	"ghp_",
	"gho_",
	"ghu_",
	"ghs_",
	"ghr_",
	"glpat-",
	"gldt-",
	"glcbt-",
	"glptt-",
	"glrt-",
	"ATATT3xFfGF0",
	"ATCTT3xFfGN0",
	"ATBB",
	/* models */
	"sk-ant-api03-",
	"sk-ant-admin01-",
	"sk-ant-oat01-",
	"sk-ant-",
	"sk-proj-",
	"sk-svcacct-",
	"sk-admin-",
	"sk-or-v1-",
	"sk-lf-",
	"sk-",
	"AIzaSy",
	"gsk_",
	"xai-",
	"pplx-",
	"hf_",
	"r8_",
	"tvly-",
	"fw_",
	/* clouds */
	"AKIA",
	"ASIA",
	"AKLT",
	"LTAI",
	"dop_v1_",
	"doo_v1_",
	"hvs.",
	"hvb.",
	"tskey-auth-",
	"tskey-api-",
	"fo1_",
	"pul-",
	"ya29.",
	"GOCSPX-",
	/* packages */
	"npm_",
	"pypi-",
	"rubygems_",
	"dckr_pat_",
	"cio",
	"NRAK-",
	"glsa_",
	"glc_",
	/* payment, messages, work */
	"sk_live_",
	"sk_test_",
	"rk_live_",
	"rk_test_",
	"pk_live_",
	"pk_test_",
	"whsec_",
	"xoxb-",
	"xoxp-",
	"xoxa-",
	"xoxe-",
	"xapp-",
	"SG.",
	"key-",
	"lin_api_",
	"secret_",
	"ntn_",
	"shpat_",
	"shpss_",
	"figd_",
	"PMAK-",
	"sntrys_",
	"dapi",
};

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

size_t placeholder_prefix(const char *value, size_t len_bytes)
{
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t n = strlen(prefixes[i]);

		/* most of it must be left to be secret */
		if (len_bytes >= 2 * n && !memcmp(value, prefixes[i], n))
			return n;
	}
	return 0;
}

/* Random bytes, a few hundred a call. */
struct chance {
	uint8_t bytes[256];
	size_t n_left;
};

static int draw_byte(struct chance *c, uint8_t *ret)
{
	if (!c->n_left) {
		ssize_t n = getrandom(c->bytes, sizeof(c->bytes), 0);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		c->n_left = (size_t)n;
	}
	*ret = c->bytes[--c->n_left];
	return 0;
}

/* Every character of the set is as likely as any other. */
static int draw_of(struct chance *c, const char *set, size_t n, char *ret)
{
	uint8_t byte = 0;
	int r;

	do {
		r = draw_byte(c, &byte);
		if (r < 0)
			return r;
	} while (byte >= 256 / n * n);
	*ret = set[byte % n];
	return 0;
}

/* A shorter one is a word. */
#define MIN_HEX_BYTES 16

/* Which letters does it have? A token in hexadecimal stays one. */
struct kinds {
	bool has_lower, has_upper, has_digit, is_hex;
};

static struct kinds kinds_of(const char *value, size_t len)
{
	struct kinds k = {.is_hex = len >= MIN_HEX_BYTES};

	for (size_t i = 0; i < len; i++) {
		char c = value[i];

		k.has_lower |= c >= 'a' && c <= 'z';
		k.has_upper |= c >= 'A' && c <= 'Z';
		k.has_digit |= c >= '0' && c <= '9';
		k.is_hex &= isxdigit((unsigned char)c) || c == '-';
	}
	return k;
}

static int draw_like(struct chance *chance, const struct kinds *k, char like, char *ret)
{
	size_t n_letters = k->is_hex ? 6 : 26;

	if (like == '_' || like == '-' || like == '.') {
		*ret = like;
		return 0;
	}
	if (like >= '0' && like <= '9')
		return draw_of(chance, DIGITS, 10, ret);
	if (like >= 'A' && like <= 'Z')
		return draw_of(chance, UPPER, n_letters, ret);
	if (like >= 'a' && like <= 'z')
		return draw_of(chance, LOWER, n_letters, ret);
	return draw_of(chance, LOWER UPPER DIGITS, 62, ret);
}

static char kind_letter(const struct kinds *k)
{
	return k->has_lower ? 'a' : k->has_upper ? 'A' : k->has_digit ? '0' : 'a';
}

int placeholder_draw(const char *value, size_t len_bytes, char *ret)
{
	size_t prefix = placeholder_prefix(value, len_bytes), n_random = 0, at = prefix;
	struct kinds kinds = kinds_of(value + prefix, len_bytes - prefix);
	struct chance chance = {.n_left = 0};
	int r = 0;

	memcpy(ret, value, prefix);
	for (; at < len_bytes && r >= 0; at++) {
		r = draw_like(&chance, &kinds, value[at], &ret[at]);
		n_random += isalnum((unsigned char)ret[at]) != 0;
	}
	for (; n_random < PLACEHOLDER_MIN_RANDOM && r >= 0; n_random++)
		r = draw_like(&chance, &kinds, kind_letter(&kinds), &ret[at++]);
	ret[at] = 0;
	explicit_bzero(&chance, sizeof(chance));
	return r < 0 ? r : (int)at;
}
