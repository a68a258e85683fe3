/*
 * provider.c - finds the kinds of providers by name.
 */
#include "bag/provider.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bag/batch.h"
#include "bag/credential.h"
#include "base/hostlist.h"
#include "base/ticks.h"

int64_t provider_now(void)
{
	return clock_seconds(CLOCK_MONOTONIC);
}

static const struct batch_dialect *const dialects[] = {&dialect_slurm, &dialect_pbs, &dialect_shunt};
enum { DIALECTS = sizeof dialects / sizeof *dialects };

/* Finds a dialect by the word before a colon or, in a tag, an at sign. Tags of earlier versions
 * have neither: they are Slurm's. */
static const struct batch_dialect *dialect_of(const char *text)
{
	size_t n = strcspn(text, ":@");

	if (!text[n] && strncmp(text, dialect_slurm.prefix, strlen(dialect_slurm.prefix)) == 0)
		return &dialect_slurm;
	for (int i = 0; i < DIALECTS; i++)
		if (strlen(dialects[i]->kind) == n && memcmp(dialects[i]->kind, text, n) == 0)
			return dialects[i];
	return NULL;
}

const char *provider_places(void)
{
	return "local, slurm, pbs, shunt, shunt:CLUSTER or ssh:HOSTS, as in ssh:n[1-4],big";
}

/* Returns true for a valid Shunt server: a name of `shunt clusters`, or the absolute path of a
 * personal one. */
static bool where_good(const char *text)
{
	return *text && strlen(text) <= WHERE_MOST && !strpbrk(text, ":@ \t\n=") &&
	       (*text == '/' || !strchr(text, '/'));
}

bool provider_known(const char *place)
{
	name_list hosts = {0};
	struct err err;

	if (strncmp(place, "shunt:", 6) == 0)
		return where_good(place + 6);
	if (strncmp(place, "ssh:", 4) != 0)
		return dialect_of(place) != NULL && !strchr(place, ':');
	bool good = hostlist_parse(place + 4, &hosts, &err) == 0 && hosts.n >= 1 && hosts.n <= SSH_HOSTS_MOST;
	name_list_free(&hosts);
	return good;
}

bool provider_gpus(const char *place)
{
	return dialect_of(place) != NULL;
}

void provider_tag(const char *place, bool filler, char ret[TAG_SIZE])
{
	const struct batch_dialect *d = dialect_of(place);
	char secret[SECRET_SIZE];

	secret_make(secret);
	size_t n = strcspn(place, ":");
	bool elsewhere = d && place[n];
	const char *prefix = d ? d->prefix : "shunt-";
	if (filler)
		prefix = FILLER_PREFIX;
	snprintf(ret, TAG_SIZE, "%.*s%s%.*s:%s%.*s", (int)n, place, elsewhere ? "@" : "", elsewhere ? WHERE_MOST : 0,
		 elsewhere ? place + n + 1 : "", prefix, d ? d->digits : 12, secret);
}

struct provider *provider_create(const char *place, const struct provider_user *user,
				 const struct provider_options *options, struct err *err)
{
	const struct batch_dialect *d = dialect_of(place);

	if (d)
		return batch_create(d, user, options);
	if (strncmp(place, "ssh:", 4) == 0)
		return provider_ssh(place + 4, user, err);
	err_set(err, -EINVAL, "%s: must be %s", place, provider_places());
	return NULL;
}

int provider_clear(const char *tag, struct err *err)
{
	const struct batch_dialect *d = dialect_of(tag);

	return d ? batch_clear(d, tag, err) : 0;
}
