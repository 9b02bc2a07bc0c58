/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one user of libpsl: the public suffix list, and a few hosts with customers' names below them
 * that are not on it; see psl.h.
 */
#include "psl.h"

#include <stddef.h>
#include <string.h>
#include <libpsl.h>

/* Hosting whose customers' names lie below these, whatever list this machine has. */
static const char *const shared_hosts[] = {
	"amazonaws.com",
	"appspot.com",
	"azureedge.net",
	"azurewebsites.net",
	"blob.core.windows.net",
	"cloudapp.net",
	"cloudfront.net",
	"cloudfunctions.net",
	"fly.dev",
	"githubusercontent.com",
	"github.io",
	"gitlab.io",
	"googleusercontent.com",
	"herokuapp.com",
	"netlify.app",
	"ngrok.io",
	"onrender.com",
	"pages.dev",
	"r2.dev",
	"run.app",
	"storage.googleapis.com",
	"trafficmanager.net",
	"vercel.app",
	"web.app",
	"windows.net",
	"workers.dev",
};

/* Served by content networks and fronts that many names share. */
static const char *const shared_ranges[] = {
	"akamaihd.net",
	"akamaized.net",
	"anthropic.com",
	"crates.io",
	"docker.com",
	"docker.io",
	"fastly.net",
	"googleapis.com",
	"gstatic.com",
	"openai.com",
	"pypi.org",
	"pythonhosted.org",
	"rubygems.org",
	"rust-lang.org",
	"unpkg.com",
};

static bool is_at_or_under(const char *name, const char *above)
{
	size_t len = strlen(name), n = strlen(above);

	return len >= n && !strcmp(name + len - n, above) && (len == n || name[len - n - 1] == '.');
}

bool psl_is_on_shared_range(const char *name)
{
	for (size_t i = 0; i < sizeof(shared_ranges) / sizeof(shared_ranges[0]); i++)
		if (is_at_or_under(name, shared_ranges[i]))
			return true;
	for (; name; name = strchr(name, '.') ? strchr(name, '.') + 1 : NULL)
		if (psl_kind_of(name) == PSL_SHARED)
			return true;
	return false;
}

enum psl_kind psl_kind_of(const char *name)
{
	const psl_ctx_t *list = psl_builtin();

	for (size_t i = 0; i < sizeof(shared_hosts) / sizeof(shared_hosts[0]); i++)
		if (!strcmp(name, shared_hosts[i]))
			return PSL_SHARED;
	/* NO_STAR_RULE: an unknown top-level name is not taken for a suffix by its look. */
	if (!list)
		return strchr(name, '.') ? PSL_NONE : PSL_PUBLIC;
	if (psl_is_public_suffix2(list, name, PSL_TYPE_ICANN | PSL_TYPE_NO_STAR_RULE))
		return PSL_PUBLIC;
	if (psl_is_public_suffix2(list, name, PSL_TYPE_PRIVATE | PSL_TYPE_NO_STAR_RULE))
		return PSL_SHARED;
	return PSL_NONE;
}
