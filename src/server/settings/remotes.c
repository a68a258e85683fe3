/*
 * remotes.c - see remotes.h.
 */
#include "server/settings/remotes.h"

#include <stddef.h>
#include <strings.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/codec.h"
#include "base/err.h"
#include "base/mem.h"
#include "server/base/instance.h"
#include "server/server.h"
#include "server/settings/objects.h"
#include "store/store.h"

enum { STORED = 1 << 0, GIVEN = 1 << 1, SHOWN = 1 << 2, WORK = 1 << 3 };

static const struct field rows[] = {
	{"name", .is = REQUIRED | IS_TEXT, .in = SHOWN | WORK, MEMBER(struct remote, name)},
	{"servers", .is = REQUIRED | IS_TEXT, "HOST[:PORT], several joined by blanks", .least = 1, .most = 1000,
	 .example = "east.example.org:7722", .in = STORED | ALWAYS | GIVEN | SHOWN | WORK,
	 MEMBER(struct remote, servers)},
	{"token", .is = REQUIRED | IS_TEXT, "that the site made for this one: 'shunt token create --site'",
	 .most = 1000, .in = STORED | ALWAYS | GIVEN | WORK, MEMBER(struct remote, token)},
	{"jobs", .is = REQUIRED | IS_INT, "jobs of this server that are there, or on their way", .in = SHOWN,
	 MEMBER(struct remote_shown, jobs)},
	{0},
};
const struct schema remote_shown = {"RemoteSite", .fields = rows, .in = SHOWN};
const struct schema remote_given = {.fields = rows, .in = GIVEN};
const struct schema remote_work = {.fields = rows, .in = WORK};

static struct remote *find(const struct server *s, const char *name)
{
	for (size_t i = 0; i < s->remotes->list.n; i++)
		if (strcmp(s->remotes->list.v[i].name, name) == 0)
			return &s->remotes->list.v[i];
	return NULL;
}

const struct remote *remote_find(const struct server *s, const char *name)
{
	return find(s, name);
}

/* Sets a site in memory; takes over the texts. */
static void remote_set(struct server *s, const struct remote *fresh)
{
	struct remote *x = find(s, fresh->name);
	size_t at = s->remotes->list.n;

	if (x) {
		record_free(rows, x);
		*x = *fresh;
		return;
	}
	while (at > 0 && strcmp(s->remotes->list.v[at - 1].name, fresh->name) > 0)
		at--;
	vec_insert(&s->remotes->list, at, *fresh);
}

void remote_put(struct server *s, const char *name, const char *servers, const char *token)
{
	struct remote x = {mem_strdup(name), mem_strdup(servers), mem_strdup(token)};

	record_put(s, "site", name, rows, STORED, &x);
	remote_set(s, &x);
}

void remote_drop(struct server *s, const char *name)
{
	struct remote *x = find(s, name);

	if (!x)
		return;
	store_drop_object(s->store, "site", name);
	record_free(rows, x);
	vec_remove(&s->remotes->list, (size_t)(x - s->remotes->list.v));
}

int remote_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	struct remote x = {0};
	int rc = record_load(rows, STORED, o, &x, NULL, err);

	if (rc < 0) {
		record_free(rows, &x);
		return rc;
	}
	x.name = mem_strdup(name);
	remote_set(s, &x);
	return 0;
}

/* Returns true if both names mean the same host: "n1" and "n1.example.org" do; two names with a
 * domain must be equal. */
static bool host_same(const char *a, const char *b)
{
	size_t n = strcspn(a, "."), m = strcspn(b, ".");

	return *a && *b && (strcasecmp(a, b) == 0 || (n == m && strncasecmp(a, b, n) == 0 && (!a[n] || !b[m])));
}

bool server_is_here(const struct server *s, const char *name)
{
	char host[256] = "";

	gethostname(host, sizeof host - 1);
	return strcmp(name, s->instance->name) == 0 || strcasecmp(name, "localhost") == 0 ||
	       host_same(name, s->instance->host) || host_same(name, host);
}

int queue_resolve(const struct server *s, const char *text, struct arena *a, const char **ret, struct err *err)
{
	const char *at = strchr(text, '@');

	*ret = text;
	if (!at || remote_find(s, at + 1))
		return 0;
	if (at[1] && !server_is_here(s, at + 1))
		return err_code(
			err, CODE_UNKNOWN_QUEUE,
			"%.60s: %.60s is neither this server (%.60s) nor a site that it hands jobs over to ('shunt site list' "
			"shows these)",
			text, at + 1, s->instance->name);
	*ret = arena_strndup(a, text, (size_t)(at - text));
	return 0;
}

const struct remote *queue_site(const struct server *s, const char *name)
{
	return remote_find(s, strchr(name, '@') + 1);
}
