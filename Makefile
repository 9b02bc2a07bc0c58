# SPDX-License-Identifier: GPL-2.0-only
# Builds nej: BPF object -> skeleton -> one binary. `make help` lists the targets.

PREFIX ?= /usr/local
DESTDIR ?=
CC ?= gcc
CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
VERSION := $(shell cat VERSION)
B := build

LLHTTP_SRC := $(wildcard /usr/share/llhttp)
PKGS := libbpf libcares libcrypto libnl-3.0 libnl-route-3.0 libfyaml jansson libpsl libidn2 \
	libcap-ng libseccomp
ifeq ($(LLHTTP_SRC),)
PKGS += libllhttp
LLHTTP_CFLAGS :=
LLHTTP_NAMES :=
else
LLHTTP_CFLAGS := -I/usr/share/include/llhttp
LLHTTP_NAMES := api http llhttp
endif

WARN := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wvla -Wformat=2 -Werror
HARDEN := -fstack-protector-strong -fstack-clash-protection -fcf-protection -D_FORTIFY_SOURCE=2 \
	-fPIE
CFLAGS ?= -O2 -g
COMMON := -std=gnu17 -D_GNU_SOURCE -DNEJ_VERSION='"$(VERSION)"' $(WARN) -pthread \
	$(LLHTTP_CFLAGS) $(shell pkg-config --cflags $(PKGS) 2>/dev/null) -I$(B)/bpf
LDLIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -pthread
LDFLAGS_ALL := -pie -Wl,-z,relro,-z,now -Wl,--as-needed $(LDFLAGS)

USER_SRC := $(sort $(wildcard user/*/*.c))
MAIN_SRC := user/main.c
BPF_SRC := $(sort $(wildcard bpf/*.bpf.c))
BPF_HDR := $(wildcard bpf/*.h include/*.h vmlinux/*.h)
SKEL := $(B)/bpf/nej.skel.h

USER_OBJ := $(USER_SRC:%.c=$(B)/obj/%.o)
MAIN_OBJ := $(MAIN_SRC:%.c=$(B)/obj/%.o)
LLHTTP_OBJ := $(LLHTTP_NAMES:%=$(B)/obj/llhttp/%.o)

# The same sources once more with sanitizers, for the unit ring.
SAN := -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=all
ASAN_OBJ := $(USER_SRC:%.c=$(B)/asan/%.o) $(LLHTTP_NAMES:%=$(B)/asan/llhttp/%.o)
UNIT_SRC := $(sort $(wildcard tests/unit/*/test_*.c))
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(B)/unit/%)
# libFuzzer targets, one a parser.
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BIN := $(FUZZ_SRC:tests/fuzz/%.c=$(B)/fuzz/%)
FUZZ_SAN := -fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer
FUZZ_OBJ := $(USER_SRC:%.c=$(B)/fuzzobj/%.o) $(LLHTTP_NAMES:%=$(B)/fuzzobj/llhttp/%.o)

.PHONY: all
all: $(B)/nej

$(B)/nej: $(MAIN_OBJ) $(USER_OBJ) $(LLHTTP_OBJ)
	$(CC) $(CFLAGS) $(LDFLAGS_ALL) -o $@ $^ $(LDLIBS)

# --- BPF: one object a hook, joined into one skeleton
$(B)/bpf/%.bpf.o: bpf/%.bpf.c $(BPF_HDR)
	@mkdir -p $(@D)
	$(CLANG) -target bpf -g -O2 -mcpu=v3 -std=gnu17 -Wall -Wextra -Werror -Wno-unused-function \
		-I/usr/include/$(shell gcc -print-multiarch) -c -o $@ $<

$(B)/bpf/nej.bpf.o: $(BPF_SRC:bpf/%.bpf.c=$(B)/bpf/%.bpf.o)
	$(BPFTOOL) gen object $@ $^

$(SKEL): $(B)/bpf/nej.bpf.o
	$(BPFTOOL) gen skeleton $< name nej_bpf > $@.tmp && mv $@.tmp $@

$(B)/obj/%.o: %.c | $(SKEL)
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(HARDEN) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/asan/%.o: %.c | $(SKEL)
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(SAN) -O1 -g -MMD -MP -c -o $@ $<

$(B)/fuzzobj/%.o: %.c | $(SKEL)
	@mkdir -p $(@D)
	$(CLANG) $(COMMON) -Wno-unknown-warning-option $(FUZZ_SAN) -O1 -g -MMD -MP -c -o $@ $<

$(B)/obj/llhttp/%.o: $(LLHTTP_SRC)/%.c
	@mkdir -p $(@D)
	$(CC) -O2 -fPIE $(LLHTTP_CFLAGS) -c -o $@ $<

$(B)/asan/llhttp/%.o: $(LLHTTP_SRC)/%.c
	@mkdir -p $(@D)
	$(CC) -O1 -g $(SAN) $(LLHTTP_CFLAGS) -c -o $@ $<

$(B)/fuzzobj/llhttp/%.o: $(LLHTTP_SRC)/%.c
	@mkdir -p $(@D)
	$(CLANG) -O1 -g $(FUZZ_SAN) $(LLHTTP_CFLAGS) -c -o $@ $<

# --- tests
$(B)/asan/libnej.a: $(ASAN_OBJ)
	rm -f $@ && ar rcs $@ $^

$(B)/unit/%: tests/unit/%.c $(B)/asan/libnej.a
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(SAN) -O1 -g -MMD -MP -o $@ $< $(B)/asan/libnej.a $(LDLIBS) -lcmocka

$(B)/fuzzobj/libnej.a: $(FUZZ_OBJ)
	rm -f $@ && ar rcs $@ $^

$(B)/fuzz/%: tests/fuzz/%.c $(B)/fuzzobj/libnej.a
	@mkdir -p $(@D)
	$(CLANG) $(COMMON) -Wno-unknown-warning-option $(FUZZ_SAN) -fsanitize=fuzzer -O1 -g -o $@ $< \
		$(B)/fuzzobj/libnej.a $(LDLIBS)

.PHONY: unit-bins fuzz-bins
unit-bins: $(UNIT_BIN)
fuzz-bins: $(FUZZ_BIN)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
