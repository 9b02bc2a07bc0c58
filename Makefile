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
PKGS := libbpf libcares libssl libcrypto libnl-3.0 libnl-route-3.0 libfyaml jansson libpsl libidn2 \
	libcap-ng libseccomp libnghttp2 zlib
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
ifneq ($(filter-out help clean uninstall,$(or $(MAKECMDGOALS),all)),)
ifneq ($(shell pkg-config --exists $(PKGS) && echo yes),yes)
$(error a library is missing ($(shell pkg-config --print-errors --exists $(PKGS) 2>&1 | \
	sed -n "s/^Package '*\([^',]*\)'*, required.*/\1/p;s/^No package '\(.*\)' found/\1/p")): run tools/setup)
endif
endif
LDFLAGS_ALL := -pie -Wl,-z,relro,-z,now -Wl,--as-needed $(LDFLAGS)

USER_SRC := $(sort $(wildcard user/*/*.c))
MAIN_SRC := user/main.c
BPF_SRC := $(filter-out bpf/unix.bpf.c,$(sort $(wildcard bpf/*.bpf.c)))
BPF_HDR := $(wildcard bpf/*.h include/*.h vmlinux/*.h)
SKEL := $(B)/bpf/nej.skel.h $(B)/bpf/nej_unix.skel.h
BPF_CFLAGS := -target bpf -g -O2 -mcpu=v3 -std=gnu17 -Wall -Wextra -Werror -Wno-unused-function \
	-I/usr/include/$(shell gcc -print-multiarch)

USER_OBJ := $(USER_SRC:%.c=$(B)/obj/%.o)
MAIN_OBJ := $(MAIN_SRC:%.c=$(B)/obj/%.o)
LLHTTP_OBJ := $(LLHTTP_NAMES:%=$(B)/obj/llhttp/%.o)

# The same sources once more with sanitizers, for the unit ring. Instrumented code confuses the
# warning about cut texts.
SAN := -Wno-format-truncation -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=all
ASAN_OBJ := $(USER_SRC:%.c=$(B)/asan/%.o) $(LLHTTP_NAMES:%=$(B)/asan/llhttp/%.o)
UNIT_SRC := $(sort $(wildcard tests/unit/*/test_*.c))
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(B)/unit/%)
BPF_TEST_BIN := $(patsubst tests/bpf/%.c,$(B)/bpf-test/%,$(sort $(wildcard tests/bpf/test_*.c)))
BPF_TEST_SKEL := $(patsubst tests/bpf/%.bpf.c,$(B)/bpf-test/%.skel.h,$(wildcard tests/bpf/*.bpf.c))
# libFuzzer targets, one a parser.
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BIN := $(FUZZ_SRC:tests/fuzz/%.c=$(B)/fuzz/%)
CLANG_WARN := -Wno-unknown-warning-option -Wno-missing-field-initializers \
	-Wno-unused-but-set-variable
FUZZ_SAN := -fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer
FUZZ_OBJ := $(patsubst %.c,$(B)/fuzzobj/%.o,$(filter-out user/sandbox/%,$(USER_SRC))) \
	$(LLHTTP_NAMES:%=$(B)/fuzzobj/llhttp/%.o)

.PHONY: all
all: $(B)/nej

.PHONY: help
help:
	@sed -n 's/^#@ //p' $(firstword $(MAKEFILE_LIST))

#@ make                    build/nej, the one binary
#@ make install            PREFIX=/usr/local, DESTDIR=: binary, manuals, shell completion
#@ make uninstall          takes them away again
#@ make static             build/static/nej, without shared libraries, to drop into an image
#@ make test               every ring below (root)
#@ make unit               unit tests under ASan and UBSan
#@ make bpf-test           decision logic and programs under the verifier (root)
#@ make e2e                programs in a sandbox, in network namespaces (root); E2E=pattern
#@ make kernels            the bpf ring and scenarios on other kernels, in qemu
#@ make fuzz-replay        the fuzz targets over their corpora
#@ make fuzz               timed fuzzing, FUZZ_SECONDS=600 a target; FUZZ=pattern
#@ make lint               format, clang-tidy, cppcheck, shellcheck, tools/check-*
#@ make clean              removes the build directory (B=build)

$(B)/nej: $(MAIN_OBJ) $(USER_OBJ) $(LLHTTP_OBJ)
	$(CC) $(CFLAGS) $(LDFLAGS_ALL) -o $@ $^ $(LDLIBS)

# --- BPF: one object a hook, joined into one skeleton
$(B)/bpf/%.bpf.o: bpf/%.bpf.c $(BPF_HDR)
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) -c -o $@ $<

$(B)/bpf/nej.bpf.o: $(BPF_SRC:bpf/%.bpf.c=$(B)/bpf/%.bpf.o)
	$(BPFTOOL) gen object $@ $^

$(B)/bpf/nej.skel.h: $(B)/bpf/nej.bpf.o
	$(BPFTOOL) gen skeleton $< name nej_bpf > $@.tmp && mv $@.tmp $@

$(B)/bpf/nej_unix.skel.h: $(B)/bpf/unix.bpf.o
	$(BPFTOOL) gen skeleton $< name nej_unix > $@.tmp && mv $@.tmp $@

$(B)/obj/%.o: %.c | $(SKEL)
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(HARDEN) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/asan/%.o: %.c | $(SKEL)
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(SAN) -O1 -g -MMD -MP -c -o $@ $<

$(B)/fuzzobj/%.o: %.c | $(SKEL)
	@mkdir -p $(@D)
	$(CLANG) $(COMMON) $(CLANG_WARN) $(FUZZ_SAN) -O1 -g -MMD -MP -c -o $@ $<

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

# Test programs for the verifier, each with a skeleton of its own beside the product's.
$(B)/bpf-test/%.bpf.o: tests/bpf/%.bpf.c $(BPF_HDR) $(wildcard tests/bpf/*.h)
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) -c -o $@ $<

$(B)/bpf-test/%.skel.h: $(B)/bpf-test/%.bpf.o
	$(BPFTOOL) gen skeleton $< name $*_bpf > $@.tmp && mv $@.tmp $@

$(B)/bpf-test/test_%: tests/bpf/test_%.c $(B)/asan/libnej.a $(BPF_TEST_SKEL)
	@mkdir -p $(@D)
	$(CC) $(COMMON) -I$(B)/bpf-test $(SAN) -O1 -g -MMD -MP -o $@ $< $(B)/asan/libnej.a \
		$(LDLIBS) -lcmocka

# The same without sanitizers, for guests with other kernels (tools/kernel-matrix).
$(B)/guest/test_%: tests/bpf/test_%.c $(USER_OBJ) $(LLHTTP_OBJ) $(BPF_TEST_SKEL)
	@mkdir -p $(@D)
	$(CC) $(COMMON) -I$(B)/bpf-test $(CFLAGS) -o $@ $(filter %.c %.o,$^) $(LDLIBS) -lcmocka

$(B)/bpf-test/bench_%: tests/bpf/bench_%.c $(USER_OBJ) $(LLHTTP_OBJ)
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

$(B)/fuzzobj/libnej.a: $(FUZZ_OBJ)
	rm -f $@ && ar rcs $@ $^

$(B)/fuzz/%: tests/fuzz/%.c $(B)/fuzzobj/libnej.a
	@mkdir -p $(@D)
	$(CLANG) $(COMMON) $(CLANG_WARN) $(FUZZ_SAN) -fsanitize=fuzzer -O1 -g -o $@ $< \
		$(B)/fuzzobj/libnej.a $(LDLIBS)

.PHONY: unit-bins bpf-bins fuzz-bins guest-bins
unit-bins: $(UNIT_BIN)
bpf-bins: $(BPF_TEST_BIN)
fuzz-bins: $(FUZZ_BIN)
guest-bins: $(B)/static/nej $(BPF_TEST_BIN:$(B)/bpf-test/%=$(B)/guest/%)

.PHONY: test unit bpf-test e2e fuzz fuzz-replay kernels
test: all unit-bins bpf-bins fuzz-bins
	tests/run --build $(B) unit bpf fuzz e2e
unit: unit-bins
	tests/run --build $(B) unit
bpf-test: bpf-bins
	tests/run --build $(B) bpf
e2e: all
	tests/run --build $(B) --match '$(E2E)' e2e
kernels: guest-bins
	tests/run --build $(B) kernels
fuzz-replay: fuzz-bins
	tests/run --build $(B) fuzz

FUZZ_SECONDS ?= 600
fuzz: fuzz-bins
	tests/run --build $(B) --match '$(FUZZ)' --seconds $(FUZZ_SECONDS) fuzz

.PHONY: lint
lint: $(SKEL)
	tools/lint --build $(B)

# --- one static binary
STATIC_LIBS := $(shell pkg-config --static --libs $(PKGS) 2>/dev/null)
.PHONY: static
static: $(B)/static/nej
$(B)/static/nej: $(MAIN_OBJ) $(USER_OBJ) $(LLHTTP_OBJ)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -static-pie -Wl,-z,relro,-z,now $(LDFLAGS) -o $@ $^ $(STATIC_LIBS)

# --- install
BINDIR = $(DESTDIR)$(PREFIX)/bin
MANDIR = $(DESTDIR)$(PREFIX)/share/man
UNITDIR := $(PREFIX)/lib/systemd/system
BASHDIR = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSHDIR = $(DESTDIR)$(PREFIX)/share/zsh/site-functions
MANUALS := $(wildcard user/*/*.5 user/*/*.8)

.PHONY: install uninstall clean
install: all
	install -D -m 755 $(B)/nej $(BINDIR)/nej
	for m in $(MANUALS); do install -D -m 644 $$m $(MANDIR)/man$${m##*.}/$${m##*/} || exit 1; done
	install -D -m 644 user/cli/completion/nej.bash $(BASHDIR)/nej
	install -D -m 644 user/cli/completion/_nej $(ZSHDIR)/_nej
	@mkdir -p $(DESTDIR)$(UNITDIR)
	sed 's|@BINDIR@|$(PREFIX)/bin|' 'tools/systemd/nej@.service' >'$(DESTDIR)$(UNITDIR)/nej@.service'

uninstall:
	rm -f $(BINDIR)/nej $(BASHDIR)/nej $(ZSHDIR)/_nej '$(DESTDIR)$(UNITDIR)/nej@.service'
	for m in $(MANUALS); do rm -f $(MANDIR)/man$${m##*.}/$${m##*/}; done

clean:
	rm -rf $(B)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
