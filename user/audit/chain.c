/* SPDX-License-Identifier: GPL-2.0-only */
/* SHA-256 links and Ed25519 signatures of the audit log; chain.h tells how they hold together. */
#include "chain.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../base/cleanup.h"
#include "../base/file.h"
#include "../base/num.h"

#define MAX_PEM_BYTES 16384
#define SIGNATURE_RAW_BYTES 64
#define HASH_RAW_BYTES 32
#define PREV ",\"prev\":\""
#define HASH "\",\"hash\":\""
#define END "\"}"
#define TAIL_BYTES (sizeof(PREV) - 1 + 64 + sizeof(HASH) - 1 + 64 + sizeof(END) - 1)

DEFINE_CLEANUP(EVP_PKEY, EVP_PKEY_free);
DEFINE_CLEANUP(EVP_MD_CTX, EVP_MD_CTX_free);

struct chain_key {
	EVP_PKEY *pkey;
	char id[CHAIN_KEY_ID_BYTES];
};

DEFINE_CLEANUP(struct chain_key, chain_key_free);

static void bio_free_ptr(BIO **bio)
{
	BIO_free_all(*bio);
}

static void hex_print(const unsigned char *raw, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[raw[i] >> 4];
		out[2 * i + 1] = digits[raw[i] & 15];
	}
	out[2 * n] = 0;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Without a branch in the loop: every line of a log comes by here. */
static bool is_hex(const char *s, size_t n)
{
	unsigned char bad = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		bad |= (unsigned char)((unsigned char)(c - '0') > 9) &
			(unsigned char)((unsigned char)(c - 'a') > 5);
	}
	return !bad;
}

static bool hex_parse(const char *hex, size_t n, unsigned char *raw)
{
	if (strnlen(hex, 2 * n + 1) != 2 * n || !is_hex(hex, 2 * n))
		return false;
	for (size_t i = 0; i < n; i++)
		raw[i] = (unsigned char)(hex_value(hex[2 * i]) << 4 | hex_value(hex[2 * i + 1]));
	return true;
}

int chain_init(struct chain *c)
{
	/* Digests and signatures need nothing of the machine's configuration of OpenSSL. */
	OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	memset(c, 0, sizeof(*c));
	memset(c->hash, '0', sizeof(c->hash) - 1);
	/* Fetched once: looking the digest up costs as much as hashing a record. */
	c->md = EVP_MD_fetch(NULL, "SHA256", NULL);
	c->ctx = EVP_MD_CTX_new();
	if (c->md && c->ctx)
		return 0;
	chain_done(c);
	return -ENOMEM;
}

void chain_done(struct chain *c)
{
	EVP_MD_CTX_free(c->ctx);
	EVP_MD_free(c->md);
	c->ctx = NULL;
	c->md = NULL;
}

void chain_set(struct chain *c, uint64_t seq, const char *hash)
{
	c->seq = seq;
	memcpy(c->hash, hash, sizeof(c->hash) - 1);
}

/* Of the bytes and one closing brace. */
static int digest(struct chain *c, const char *data, size_t len_bytes, char ret[CHAIN_HEX_BYTES])
{
	unsigned char raw[EVP_MAX_MD_SIZE];

	if (EVP_DigestInit_ex2(c->ctx, c->md, NULL) != 1 ||
		EVP_DigestUpdate(c->ctx, data, len_bytes) != 1 ||
		EVP_DigestUpdate(c->ctx, "}", 1) != 1 || EVP_DigestFinal_ex(c->ctx, raw, NULL) != 1)
		return -EIO;
	hex_print(raw, HASH_RAW_BYTES, ret);
	return 0;
}

int chain_seal(struct chain *c, struct buf *b, size_t start)
{
	char hash[CHAIN_HEX_BYTES];

	if (buf_reserve(b, TAIL_BYTES + 1) < 0)
		return -ENOMEM;
	buf_add(b, PREV, sizeof(PREV) - 1);
	buf_add(b, c->hash, 64);
	buf_add(b, "\"", 1);
	if (digest(c, b->data + start, b->len - start, hash) < 0)
		return -EIO;
	b->len--;
	buf_add(b, HASH, sizeof(HASH) - 1);
	buf_add(b, hash, 64);
	buf_add(b, END "\n", sizeof(END));
	c->seq++;
	memcpy(c->hash, hash, sizeof(hash));
	return 0;
}

