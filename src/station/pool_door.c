/*
 * pool_door.c - `shunt owner` on a station of a pool (door.h): shows who uses the machine and what
 * it has contributed, and pauses it. Needs neither root nor a network.
 *
 * Every user may look. Orders are accepted from root, the user who runs the daemon, and the
 * machine's owners: the users that the policy names or, if it names none, any user with a terminal
 * here. Processes of tasks are never accepted.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/codec.h"
#include "base/logline.h"
#include "station/pool_internal.h"

#define SYSTEM_DIR "/run/shunt-pool"

/* ---- totals: DIR/owner.json ---- */

void book_load(struct pool *p)
{
	struct strbuf text = {0};
	json_t *o = pool_home_read(&p->home, "owner.json", &text, NULL) == 0 ? json_loads(strbuf_text(&text), 0, NULL)
									     : NULL;

	record_load(owner_book.fields, 0, o, &p->guard.book, NULL, NULL);
	json_decref(o);
	strbuf_fini(&text);
}

void book_store(struct pool *p)
{
	struct strbuf text = {0};
	struct err err;

	record_store_text(owner_book.fields, 0, &p->guard.book, NULL, &text);
	if (pool_home_write(&p->home, "owner.json", 0600, text.text, &err) < 0)
		log_line(SEVERITY_ERROR, "%s", err.text);
	strbuf_fini(&text);
}

/* ---- the door ---- */

static bool is_alone(const struct pool *p)
{
	for (const struct host *h = p->hosts; h; h = h->next)
		if (h->welcome && strcmp(h->name, p->conf.name) != 0)
			return false;
	return true;
}

static json_t *show(struct pool *p)
{
	const struct guard *g = &p->guard;
	json_t *o = schema_json(&owner_book, &g->book);

	json_object_update_new(o, json_pack("{s:s,s:s,s:s,s:b,s:o}", "pool", p->conf.pool, "station", p->conf.name,
					    "policy", p->conf.owner, "connected", !is_alone(p), "tasks", host_list(p)));
	sentry_show(&g->sentry, p->loop, o);
	if (g->sentry.pause.until && g->sentry.pause.until != PAUSE_NEVER_ENDS)
		json_object_set_new(o, "pause_until", json_integer(g->sentry.pause.until));
	return o;
}

static bool is_task(const struct pool *p, pid_t pid)
{
	pid_list ours = {0};
	bool found = false;

	host_pids(p, &ours);
	for (size_t i = 0; i < ours.n && !found; i++)
		found = ours.v[i] == pid;
	vec_free(&ours);
	return found;
}

static json_t *on_line(void *context, const char *line, const struct ucred *who)
{
	struct pool *p = context;
	json_t *refusal;
	int64_t until;

	if (strcmp(line, "show") == 0)
		return show(p);
	refusal = sentry_order(&p->guard.sentry, line, who, is_task(p, who->pid), who->uid == geteuid(),
			       "pool's daemon", "station", &until);
	if (refusal)
		return refusal;
	pool_pause(p, until);
	return show(p);
}

/* Builds the socket's path; for the system's daemon, one that every user can reach. */
static void path_find(const struct pool *p, struct strbuf *ret)
{
	if (strcmp(p->home.dir, POOL_HOME_SYSTEM) == 0) {
		if (mkdir(SYSTEM_DIR, 0755) == 0)
			chmod(SYSTEM_DIR, 0755); /* regardless of the umask */
		strbuf_puts(ret, POOL_DOOR_SYSTEM);
	} else {
		pool_home_path(&p->home, POOL_DOOR, ret);
	}
}

void pool_door_open(struct pool *p)
{
	struct strbuf path = {0};
	struct err err;

	path_find(p, &path);
	if (door_open(p->loop, path.text, on_line, p, &p->guard.sentry.door, &err) < 0)
		/* not fatal: 'shunt pool pause' still works */
		log_line(SEVERITY_WARNING, "%s", err.text);
	strbuf_fini(&path);
}

void pool_door_close(struct pool *p)
{
	struct strbuf path = {0};

	path_find(p, &path);
	if (p->guard.sentry.door)
		unlink(path.text);
	door_close(p->guard.sentry.door);
	p->guard.sentry.door = NULL;
	strbuf_fini(&path);
}
