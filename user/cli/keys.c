/* SPDX-License-Identifier: GPL-2.0-only */
/* Bytes to keys; see keys.h. Sequences: ECMA-48 CSI, and SS3 of the application mode. */
#include "keys.h"

#include <string.h>

static const struct {
	const char *text; /* behind ESC */
	enum key key;
} sequences[] = {
	{"[A", KEY_UP},
	{"OA", KEY_UP},
	{"[B", KEY_DOWN},
	{"OB", KEY_DOWN},
	{"[5~", KEY_PAGE_UP},
	{"[6~", KEY_PAGE_DOWN},
	{"[H", KEY_HOME},
	{"OH", KEY_HOME},
	{"[1~", KEY_HOME},
	{"[F", KEY_END},
	{"OF", KEY_END},
	{"[4~", KEY_END},
};

#define PASTE_BEGINS "[200~"
#define PASTE_ENDS "[201~"

static bool is(const struct keys *k, const char *text)
{
	return k->n - 1 == strlen(text) && memcmp(k->pending + 1, text, k->n - 1) == 0;
}

/* `[` and parameters, and then a byte from @ on; `O` and any byte; or any other byte. */
static bool is_whole(const struct keys *k)
{
	char first = k->pending[1], last = k->pending[k->n - 1];

	if (k->n < 2)
		return false;
	if (first == 'O')
		return k->n == 3;
	return first != '[' || (k->n > 2 && last >= '@');
}

static int settle(struct keys *k)
{
	int key = KEY_NONE;

	for (size_t i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++)
		if (is(k, sequences[i].text))
			key = sequences[i].key;
	/* ESC and another key at once: the first one counts */
	if (k->n == 2)
		key = KEY_ESCAPE;
	if (is(k, PASTE_BEGINS))
		k->is_pasting = true;
	else if (is(k, PASTE_ENDS))
		k->is_pasting = false;
	k->n = 0;
	return k->is_pasting ? KEY_NONE : key;
}

static int plain(const struct keys *k, char byte)
{
	if (k->is_pasting)
		return KEY_NONE;
	if (byte == '\n')
		return KEY_ENTER;
	if (byte == '\b')
		return KEY_BACKSPACE;
	return (unsigned char)byte < 0x80 ? byte : KEY_NONE;
}

int keys_take(struct keys *k, char byte)
{
	if (!k->n && byte != KEY_ESCAPE)
		return plain(k, byte);
	if (k->n == sizeof(k->pending)) {
		k->n = 0; /* nothing that anybody sends */
		return KEY_NONE;
	}
	k->pending[k->n++] = byte;
	return is_whole(k) ? settle(k) : KEY_NONE;
}

int keys_flush(struct keys *k)
{
	int key = k->n == 1 && !k->is_pasting ? KEY_ESCAPE : KEY_NONE;

	k->n = 0;
	return key;
}
