/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a hook's context to struct nej_dest, IPv4 always in v4-mapped form, and what kind of range
 * the address lies in (include/ranges.h, the same rows as user/base/addr.c). Decides nothing:
 * decide.bpf.h does.
 */
#ifndef NEJ_DEST_BPF_H
#define NEJ_DEST_BPF_H

#include "maps.bpf.h"
#include "../include/ranges.h"

/* A context field is read or written once, at its own width: the compiler may not join
 * neighbouring fields, which the verifier refuses. */
#define CTX(field) (*(volatile __typeof__(field) *)&(field))

#define DEST_MAPPED bpf_htonl(0xffff)
#define DEST_LO4 bpf_htonl(0x7f000001)

/* The address as four words in network order. */
struct dest_words {
	__u32 w[4];
} __attribute__((may_alias));

static __always_inline struct dest_words *dest_words(struct nej_dest *d)
{
	return (struct dest_words *)__builtin_assume_aligned(d->addr, 4);
}

static __always_inline void dest_set(
	struct nej_dest *d, __u32 w0, __u32 w1, __u32 w2, __u32 w3, __u32 port_be)
{
	struct dest_words *words = dest_words(d);

	words->w[0] = w0;
	words->w[1] = w1;
	words->w[2] = w2;
	words->w[3] = w3;
	d->port_be = port_be;
}

static __always_inline bool dest_is_v4(struct nej_dest *d)
{
	struct dest_words *words = dest_words(d);

	return !words->w[0] && !words->w[1] && words->w[2] == DEST_MAPPED;
}

/* What a call of the sandbox named: connect4/6, sendmsg4/6, bind4/6. */
static __always_inline void dest_from_call(
	struct bpf_sock_addr *ctx, bool is_v6, struct nej_dest *ret)
{
	if (is_v6)
		dest_set(ret, CTX(ctx->user_ip6[0]), CTX(ctx->user_ip6[1]), CTX(ctx->user_ip6[2]),
			CTX(ctx->user_ip6[3]), CTX(ctx->user_port));
	else
		dest_set(ret, 0, 0, DEST_MAPPED, CTX(ctx->user_ip4), CTX(ctx->user_port));
	ret->proto = CTX(ctx->protocol);
	ret->family = CTX(ctx->family);
}

/* Writes an address back into the context: v4-mapped where the hook is a v6 one. */
static __always_inline void dest_to_call(struct bpf_sock_addr *ctx, bool is_v6, struct nej_dest *d)
{
	struct dest_words *words = dest_words(d);

	/* The compiler may not keep the address of a field from an earlier read: the verifier allows
	 * no arithmetic on the context. */
	barrier_var(ctx);
	if (is_v6) {
		CTX(ctx->user_ip6[0]) = words->w[0];
		CTX(ctx->user_ip6[1]) = words->w[1];
		CTX(ctx->user_ip6[2]) = words->w[2];
		CTX(ctx->user_ip6[3]) = words->w[3];
	} else {
		CTX(ctx->user_ip4) = words->w[3];
	}
	CTX(ctx->user_port) = d->port_be;
}

/* --- ranges */

#define RANGE_MASK(bits, word)                                                                     \
	((bits) >= 32 * ((word) + 1)                                                               \
			? 0xffffffffu                                                              \
			: ((bits) <= 32 * (word) ? 0u                                              \
						 : ~(0xffffffffu >> (((bits)-32 * (word)) & 31))))
#define RANGE_MISS(bits, word, value)                                                              \
	((w[word] ^ bpf_htonl(value)) & bpf_htonl(RANGE_MASK(bits, word)))
#define RANGE_ROW(id, bits, a, b, c, d, text)                                                      \
	if (!(RANGE_MISS(bits, 0, a) | RANGE_MISS(bits, 1, b) | RANGE_MISS(bits, 2, c) |           \
		    RANGE_MISS(bits, 3, d)))                                                       \
		return NEJ_RANGE_##id;

