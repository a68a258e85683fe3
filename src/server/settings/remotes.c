/*
 * remotes.c - see remotes.h.
 */
#include "server/settings/remotes.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "server/base/instance.h"
#include "server/server.h"
#include "store/store.h"

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

static void remote_fini(struct remote *x)
{
	free(x->name);
	free(x->servers);
	free(x->token);
}

/* In memory. */
static void remote_set(struct server *s, const char *name, const char *servers, const char *token)
{
	struct remote *x = find(s, name), fresh = {mem_strdup(name), mem_strdup(servers), mem_strdup(token)};
	size_t at = s->remotes->list.n;

	if (x) {
		remote_fini(x);
		*x = fresh;
		return;
	}
	while (at > 0 && strcmp(s->remotes->list.v[at - 1].name, name) > 0)
		at--;
	vec_insert(&s->remotes->list, at, fresh);
}

void remote_put(struct server *s, const char *name, const char *servers, const char *token)
{
	json_t *o = json_pack("{s:s, s:s}", "servers", servers, "token", token);
	char *text = json_dumps(o, JSON_COMPACT);

	remote_set(s, name, servers, token);
	store_put_object(s->store, "site", name, text);
	free(text);
	json_decref(o);
}

void remote_drop(struct server *s, const char *name)
{
	struct remote *x = find(s, name);

	if (!x)
		return;
	store_drop_object(s->store, "site", name);
	remote_fini(x);
	vec_remove(&s->remotes->list, (size_t)(x - s->remotes->list.v));
}

int remote_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	const char *servers = json_string_value(json_object_get(o, "servers")),
		   *token = json_string_value(json_object_get(o, "token"));

	if (!servers || !token)
		return err_set(err, -EINVAL, "it has no servers or no token");
	remote_set(s, name, servers, token);
	return 0;
}

/* "n1" and "n1.example.org" are the same host; two names with a domain must be equal. */
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
	if (!server_is_here(s, at + 1))
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
