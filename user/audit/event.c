/* SPDX-License-Identifier: GPL-2.0-only */
/* The words of events, and how an overlong text is cut; see event.h. */
#include "event.h"

#include <stdio.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/htab.h"

const char *audit_kind_word(enum audit_kind kind)
{
	static const char *const words[] = {
#define X(id, word) [AUDIT_##id] = (word),
		AUDIT_KINDS(X)
#undef X
	};

	return (size_t)kind < ARRAY_SIZE(words) ? words[kind] : "unknown";
}

const char *audit_layer_word(enum audit_layer layer)
{
	static const char *const words[] = {
#define X(id, word) [AUDIT_LAYER_##id] = (word),
		AUDIT_LAYERS(X)
#undef X
	};

	return (size_t)layer < ARRAY_SIZE(words) ? words[layer] : "unknown";
}

const char *audit_app_word(enum audit_app app)
{
	static const char *const words[] = {
#define X(id, word) [AUDIT_APP_##id] = (word),
		AUDIT_APPS(X)
#undef X
	};

	return (size_t)app < ARRAY_SIZE(words) ? words[app] : NULL;
}

const char *reason_word(enum nej_reason reason)
{
	static const char *const words[] = {
#define X(id, word, sentence) [NEJ_REASON_##id] = (word),
		NEJ_REASONS(X)
#undef X
	};

	return (size_t)reason < ARRAY_SIZE(words) ? words[reason] : "unknown";
}

const char *reason_sentence(enum nej_reason reason)
{
	static const char *const sentences[] = {
#define X(id, word, sentence) [NEJ_REASON_##id] = (sentence),
		NEJ_REASONS(X)
#undef X
	};

	return (size_t)reason < ARRAY_SIZE(sentences) ? sentences[reason] : "unknown";
}

size_t audit_text_cut(struct audit_text text, size_t max_bytes, char *out)
{
	static const uint64_t zero_key[2];
	char mark[AUDIT_CUT_BYTES];
	int n;

	if (!text.ptr)
		return 0;
	if (text.len <= max_bytes) {
		memcpy(out, text.ptr, text.len);
		return text.len;
	}
	n = snprintf(mark, sizeof(mark), "\xe2\x80\xa6(+%zu bytes, siphash %016llx)",
		text.len - max_bytes,
		(unsigned long long)hash_bytes_keyed(
			zero_key, text.ptr + max_bytes, text.len - max_bytes));
	memcpy(out, text.ptr, max_bytes);
	memcpy(out + max_bytes, mark, (size_t)n);
	return max_bytes + (size_t)n;
}
