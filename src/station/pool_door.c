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
#include <time.h>
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
	static const char *const states[] = {
		[OWNER_RUN] = "free", [OWNER_STOP] = "stopped", [OWNER_RETURN] = "leaving"};
	const struct guard *g = &p->guard;
	json_t *o = schema_json(&owner_book, &g->book);

	json_object_update_new(o, json_pack("{s:s,s:s,s:s,s:b,s:s,s:o}", "pool", p->conf.pool, "station", p->conf.name,
					    "policy", p->conf.owner, "connected", !is_alone(p), "state", states[g->act],
					    "tasks", host_list(p)));
	if (g->act != OWNER_RUN)
		json_object_update_new(o, json_pack("{s:s,s:I}", "why", owner_cause_text(g->claim.cause), "since",
						    (json_int_t)g->claimed_at));
	if (g->pause.until && g->pause.until != PAUSE_NEVER_ENDS)
		json_object_set_new(o, "pause_until", json_integer(g->pause.until));
	if (!g->senses)
		return o;
	if (g->seen.input != OWNER_NO_INPUT)
		json_object_set_new(o, "input_ago", json_integer(((int64_t)uv_now(p->loop) - g->seen.input) / 1000));
	json_object_update_new(o, json_pack("{s:s,s:s,s:i}", "who", g->seen.who, "where", g->seen.where, "devices",
					    senses_devices(g->senses)));
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

static bool may_order(const struct pool *p, const struct ucred *who)
{
	if (!who->pid || is_task(p, who->pid))
		return false;
	if (who->uid == 0 || who->uid == geteuid())
		return true;
	return *p->guard.rules.owners ? pool_guard_owns(p, who->uid)
				      : p->guard.senses && senses_logged_in(p->guard.senses, who->uid);
}

static json_t *on_line(void *context, const char *line, const struct ucred *who)
{
	struct pool *p = context;
	int64_t seconds;

	if (strcmp(line, "show") == 0)
		return show(p);
	if (!door_order(line, &seconds))
		return json_pack("{s:s}", "error", "the pool's daemon does not know that order");
	if (!may_order(p, who))
		return json_pack("{s:s}", "error",
				 *p->guard.rules.owners
					 ? "only root and the owners that this station's policy names may do that"
					 : "only root and users who are logged in at this machine may do that");
	pool_pause(p, seconds == 0 ? 0 : seconds == INT64_MAX ? PAUSE_NEVER_ENDS : (int64_t)time(NULL) + 1 + seconds);
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
	if (door_open(p->loop, path.text, on_line, p, &p->guard.door, &err) < 0)
		/* not fatal: 'shunt pool pause' still works */
		log_line(SEVERITY_WARNING, "%s", err.text);
	strbuf_fini(&path);
}

void pool_door_close(struct pool *p)
{
	struct strbuf path = {0};

	path_find(p, &path);
	if (p->guard.door)
		unlink(path.text);
	door_close(p->guard.door);
	p->guard.door = NULL;
	strbuf_fini(&path);
}