static __always_inline __u8 dest_range(const __u32 w[4])
{
#define X(id, bits, ...) RANGE_ROW(id, bits, __VA_ARGS__)
	NEJ_RANGES(X)
#undef X
	return NEJ_RANGE_PRIVATE;
}

static __always_inline __u8 dest_range_v4(__u32 addr_be)
{
	const __u32 w[4] = {0, 0, DEST_MAPPED, addr_be};

	return dest_range(w);
}

/* The IPv4 address inside an address of an EMBEDS range (RFC 3056, 4380, 6052). */
static __always_inline __u32 dest_embedded(const __u32 w[4])
{
	if ((w[0] & bpf_htonl(0xffff0000)) == bpf_htonl(0x20020000))
		return bpf_htonl(bpf_ntohl(w[0]) << 16 | bpf_ntohl(w[1]) >> 16);
	if (w[0] == bpf_htonl(0x20010000))
		return ~w[3];
	return w[3];
}

/* What the kernel itself takes for loopback: 127/8, 0.0.0.0, ::1, ::. */
static __always_inline bool dest_is_loopback(struct nej_dest *d)
{
	struct dest_words *words = dest_words(d);

	if (words->w[0] | words->w[1])
		return false;
	if (words->w[2] == DEST_MAPPED)
		return !words->w[3] ||
			(words->w[3] & bpf_htonl(0xff000000)) == bpf_htonl(0x7f000000);
	return !words->w[2] && !(words->w[3] & ~bpf_htonl(1));
}

/* Is it where the proxy and the stub listen: 127.0.0.1 or ::1, also as 0.0.0.0 and ::? */
static __always_inline bool dest_is_lo(struct nej_dest *d)
{
	return dest_is_loopback(d) &&
		(!dest_is_v4(d) || !dest_words(d)->w[3] || dest_words(d)->w[3] == DEST_LO4);
}

/* The two further addresses that link_set_up_lo gives a namespace of its own. */
static __always_inline bool dest_is_own(struct nej_dest *d)
{
	struct dest_words *words = dest_words(d);

	if (dest_is_v4(d))
		return words->w[3] == bpf_htonl(NEJ_OWN_ADDR4);
	return words->w[0] == bpf_htonl(NEJ_OWN_ADDR6_HEAD) && !words->w[1] && !words->w[2] &&
		words->w[3] == bpf_htonl(NEJ_OWN_ADDR6_TAIL);
}

/* --- everything a decision asks about an address, as one number */

#define DEST_RANGE 0xff        /* enum nej_range, never EMBEDS */
#define DEST_IS_V4 0x100       /* v4-mapped */
#define DEST_IS_EMBEDDED 0x200 /* the range is that of an IPv4 address inside an IPv6 one */
#define DEST_IS_LOOPBACK 0x400
#define DEST_IS_LO 0x800
#define DEST_IS_OWN 0x1000

/*
 * A global function: the verifier walks it by itself and takes its result for any number, so that
 * the rows do not multiply the states of the caller (connect6 took 18 ms to load without). Scalars
 * only: pointers would need kernel BTF.
 */
__weak __u32 dest_facts(__u32 w0, __u32 w1, __u32 w2, __u32 w3)
{
	struct nej_dest d = {};
	const __u32 w[4] = {w0, w1, w2, w3};
	__u32 facts;

	dest_set(&d, w0, w1, w2, w3, 0);
	if (dest_is_v4(&d)) {
		facts = dest_range_v4(w3) | DEST_IS_V4;
	} else {
		facts = dest_range(w);
		if (facts == NEJ_RANGE_EMBEDS)
			facts = dest_range_v4(dest_embedded(w)) | DEST_IS_EMBEDDED;
	}
	if (dest_is_loopback(&d))
		facts |= DEST_IS_LOOPBACK;
	if (dest_is_lo(&d))
		facts |= DEST_IS_LO;
	if (dest_is_own(&d))
		facts |= DEST_IS_OWN;
	return facts;
}

#endif
