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

#include "base/codec.h"
#include "base/file.h"
#include "base/json.h"

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

#define HAS(member) .in = ALWAYS, MEMBER(struct pool_conf, member)
#define TEXT(member) .in = ALWAYS, MEMBER_CHARS(struct pool_conf, member)
#define REAL(member) .in = ALWAYS, MEMBER_AS(FORM_REAL, struct pool_conf, member)

static const struct field conf_rows[] = {
	{"name", TEXT(name)},
	{"pool", TEXT(pool)},
	{"listen", TEXT(listen)},
	{"cgroup", TEXT(cgroup)},
	{"user", TEXT(user)},
	{"owner", TEXT(owner)},
	{"interval_ms", .least = 10, .most = 3600000, HAS(interval_ms)},
	{"lease_ms", .least = 100, .most = 3600000, HAS(lease_ms)},
	{"gossip_from", .least = 1, .most = PEER_MEMBERS_MOST, HAS(gossip_from)},
	{"last_port", .most = 65535, HAS(last_port)},
	{"cpus", .most = 65536, HAS(cpus)},
	{"multicast", HAS(multicast)},
	{"speed", REAL(speed)},
	{"k1", REAL(rule.k1)},
	{"k2", REAL(rule.k2)},
	{0},
};

/* Uses the default of a weight that is out of range. */
static void weight_settle(double *weight, double otherwise)
{
	if (!(*weight >= 0 && *weight <= PLACE_WEIGHT_MOST))
		*weight = otherwise;
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
	/* what is missing or out of range keeps its default */
	for (const struct field *f = conf_rows; f->name; f++)
		field_read(f, json_object_get(o, f->name), &c, NULL, NULL);
	weight_settle(&c.rule.k1, PLACE_K1);
	weight_settle(&c.rule.k2, PLACE_K2);
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
	struct strbuf text = {0};
	struct json j;
	int rc = 0;

	for (const struct field *f = conf_rows; f->form == FORM_CHARS; f++) {
		const char *value = field_text(f, c, NULL);
		json_t *known = value ? json_string(value) : json_null();
		if (!known)
			rc = err_set(err, -EINVAL, "names and paths must be UTF-8");
		json_decref(known);
	}
	json_init(&j, &text, true);
	json_open_object(&j, NULL);
	record_store(conf_rows, 0, c, NULL, &j);
	json_text(&j, "policy", place_name(c->rule.policy));
	json_close_object(&j);
	if (rc == 0)
		rc = pool_home_write(h, "pool.json", 0644, text.text, err);
	strbuf_fini(&text);
	return rc;
}
