/* SPDX-License-Identifier: GPL-2.0-only */
/* What others ask of a policy's secrets; see secret.h. Which hosts get one is filed as targets. */
#include "secret.h"

#include "image.h"
#include "walk.h"

size_t policy_secret_count(const struct policy *p)
{
	return p->n_secrets;
}

bool policy_secret(const struct policy *p, size_t i, struct policy_secret *ret)
{
	const struct image_secret *s;

	if (i >= p->n_secrets)
		return false;
	s = &p->secrets[i];
	*ret = (struct policy_secret){
		.name = p->text + s->name,
		.in = s->in,
		.is_aws = s->is_aws,
		.key_id = s->key_id ? p->text + s->key_id : NULL,
	};
	return true;
}

enum policy_source_kind policy_secret_source(const struct policy *p, size_t i)
{
	return p->secrets[i].source;
}

const char *policy_secret_arg(const struct policy *p, size_t i, size_t k)
{
	const struct image_secret *s = &p->secrets[i];

	return k < s->n_args ? p->text + p->args[s->first_arg + k] : NULL;
}

size_t policy_secrets_for(
	const struct policy *p, const struct host *host, uint16_t port, uint16_t *ret, size_t max)
{
	uint64_t found[POLICY_MAX_SECRETS / 64] = {0};
	size_t n = 0;

	(void)port;
	if (!p->n_secrets || host->kind == HOST_ADDR)
		return 0;
	walk_secrets(p, host, found);
	for (size_t i = 0; i < p->n_secrets && n < max; i++)
		if (found[i / 64] & 1ull << (i % 64))
			ret[n++] = (uint16_t)i;
	return n;
}
