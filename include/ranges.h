/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The special address ranges, once for both sides. Source: the IANA special-purpose address
 * registries (RFC 6890 and its updates). An IPv4 address is compared in v4-mapped form, so every
 * row has a 16 byte prefix. First match wins: narrower rows stand first.
 */
#ifndef NEJ_RANGES_H
#define NEJ_RANGES_H

enum nej_range {
	NEJ_RANGE_GLOBAL,     /* reachable by name */
	NEJ_RANGE_LOOPBACK,   /* loopback and unspecified: the sandbox's own, else refused */
	NEJ_RANGE_LINK_LOCAL, /* cloud metadata included: always refused */
	NEJ_RANGE_MULTICAST,  /* and broadcast: always refused */
	NEJ_RANGE_PRIVATE,    /* `private:` decides */
	NEJ_RANGE_EMBEDS,     /* IPv6 that carries an IPv4 address: decided as that address */
};

/* X(range, prefix length in bits of the 16 byte form, address words in hex, notation) */
#define NEJ_V4(a, b, c, d) 0, 0, 0x0000ffff, ((a##u) << 24 | (b) << 16 | (c) << 8 | (d))
#define NEJ_RANGES(X)                                                                              \
	X(LOOPBACK, 96 + 8, NEJ_V4(127, 0, 0, 0), "127.0.0.0/8")                                   \
	X(LOOPBACK, 96 + 8, NEJ_V4(0, 0, 0, 0), "0.0.0.0/8")                                       \
	X(LINK_LOCAL, 96 + 16, NEJ_V4(169, 254, 0, 0), "169.254.0.0/16")                           \
	X(LINK_LOCAL, 96 + 32, NEJ_V4(168, 63, 129, 16), "168.63.129.16/32")                       \
	X(LINK_LOCAL, 96 + 32, NEJ_V4(100, 100, 100, 200), "100.100.100.200/32")                   \
	X(PRIVATE, 96 + 8, NEJ_V4(10, 0, 0, 0), "10.0.0.0/8")                                      \
	X(PRIVATE, 96 + 10, NEJ_V4(100, 64, 0, 0), "100.64.0.0/10")                                \
	X(PRIVATE, 96 + 12, NEJ_V4(172, 16, 0, 0), "172.16.0.0/12")                                \
	X(PRIVATE, 96 + 16, NEJ_V4(192, 168, 0, 0), "192.168.0.0/16")                              \
	X(PRIVATE, 96 + 24, NEJ_V4(192, 0, 0, 0), "192.0.0.0/24")                                  \
	X(PRIVATE, 96 + 24, NEJ_V4(192, 0, 2, 0), "192.0.2.0/24")                                  \
	X(PRIVATE, 96 + 24, NEJ_V4(192, 88, 99, 0), "192.88.99.0/24")                              \
	X(PRIVATE, 96 + 15, NEJ_V4(198, 18, 0, 0), "198.18.0.0/15")                                \
	X(PRIVATE, 96 + 24, NEJ_V4(198, 51, 100, 0), "198.51.100.0/24")                            \
	X(PRIVATE, 96 + 24, NEJ_V4(203, 0, 113, 0), "203.0.113.0/24")                              \
	X(MULTICAST, 96 + 4, NEJ_V4(224, 0, 0, 0), "224.0.0.0/4")                                  \
	X(MULTICAST, 96 + 32, NEJ_V4(255, 255, 255, 255), "255.255.255.255/32")                    \
	X(PRIVATE, 96 + 4, NEJ_V4(240, 0, 0, 0), "240.0.0.0/4")                                    \
	X(GLOBAL, 96, 0, 0, 0x0000ffff, 0, "0.0.0.0/0")                                            \
	X(LOOPBACK, 128, 0, 0, 0, 1, "::1/128")                                                    \
	X(LOOPBACK, 128, 0, 0, 0, 0, "::/128")                                                     \
	X(EMBEDS, 96, 0, 0, 0, 0, "::/96")                                                         \
	X(EMBEDS, 96, 0, 0, 0xffff0000, 0, "::ffff:0:0:0/96")                                      \
	X(EMBEDS, 96, 0x0064ff9b, 0, 0, 0, "64:ff9b::/96")                                         \
	X(PRIVATE, 48, 0x0064ff9b, 0x00010000, 0, 0, "64:ff9b:1::/48")                             \
	X(EMBEDS, 16, 0x20020000, 0, 0, 0, "2002::/16")                                            \
	X(EMBEDS, 32, 0x20010000, 0, 0, 0, "2001::/32")                                            \
	X(PRIVATE, 23, 0x20010000, 0, 0, 0, "2001::/23")                                           \
	X(PRIVATE, 32, 0x20010db8, 0, 0, 0, "2001:db8::/32")                                       \
	X(PRIVATE, 20, 0x3fff0000, 0, 0, 0, "3fff::/20")                                           \
	X(PRIVATE, 16, 0x5f000000, 0, 0, 0, "5f00::/16")                                           \
	X(PRIVATE, 64, 0x01000000, 0, 0, 0, "100::/64")                                            \
	X(LINK_LOCAL, 128, 0xfd000ec2, 0, 0, 0x00000254, "fd00:ec2::254/128")                      \
	X(PRIVATE, 7, 0xfc000000, 0, 0, 0, "fc00::/7")                                             \
	X(LINK_LOCAL, 10, 0xfe800000, 0, 0, 0, "fe80::/10")                                        \
	X(PRIVATE, 10, 0xfec00000, 0, 0, 0, "fec0::/10")                                           \
	X(MULTICAST, 8, 0xff000000, 0, 0, 0, "ff00::/8")                                           \
	X(GLOBAL, 3, 0x20000000, 0, 0, 0, "2000::/3")                                              \
	X(PRIVATE, 0, 0, 0, 0, 0, "::/0")

/* What synthetic addresses are drawn from (RFC 2544 benchmarking range; a ULA /64 a sandbox). */
#define NEJ_SYNTH4_NET 0xc6120000u
#define NEJ_SYNTH4_BITS 15
#define NEJ_SYNTH6_BITS 64

#endif
