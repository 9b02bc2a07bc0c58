/* SPDX-License-Identifier: GPL-2.0-only */
/* JSON into a struct, or a sentence why not; see ocistate.h. */
#include "ocistate.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../base/cleanup.h"

#define OURS "nej" /* and a sign: `nej.`; `NEJ_` and `nej/` are meant for us as well */

struct reader {
	struct ocistate *s;
	char *why;
	size_t why_bytes;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct reader *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(r->why, r->why_bytes, fmt, args);
	va_end(args);
	return -EINVAL;
}

/* Goes into file names and messages. */
static bool is_id(const char *text)
{
	if (*text == '.' || !*text)
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("_+-.", *text))
			return false;
	return true;
}

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

static int take_text(
	struct reader *r, const json_t *value, const char *what, char *ret, size_t bytes)
{
	const char *text = json_string_value(value);

	if (!text)
		return refuse(r, "%s is no string", what);
	if (strlen(text) != json_string_length(value) || strlen(text) >= bytes)
		return refuse(
			r, "%s is longer than %zu bytes, or has a NUL in it", what, bytes - 1);
	if (!is_printable(text))
		return refuse(r, "%s has a control character in it", what);
	memcpy(ret, text, strlen(text) + 1);
	return 0;
}

/* --- annotations */

static int take_kind(struct reader *r, const json_t *value)
{
	const char *text = json_string_value(value);

	if (text && strcmp(text, "sandbox") == 0)
		r->s->kind = OCISTATE_POD;
	else if (text && strcmp(text, "container") == 0)
		r->s->kind = OCISTATE_IN_POD;
	return 0;
}

static int take_id_of_pod(struct reader *r, const json_t *value)
{
	int e = take_text(r, value, "the pod's id", r->s->pod_id, sizeof(r->s->pod_id));

	return e ? e : is_id(r->s->pod_id) ? 0 : refuse(r, "the pod's id is none");
}

static int take_uid_of_pod(struct reader *r, const json_t *value)
{
	return take_text(r, value, "the pod's uid", r->s->pod_uid, sizeof(r->s->pod_uid));
}

static int take_policy(struct reader *r, const json_t *value)
{
	int e = take_text(r, value, "annotation nej.policy", r->s->policy, sizeof(r->s->policy));

	return e ? e : *r->s->policy ? 0 : refuse(r, "annotation nej.policy is empty");
}

static int take_name(struct reader *r, const json_t *value)
{
	int e = take_text(r, value, "annotation nej.name", r->s->name, sizeof(r->s->name));

	return e ? e : *r->s->name ? 0 : refuse(r, "annotation nej.name is empty");
}

static const struct annotation {
	const char *key;
	int (*take)(struct reader *r, const json_t *value);
} annotations[] = {
	{"nej.policy", take_policy},
	{"nej.name", take_name},
	/* containerd, as its CRI plugin marks them */
	{"io.kubernetes.cri.container-type", take_kind},
	{"io.kubernetes.cri.sandbox-id", take_id_of_pod},
	{"io.kubernetes.cri.sandbox-uid", take_uid_of_pod},
	/* CRI-O */
	{"io.kubernetes.cri-o.ContainerType", take_kind},
	{"io.kubernetes.cri-o.SandboxID", take_id_of_pod},
	{"io.kubernetes.pod.uid", take_uid_of_pod},
};

/* One that is misspelt would leave its container unconfined. */
static int check_ours(struct reader *r, const char *key)
{
	char sign = strncasecmp(key, OURS, strlen(OURS)) == 0 ? key[strlen(OURS)] : 0;

	if (!sign || !strchr("._/", sign))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(annotations); i++)
		if (strcmp(key, annotations[i].key) == 0)
			return 0;
	return refuse(r, "annotation %.64s is unknown: there are nej.policy and nej.name", key);
}

static int read_annotations(struct reader *r, json_t *object)
{
	const char *key;
	json_t *value;

	if (!object || json_is_null(object))
		return 0;
	if (!json_is_object(object))
		return refuse(r, "annotations is no object");
	r->s->has_annotations = true;
	json_object_foreach(object, key, value)
	{
		if (!is_printable(key) || check_ours(r, key) < 0)
			return *r->why ? -EINVAL : refuse(r, "an annotation has a strange name");
	}
	for (size_t i = 0; i < ARRAY_SIZE(annotations); i++) {
		value = json_object_get(object, annotations[i].key);
		if (value && annotations[i].take(r, value) < 0)
			return -EINVAL;
	}
	return 0;
}

/* --- the state */

static int read_state(struct reader *r, const json_t *root)
{
	const json_t *pid = json_object_get(root, "pid");
	int e = take_text(r, json_object_get(root, "id"), "id", r->s->id, sizeof(r->s->id));

	if (!e && !is_id(r->s->id))
		e = refuse(r, "id: `%.64s` cannot name a container", r->s->id);
	if (!e)
		e = take_text(r, json_object_get(root, "bundle"), "bundle", r->s->bundle,
			sizeof(r->s->bundle));
	if (!e && r->s->bundle[0] != '/')
		e = refuse(r, "bundle is no absolute path");
	/* None in poststop: runc leaves it out, crun says 0. */
	if (!e && pid &&
		(!json_is_integer(pid) || json_integer_value(pid) < 0 ||
			json_integer_value(pid) > INT_MAX))
		e = refuse(r, "pid is no process's number");
	if (e)
		return e;
	r->s->pid = (pid_t)json_integer_value(pid);
	return read_annotations(r, json_object_get(root, "annotations"));
}

static json_t *load(struct reader *r, const char *text, size_t len, const char *what)
{
	json_error_t error;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);

	if (root && json_is_object(root))
		return root;
	refuse(r, "%s: %s", what, root ? "it is no JSON object" : error.text);
	json_decref(root);
	return NULL;
}

int ocistate_parse(const char *text, size_t len, struct ocistate *ret, char *why, size_t why_bytes)
{
	struct ocistate s = {0};
	struct reader r = {.s = &s, .why = why, .why_bytes = why_bytes};
	json_t *root;
	int e;

	*why = 0;
	root = load(&r, text, len, "the container's state on standard input");
	if (!root)
		return -EINVAL;
	e = read_state(&r, root);
	json_decref(root);
	if (!e)
		*ret = s;
	return e;
}

int ocistate_parse_config(
	const char *text, size_t len, struct ocistate *s, char *why, size_t why_bytes)
{
	struct ocistate all = *s;
	struct reader r = {.s = &all, .why = why, .why_bytes = why_bytes};
	json_t *root;
	int e;

	*why = 0;
	root = load(&r, text, len, "the bundle's config.json");
	if (!root)
		return -EINVAL;
	e = read_annotations(&r, json_object_get(root, "annotations"));
	json_decref(root);
	if (!e)
		*s = all;
	return e;
}