bool chain_read(const char *line, size_t len_bytes, struct chain_link *ret)
{
	static const char begin[] = "{\"seq\":";
	size_t digits = sizeof(begin) - 1;
	const char *tail;
	struct chain_link link;

	if (len_bytes < digits + 2 + TAIL_BYTES || memcmp(line, begin, digits) != 0)
		return false;
	tail = line + len_bytes - TAIL_BYTES;
	while (line[digits] >= '0' && line[digits] <= '9')
		digits++;
	if (line[digits] != ',' ||
		num_parse_u64(line + sizeof(begin) - 1, digits - sizeof(begin) + 1, UINT64_MAX - 1,
			&link.seq))
		return false;
	link.prev = tail + sizeof(PREV) - 1;
	link.hash = link.prev + 64 + sizeof(HASH) - 1;
	if (memcmp(tail, PREV, sizeof(PREV) - 1) != 0 || !is_hex(link.prev, 64) ||
		memcmp(link.prev + 64, HASH, sizeof(HASH) - 1) != 0 || !is_hex(link.hash, 64) ||
		memcmp(link.hash + 64, END, sizeof(END) - 1) != 0)
		return false;
	link.hashed_bytes = (size_t)(link.prev + 65 - line);
	*ret = link;
	return true;
}

int chain_digest(
	struct chain *c, const char *line, const struct chain_link *link, char ret[CHAIN_HEX_BYTES])
{
	return digest(c, line, link->hashed_bytes, ret);
}

void chain_key_free(struct chain_key *key)
{
	if (!key)
		return;
	EVP_PKEY_free(key->pkey);
	free(key);
}

const char *chain_key_id(const struct chain_key *key)
{
	return key->id;
}

/* Takes pkey. */
static int wrap_key(EVP_PKEY *pkey, struct chain_key **ret)
{
	_cleanup_(chain_key_free_ptr)
	struct chain_key *key = calloc(1, sizeof(*key));
	unsigned char raw[HASH_RAW_BYTES], hash[EVP_MAX_MD_SIZE];
	size_t len = sizeof(raw);

	ERR_clear_error();
	if (!key) {
		EVP_PKEY_free(pkey);
		return -ENOMEM;
	}
	key->pkey = pkey;
	if (!pkey || !EVP_PKEY_is_a(pkey, "ED25519") ||
		EVP_PKEY_get_raw_public_key(pkey, raw, &len) != 1)
		return -EBADMSG;
	if (!EVP_Digest(raw, len, hash, NULL, EVP_sha256(), NULL))
		return -EIO;
	hex_print(hash, (CHAIN_KEY_ID_BYTES - 1) / 2, key->id);
	*ret = TAKE_PTR(key);
	return 0;
}

static int read_pem(const char *path, bool is_private, struct chain_key **ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	_cleanup_(bio_free_ptr)
	BIO *bio = NULL;
	_cleanup_free_ char *pem = NULL;
	EVP_PKEY *pkey;
	struct stat st;
	size_t len;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (is_private && (st.st_mode & 077 || (st.st_uid != 0 && st.st_uid != geteuid())))
		return -EPERM;
	r = file_read_fd(fd, MAX_PEM_BYTES, &pem, &len);
	if (r < 0)
		return r;
	bio = BIO_new_mem_buf(pem, (int)len);
	if (!bio)
		return -ENOMEM;
	pkey = is_private ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL)
			  : PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL);
	explicit_bzero(pem, len);
	return wrap_key(pkey, ret);
}

/* A whole file with these bytes appears at path, or the one that is there stays. */
static int write_new(const char *path, const void *data, size_t len_bytes, mode_t mode)
{
	char temp[PATH_MAX];
	_cleanup_close_ int fd = -1;
	int r;

	if (snprintf(temp, sizeof(temp), "%s.XXXXXX", path) >= (int)sizeof(temp))
		return -ENAMETOOLONG;
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = file_write_fd(fd, data, len_bytes);
	if (r == 0 && (fchmod(fd, mode) < 0 || fsync(fd) < 0))
		r = -errno;
	if (r == 0 && link(temp, path) < 0 && errno != EEXIST)
		r = -errno;
	unlink(temp);
	return r;
}

