/* SPDX-License-Identifier: GPL-2.0-only */
/* Builds the command's environment; see environment.h. What is set and what is dropped are tables. */
#include "environment.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../tls/keystore.h"
#include "anchors.h"

/* ALL_PROXY is http:// too: a socks scheme makes clients without SOCKS support give up. */
static const char *const proxy_names[] = {
	"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"};

/* Loopback in the spellings clients parse. Not `[::1]`: some take it for a pattern and give up. */
static const char *const no_proxy_names[] = {"NO_PROXY", "no_proxy"};
#define NO_PROXY_VALUE "localhost,127.0.0.1,127.0.0.0/8,::1"

/* Names that begin so are dropped: who called sudo is no business of the sandbox, and the buses'
 * sockets are masked. */
static const char *const dropped[] = {"SUDO_",
	"DBUS_SESSION_BUS_ADDRESS=", "DBUS_SYSTEM_BUS_ADDRESS=", "DBUS_STARTER_",
	"XDG_RUNTIME_DIR=", "NOTIFY_SOCKET=", "LISTEN_FDS=", "LISTEN_PID=", "LISTEN_FDNAMES=",
	"INVOCATION_ID=", "JOURNAL_STREAM="};

/* What programs take their certificate authorities from. */
static const struct {
	const char *name;
	enum anchors_file file;
} anchor_names[] = {
	{"SSL_CERT_FILE", ANCHORS_BUNDLE}, /* OpenSSL, Go, Ruby, rustls-native-certs */
	{"CURL_CA_BUNDLE", ANCHORS_BUNDLE}, {"REQUESTS_CA_BUNDLE", ANCHORS_BUNDLE},
	{"GIT_SSL_CAINFO", ANCHORS_BUNDLE}, {"PIP_CERT", ANCHORS_BUNDLE},
	{"CARGO_HTTP_CAINFO", ANCHORS_BUNDLE}, {"AWS_CA_BUNDLE", ANCHORS_BUNDLE},
	{"NIX_SSL_CERT_FILE", ANCHORS_BUNDLE}, {"DENO_CERT", ANCHORS_BUNDLE},
	{"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", ANCHORS_BUNDLE},
	{"CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", ANCHORS_BUNDLE},
	{"BUNDLE_SSL_CA_CERT", ANCHORS_BUNDLE}, /* Ruby's bundler */
	{"HEX_CACERTS_PATH", ANCHORS_BUNDLE},   /* Elixir's hex */
	{"NODE_EXTRA_CA_CERTS", ANCHORS_CA},    /* beside those that node has built in */
};

void environment_each_bundle(
	void (*on_file)(void *arg, const char *variable, const char *path), void *arg)
{
	for (size_t i = 0; i < ARRAY_SIZE(anchor_names); i++) {
		const char *path = getenv(anchor_names[i].name);

		if (path && *path)
			on_file(arg, anchor_names[i].name, path);
	}
}

#define JAVA_OPTIONS "JAVA_TOOL_OPTIONS"
#define JAVA_VALUE                                                                                 \
	"-Djavax.net.ssl.trustStore=" ANCHORS_DIR                                                  \
	"/cacerts.jks -Djavax.net.ssl.trustStorePassword=" KEYSTORE_PASSWORD

static const char *value_of(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; env && *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	return "";
}

/* The caller's own options stay; of two equal ones a JVM takes the last. */
static void each_anchor(char *const *old, const struct environment_facts *facts,
	void (*on_variable)(void *arg, const char *name, const char *value), void *arg)
{
	const char *options = value_of(old, JAVA_OPTIONS);
	_cleanup_free_ char *java = NULL;
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(anchor_names); i++) {
		snprintf(
			path, sizeof(path), ANCHORS_DIR "/%s", anchors_names[anchor_names[i].file]);
		on_variable(arg, anchor_names[i].name, path);
	}
	if (facts->wants_java &&
		asprintf(&java, "%s%s" JAVA_VALUE, options, *options ? " " : "") >= 0)
		on_variable(arg, JAVA_OPTIONS, java);
}

void environment_each(char *const *old, const struct environment_facts *facts,
	void (*on_variable)(void *arg, const char *name, const char *value), void *arg)
{
	char proxy[64];

	snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%u", facts->proxy_port);
	for (size_t i = 0; i < ARRAY_SIZE(proxy_names); i++)
		on_variable(arg, proxy_names[i], proxy);
	for (size_t i = 0; i < ARRAY_SIZE(no_proxy_names); i++)
		on_variable(arg, no_proxy_names[i], NO_PROXY_VALUE);
	on_variable(arg, "USER", facts->user);
	on_variable(arg, "LOGNAME", facts->user);
	on_variable(arg, "HOME", facts->home);
	if (facts->shell)
		on_variable(arg, "SHELL", facts->shell);
	on_variable(arg, "NEJ_SANDBOX", facts->sandbox);
	if (facts->has_anchors)
		each_anchor(old, facts, on_variable, arg);
}

struct building {
	char **env;
	size_t n;
	size_t max;
	bool is_failed;
};

static void put(struct building *b, char *variable)
{
	if (!variable || b->n == b->max) {
		free(variable);
		b->is_failed = true;
		return;
	}
	b->env[b->n++] = variable;
}

static bool has_name(const char *variable, const char *name, size_t len)
{
	return strncmp(variable, name, len) == 0 && variable[len] == '=';
}

static void set(void *arg, const char *name, const char *value)
{
	struct building *b = arg;
	size_t len = strlen(name);
	char *variable = NULL;

	if (asprintf(&variable, "%s=%s", name, value) < 0)
		variable = NULL;
	for (size_t i = 0; variable && i < b->n; i++)
		if (has_name(b->env[i], name, len)) {
			free(b->env[i]);
			b->env[i] = variable;
			return;
		}
	put(b, variable);
}

static bool is_dropped(const char *variable)
{
	for (size_t i = 0; i < ARRAY_SIZE(dropped); i++)
		if (strncmp(variable, dropped[i], strlen(dropped[i])) == 0)
			return true;
	return false;
}

char **environment_make(char *const *old, const struct environment_facts *facts)
{
	struct building b = {.max = 48};

	for (char *const *v = old; *v; v++)
		b.max++;
	b.env = calloc(b.max + 1, sizeof(*b.env));
	if (!b.env)
		return NULL;
	for (char *const *v = old; *v; v++)
		if (!is_dropped(*v))
			put(&b, strdup(*v));
	environment_each(old, facts, set, &b);
	if (b.is_failed) {
		environment_free(b.env);
		return NULL;
	}
	return b.env;
}

void environment_free(char **env)
{
	for (char **v = env; v && *v; v++)
		free(*v);
	free(env);
}
