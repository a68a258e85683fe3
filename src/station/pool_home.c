/*
 * pool_home.c - see pool_home.h.
 */
#include "station/pool_home.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define FILE_MOST (4 << 20)
#define PATH_ROOM 64 /* bytes for file names below the directory */

/* ---- directory and files ---- */

int pool_home_find(struct pool_home *h, struct err *err)
{
	const char *given = getenv("SHUNT_POOL_HOME"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
	int n;

	if (given && *given)
		n = snprintf(h->dir, sizeof h->dir, "%s", given);
	else if (geteuid() == 0)
		n = snprintf(h->dir, sizeof h->dir, POOL_HOME_SYSTEM);
	else if (data && *data == '/')
		n = snprintf(h->dir, sizeof h->dir, "%s/shunt/pool", data);
	else
		n = snprintf(h->dir, sizeof h->dir, "%s/.local/share/shunt/pool", home && *home ? home : "");
	if (h->dir[0] != '/' || n > PATH_MAX - PATH_ROOM)
		return err_set(err, -EINVAL,
			       "SHUNT_POOL_HOME=%.200s: it must be an absolute path of at most %d characters", h->dir,
			       PATH_MAX - PATH_ROOM);
	return 0;
}

void pool_home_path(const struct pool_home *h, const char *name, struct strbuf *ret)
{
	strbuf_clear(ret);
	strbuf_printf(ret, "%s/%s", h->dir, name);
}

int pool_home_make(const struct pool_home *h, struct err *err)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s", h->dir);
	for (char *slash = path + 1;; *slash++ = '/') {
		slash += strcspn(slash, "/");
		bool last = !*slash;
		*slash = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return err_set(err, -errno, "%.300s: the directory can't be created: %s", path,
				       strerror(errno));
		if (last)
			return 0;
	}
}

int pool_home_read(const struct pool_home *h, const char *name, struct strbuf *ret, struct err *err)
{
	struct strbuf path = {0};
	int rc;

	pool_home_path(h, name, &path);
	strbuf_clear(ret);
	rc = file_read(path.text, 0, FILE_MOST, ret);
	if (rc < 0)
		err_set(err, rc, "%.300s: %s", path.text, strerror(-rc));
	strbuf_fini(&path);
	return rc;
}

int pool_home_write(const struct pool_home *h, const char *name, int mode, const char *text, struct err *err)
{
	struct strbuf path = {0};
	int rc;

	pool_home_path(h, name, &path);
	rc = file_replace(path.text, mode, text, strlen(text), REPLACE_SYNC);
	if (rc < 0)
		err_set(err, rc, "%.300s: can't be written: %s", path.text, strerror(-rc));
	strbuf_fini(&path);
	return rc;
}

/* ---- pool.json ---- */

static void text_take(const json_t *o, const char *key, char *to, size_t size)
{
	const char *text = json_string_value(json_object_get(o, key));

	if (text && strlen(text) < size)
		snprintf(to, size, "%s", text);
}

static void number_take(const json_t *o, const char *key, int min, int max, int *to)
{
	json_int_t n = json_integer_value(json_object_get(o, key));

	if (n >= min && n <= max)
		*to = (int)n;
}

static void weight_take(const json_t *o, const char *key, double *to)
{
	const json_t *v = json_object_get(o, key);

	if (json_is_number(v) && json_number_value(v) >= 0 && json_number_value(v) <= PLACE_WEIGHT_MOST)
		*to = json_number_value(v);
}

int pool_conf_load(const struct pool_home *h, struct pool_conf *ret, struct err *err)
{
	struct pool_conf c = POOL_CONF_DEFAULT;
	struct strbuf text = {0};
	int rc = pool_home_read(h, "pool.json", &text, err);
	json_t *o = rc == 0 ? json_loads(strbuf_text(&text), 0, NULL) : NULL;
	const char *policy = json_string_value(json_object_get(o, "policy"));

	if (rc == -ENOENT)
		err_set(err, rc, "this machine is in no pool: run 'shunt pool create', or 'shunt pool join'");
	text_take(o, "name", c.name, sizeof c.name);
	text_take(o, "pool", c.pool, sizeof c.pool);
	text_take(o, "listen", c.listen, sizeof c.listen);
	text_take(o, "cgroup", c.cgroup, sizeof c.cgroup);
	c.multicast = !json_is_false(json_object_get(o, "multicast"));
	text_take(o, "owner", c.owner, sizeof c.owner);
	text_take(o, "user", c.user, sizeof c.user);
	number_take(o, "interval_ms", 10, 3600000, &c.interval_ms);
	number_take(o, "lease_ms", 100, 3600000, &c.lease_ms);
	number_take(o, "gossip_from", 1, PEER_MEMBERS_MOST, &c.gossip_from);
	number_take(o, "last_port", 1, 65535, &c.last_port);
	number_take(o, "cpus", 1, 65536, &c.cpus);
	c.speed = json_number_value(json_object_get(o, "speed"));
	weight_take(o, "k1", &c.rule.k1);
	weight_take(o, "k2", &c.rule.k2);
	if (rc == 0 && !c.name[0])
		rc = err_set(err, -EINVAL, "%.300s/pool.json is damaged: it has no name", h->dir);
	if (rc == 0 && policy && !place_find(policy, &c.rule.policy))
		rc = err_set(err, -EINVAL, "%.300s/pool.json: no policy is called %s", h->dir, policy);
	if (rc == 0)
		*ret = c;
	json_decref(o);
	strbuf_fini(&text);
	return rc;
}

int pool_conf_store(const struct pool_home *h, const struct pool_conf *c, struct err *err)
{
	json_t *o = json_pack("{s:s,s:s,s:s,s:s,s:f,s:f,s:i,s:i,s:i,s:i,s:f,s:s,s:s,s:s,s:b,s:i}", "name", c->name,
			      "pool", c->pool, "listen", c->listen, "policy", place_name(c->rule.policy), "k1",
			      c->rule.k1, "k2", c->rule.k2, "interval_ms", c->interval_ms, "lease_ms", c->lease_ms,
			      "gossip_from", c->gossip_from, "cpus", c->cpus, "speed", c->speed, "cgroup", c->cgroup,
			      "user", c->user, "owner", c->owner, "multicast", c->multicast, "last_port", c->last_port);
	char *text = o ? json_dumps(o, JSON_INDENT(2)) : NULL;
	int rc = text ? pool_home_write(h, "pool.json", 0644, text, err)
		      : err_set(err, -EINVAL, "names and paths must be UTF-8");

	free(text);
	json_decref(o);
	return rc;
}
