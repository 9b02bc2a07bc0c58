/* SPDX-License-Identifier: GPL-2.0-only */
/* What a terminal sends, as keys. Pasted text (between ESC[200~ and ESC[201~) is none. */
#ifndef NEJ_CLI_KEYS_H
#define NEJ_CLI_KEYS_H

#include <stdbool.h>
#include <stddef.h>

enum key { /* printable ASCII is itself */
	KEY_NONE = 0,
	KEY_TAB = '\t',
	KEY_ENTER = '\r',
	KEY_ESCAPE = 0x1b,
	KEY_BACKSPACE = 0x7f,
	KEY_UP = 256,
	KEY_DOWN,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_END,
};

#define KEYS_MAX_PENDING 16

struct keys {
	char pending[KEYS_MAX_PENDING]; /* of a sequence that is not whole yet */
	size_t n;
	bool is_pasting;
};

/* The next byte; KEY_NONE while a sequence is not whole, or means nothing here. */
int keys_take(struct keys *k, char byte);
/* Nothing more comes soon: an ESC by itself was the key. */
int keys_flush(struct keys *k);

#endif