static int write_pem(const char *path, EVP_PKEY *pkey, bool is_private)
{
	_cleanup_(bio_free_ptr)
	BIO *bio = BIO_new(BIO_s_secmem());
	char *pem;
	long len;

	if (!bio)
		return -ENOMEM;
	if ((is_private ? PEM_write_bio_PrivateKey(bio, pkey, NULL, NULL, 0, NULL, NULL)
			: PEM_write_bio_PUBKEY(bio, pkey)) != 1)
		return -EIO;
	len = BIO_get_mem_data(bio, &pem);
	return write_new(path, pem, (size_t)len, is_private ? 0600 : 0644);
}

static int make_key(const char *path)
{
	_cleanup_(EVP_PKEY_free_ptr)
	EVP_PKEY *pkey = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	char dir[PATH_MAX];
	char *slash;

	if (!pkey || snprintf(dir, sizeof(dir), "%s", path) >= (int)sizeof(dir))
		return -EIO;
	slash = strrchr(dir, '/');
	if (slash && slash != dir) {
		int r;

		*slash = 0;
		r = file_mkdirs(dir, 0755);
		if (r < 0)
			return r;
	}
	return write_pem(path, pkey, true);
}

/* Writes the public half beside the key, unless the right one is there. */
static int show_public(const char *path, const struct chain_key *key)
{
	_cleanup_(chain_key_free_ptr)
	struct chain_key *shown = NULL;
	size_t len = strlen(path);
	char pub[PATH_MAX];

	if (len > 4 && strcmp(path + len - 4, ".key") == 0)
		len -= 4;
	if (snprintf(pub, sizeof(pub), "%.*s.pub", (int)len, path) >= (int)sizeof(pub))
		return -ENAMETOOLONG;
	if (chain_key_load_public(pub, &shown) == 0) {
		if (strcmp(shown->id, key->id) == 0)
			return 0;
		unlink(pub);
	}
	return write_pem(pub, key->pkey, false);
}

int chain_key_load(const char *path, struct chain_key **ret)
{
	_cleanup_(chain_key_free_ptr)
	struct chain_key *key = NULL;
	int r = read_pem(path, true, &key);

	if (r == -ENOENT) {
		r = make_key(path);
		if (r == 0)
			r = read_pem(path, true, &key);
	}
	if (r == 0)
		r = show_public(path, key);
	if (r == 0)
		*ret = TAKE_PTR(key);
	return r;
}

int chain_key_load_public(const char *path, struct chain_key **ret)
{
	OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	return read_pem(path, false, ret);
}

int chain_sign(const struct chain_key *key, const void *data, size_t len_bytes,
	char ret_hex[CHAIN_SIGNATURE_BYTES])
{
	_cleanup_(EVP_MD_CTX_free_ptr)
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char raw[SIGNATURE_RAW_BYTES];
	size_t len = sizeof(raw);

	if (!ctx)
		return -ENOMEM;
	if (EVP_DigestSignInit(ctx, NULL, NULL, NULL, key->pkey) != 1 ||
		EVP_DigestSign(ctx, raw, &len, data, len_bytes) != 1 || len != sizeof(raw)) {
		ERR_clear_error();
		return -EIO;
	}
	hex_print(raw, len, ret_hex);
	return 0;
}

bool chain_is_signed(
	const struct chain_key *key, const void *data, size_t len_bytes, const char *hex)
{
	_cleanup_(EVP_MD_CTX_free_ptr)
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char raw[SIGNATURE_RAW_BYTES];
	bool is_good;

	if (!ctx || !hex_parse(hex, sizeof(raw), raw))
		return false;
	is_good = EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key->pkey) == 1 &&
		EVP_DigestVerify(ctx, raw, sizeof(raw), data, len_bytes) == 1;
	ERR_clear_error();
	return is_good;
}
