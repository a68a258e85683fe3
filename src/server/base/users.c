/*
 * users.c - see users.h.
 *
 * A record belongs to the table. A record whose lookup runs or is queued (asked_ms) stays until the
 * lookup has ended, so the thread's result finds it. Threads access only their struct lookup_work.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "server/base/log.h"
#include "server/base/turn.h"
#include "server/base/users.h"
#include "server/server.h"

#define FRESH_MS 60000	  /* age up to which a result is used without a new lookup */
#define USABLE_MS 300000  /* age up to which a result is used while a new lookup runs */
#define BRIEF_MS 2000	  /* lifetime of "no such user" and of failures, which may be gone soon */
#define PATIENCE_MS 30000 /* how long a request waits */
#define SLOW_MS 5000	  /* lookups that take longer are logged */
#define TICK_MS 1000
#define AT_ONCE 8     /* threads, of those of main.c, that lookups may use; others read the store */
#define WAITING 1000  /* maximum lookups that may wait for a thread */
#define RECORDS 10000 /* records at which unused ones are dropped */
#define BUFFER_MAX (16 << 20)
#define GROUPS_MAX 65536

typedef VEC(struct user_wait {
	void (*done)(struct server * s, void *context);
	void *context;
}) wait_vec;

struct user_record {
	struct user_key key;
	struct user user;
	enum lookup answer;	       /* LOOKUP_PENDING: no result yet */
	int error;		       /* errno of LOOKUP_FAILED */
	int64_t answered_ms, asked_ms; /* asked_ms 0: no lookup is running or queued */
	wait_vec waits;
};

/* What a thread that looks up a user reads and writes. */
struct lookup_work {
	uv_work_t work;
	struct server *s;
	struct user_record *record;
	struct user_key key; /* its name belongs to the record, which stays */
	struct user user;
	int rc; /* 0, -ENOENT, or the error */
};

static void user_free(struct user *u)
{
	for (int i = 0; i < u->ngroups; i++)
		free(u->groups[i]);
	free(u->groups);
	free(u->gids);
	free(u->name);
	free(u->home);
	free(u->shell);
	*u = (struct user){0};
}

/* ---- on a thread ---- */

/* Maps the errors of getpwnam(3) that mean "not found", which differ between modules, to
 * -ENOENT. */
static int lookup_error(int error)
{
	return error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM ? -ENOENT : -error;
}

/* Returns a group's name; malloc'd. */
static int group_look(gid_t gid, char **ret)
{
	struct group entry, *found = NULL;
	char *buf = NULL;
	int error = ERANGE;

	for (size_t size = 4096; error == ERANGE && size <= BUFFER_MAX; size *= 4) {
		buf = mem_realloc(buf, size, 1);
		error = getgrgid_r(gid, &entry, buf, size, &found);
	}
	if (found)
		*ret = mem_strdup(entry.gr_name);
	free(buf);
	return found ? 0 : lookup_error(error);
}

static int passwd_look(const struct user_key *k, struct user *ret)
{
	struct passwd entry, *found = NULL;
	char *buf = NULL;
	int error = ERANGE;

	for (size_t size = 4096; error == ERANGE && size <= BUFFER_MAX; size *= 4) {
		buf = mem_realloc(buf, size, 1);
		error = k->by == USER_BY_NAME ? getpwnam_r(k->name, &entry, buf, size, &found)
					      : getpwuid_r(k->id, &entry, buf, size, &found);
	}
	if (found) {
		ret->name = mem_strdup(entry.pw_name);
		ret->home = mem_strdup(entry.pw_dir && *entry.pw_dir ? entry.pw_dir : "/");
		ret->shell = mem_strdup(entry.pw_shell && *entry.pw_shell ? entry.pw_shell : "/bin/sh");
		ret->uid = entry.pw_uid;
		ret->gid = entry.pw_gid;
	}
	free(buf);
	return found ? 0 : lookup_error(error);
}

static int groups_look(struct user *u)
{
	gid_t *gids = NULL;
	int n = 64, room, rc = 0;

	do { /* some libraries do not return the number needed */
		room = n;
		gids = mem_realloc(gids, (size_t)room, sizeof *gids);
		if (getgrouplist(u->name, u->gid, gids, &n) >= 0)
			break;
		n = n > room ? n : room * 2;
	} while (room < GROUPS_MAX);
	u->gids = gids;
	u->groups = mem_alloc(((size_t)n + 1) * sizeof *u->groups);
	for (int i = 0; i < n && i < room; i++) {
		rc = group_look(gids[i], &u->groups[u->ngroups]);
		if (rc == 0)
			u->gids[u->ngroups++] = gids[i];
		else if (rc != -ENOENT)
			return rc;
	}
	return 0;
}

static void lookup_run(uv_work_t *work)
{
	struct lookup_work *w = work->data;

	if (w->key.by == GROUP_BY_ID) {
		w->rc = group_look(w->key.id, &w->user.name);
		return;
	}
	w->rc = passwd_look(&w->key, &w->user);
	if (w->rc == 0)
		w->rc = groups_look(&w->user);
}

/* ---- the table ---- */

static uint64_t key_hash(const struct user_key *k)
{
	uint64_t low = k->by == USER_BY_NAME ? hash_bytes(k->name, strlen(k->name)) : k->id;

	return (low & (UINT64_MAX >> 2)) | (uint64_t)k->by << 62;
}

static struct user_record *record_find(const struct users *u, const struct user_key *k)
{
	uint64_t at;

	if (!map_get(&u->index, key_hash(k), &at))
		return NULL;
	return u->list.v[at - 1];
}

static bool record_idle(const struct user_record *r)
{
	return !r->asked_ms && !r->waits.n;
}

static void record_remove(struct users *u, size_t at)
{
	struct user_record *r = u->list.v[at], *last = u->list.v[u->list.n - 1];

	map_set(&u->index, key_hash(&last->key), at + 1);
	map_remove(&u->index, key_hash(&r->key));
	u->list.v[at] = last;
	u->list.n--;
	user_free(&r->user);
	vec_free(&r->waits);
	free((char *)r->key.name);
	free(r);
}

/* Returns the machine's monotonic time: a lookup takes real time, whatever the server's clock
 * shows. Not by clock_ms(), which tests set. */
static int64_t now_ms(void)
{
	return (int64_t)(uv_hrtime() / 1000000);
}

static bool record_usable(const struct user_record *r)
{
	return r->answer == LOOKUP_KNOWN && now_ms() - r->answered_ms < USABLE_MS;
}

/* Drops all records without a waiting caller, or only those that are no longer usable. */
static void records_drop(struct users *u, bool useful)
{
	for (size_t i = u->list.n; i-- > 0;)
		if (record_idle(u->list.v[i]) && (useful || !record_usable(u->list.v[i])))
			record_remove(u, i);
}

/* Finds or adds a record. Returns NULL if another name has the same hash and is being looked up. */
static struct user_record *record_get(struct users *u, const struct user_key *k)
{
	struct user_record *r = record_find(u, k);
	uint64_t at;

	if (r && (k->by != USER_BY_NAME || strcmp(r->key.name, k->name) == 0))
		return r;
	if (r && !record_idle(r))
		return NULL;
	if (r && map_get(&u->index, key_hash(k), &at))
		record_remove(u, at - 1);
	if (u->list.n >= RECORDS) {
		records_drop(u, false);
		if (u->list.n >= RECORDS * 3 / 4) /* frees enough for a while */
			records_drop(u, true);
	}
	r = mem_zalloc(sizeof *r);
	r->key = *k;
	r->key.name = k->name ? mem_strdup(k->name) : NULL;
	r->answer = LOOKUP_PENDING;
	vec_push(&u->list, r);
	map_set(&u->index, key_hash(k), u->list.n);
	return r;
}

/* ---- lookups ---- */

/* Moves the waiting callers out of the record, since the callbacks may change the table. */
static void waits_take(struct user_record *r, wait_vec *to)
{
	for (size_t i = 0; i < r->waits.n; i++)
		vec_push(to, r->waits.v[i]);
	vec_free(&r->waits);
}

static void waits_end(struct server *s, wait_vec *waits)
{
	for (size_t i = 0; i < waits->n; i++)
		waits->v[i].done(s, waits->v[i].context);
	vec_free(waits);
}

static void lookup_done(uv_work_t *work, int status);

static void lookups_go(struct server *s)
{
	struct users *u = s->users;

	while (u->running < AT_ONCE && u->queue.n && !u->stopped) {
		struct lookup_work *w = mem_zalloc(sizeof *w);
		w->work.data = w;
		w->s = s;
		w->record = u->queue.v[0];
		w->key = w->record->key;
		vec_remove(&u->queue, 0);
		u->running++;
		uv_queue_work(s->loop, &w->work, lookup_run, lookup_done);
	}
}

/* Logs a slow lookup, since users wait for it and administrators look for the cause. */
static void slow_say(const struct server *s, const struct user_record *r)
{
	int64_t ms = now_ms() - r->asked_ms;

	if (ms < SLOW_MS)
		return;
	if (r->key.by == USER_BY_NAME)
		server_log(s, SEVERITY_WARNING, "looking up user %s took %.1f s", r->key.name, (double)ms / 1e3);
	else
		server_log(s, SEVERITY_WARNING, "looking up %s %u took %.1f s",
			   r->key.by == GROUP_BY_ID ? "group" : "user", (unsigned)r->key.id, (double)ms / 1e3);
}

static void lookup_done(uv_work_t *work, int status)
{
	struct lookup_work *w = work->data;
	struct user_record *r = w->record;
	struct server *s = w->s;
	wait_vec waits = {0};

	turn_wake(s); /* a job may be waiting for this user */
	slow_say(s, r);
	s->users->running--;
	r->asked_ms = 0;
	/* keep the old record while it is usable; then it is looked up again */
	if (w->rc < 0 && w->rc != -ENOENT && record_usable(r)) {
		user_free(&w->user);
	} else {
		user_free(&r->user);
		r->user = w->user;
		r->answer = w->rc == 0 ? LOOKUP_KNOWN : w->rc == -ENOENT ? LOOKUP_NONE : LOOKUP_FAILED;
		r->error = -w->rc;
		r->answered_ms = now_ms();
	}
	free(w);
	lookups_go(s);
	waits_take(r, &waits);
	waits_end(s, &waits);
}

static bool lookup_start(struct server *s, struct user_record *r)
{
	if (r->asked_ms)
		return true;
	if (s->users->stopped || s->users->queue.n >= WAITING)
		return false;
	r->asked_ms = now_ms();
	vec_push(&s->users->queue, r);
	lookups_go(s);
	return true;
}

enum lookup users_find(struct server *s, struct user_key k, const struct user **ret, struct err *err)
{
	struct user_record *r = s->users->stopped ? NULL : record_get(s->users, &k);
	int64_t now = now_ms(), age = r ? now - r->answered_ms : 0;

	if (r && record_usable(r)) {
		if (age >= FRESH_MS)
			lookup_start(s, r);
		*ret = &r->user;
		return LOOKUP_KNOWN;
	}
	if (r && r->answer == LOOKUP_NONE && age < BRIEF_MS)
		return LOOKUP_NONE;
	if (s->users->stopped)
		err_set(err, -ESHUTDOWN, "the server is shutting down");
	else if (r && r->answer == LOOKUP_FAILED && age < BRIEF_MS)
		err_set(err, -r->error, "%s", strerror(r->error));
	else if (!r || !lookup_start(s, r))
		err_set(err, -EBUSY, "too many users are being looked up");
	else if (now - r->asked_ms >= PATIENCE_MS)
		err_set(err, -ETIMEDOUT, "the user database has not answered for %d s", PATIENCE_MS / 1000);
	else
		return LOOKUP_PENDING;
	return LOOKUP_FAILED;
}

/* ---- waiting ---- */

static void on_tick(uv_timer_t *t)
{
	struct server *s = t->data;
	wait_vec due = {0};
	size_t waiting = 0;

	turn_wake(s);
	for (size_t i = 0; i < s->users->list.n; i++) {
		struct user_record *r = s->users->list.v[i];
		if (r->waits.n && now_ms() - r->asked_ms >= PATIENCE_MS)
			waits_take(r, &due);
		waiting += r->waits.n;
	}
	if (!waiting)
		uv_timer_stop(t);
	waits_end(s, &due);
}

void users_wait(struct server *s, struct user_key k, void (*done)(struct server *s, void *context), void *context)
{
	struct user_record *r = record_find(s->users, &k);

	vec_push(&r->waits, ((struct user_wait){done, context}));
	if (!s->users->ticks) {
		uv_timer_init(s->loop, &s->users->timer);
		s->users->timer.data = s;
		s->users->ticks = true;
	}
	if (!uv_is_active((uv_handle_t *)&s->users->timer))
		uv_timer_start(&s->users->timer, on_tick, TICK_MS, TICK_MS);
}

/* ---- known users ---- */

const struct user *user_known(const struct server *s, uid_t uid)
{
	const struct user_record *r = record_find(s->users, &(struct user_key){USER_BY_ID, uid, NULL});

	return r && r->answer == LOOKUP_KNOWN ? &r->user : NULL;
}

bool user_in(const struct user *u, gid_t gid)
{
	for (int i = 0; i < u->ngroups; i++)
		if (u->gids[i] == gid)
			return true;
	return false;
}

const char *user_group(const struct server *s, uid_t uid, gid_t gid)
{
	const struct user *u = user_known(s, uid);
	const struct user_record *g = record_find(s->users, &(struct user_key){GROUP_BY_ID, gid, NULL});

	for (int i = 0; u && i < u->ngroups; i++)
		if (u->gids[i] == gid)
			return u->groups[i];
	return g && g->answer == LOOKUP_KNOWN ? g->user.name : NULL;
}

void users_forget(struct server *s)
{
	records_drop(s->users, true);
	for (size_t i = 0; i < s->users->list.n; i++) /* results on their way are new */
		s->users->list.v[i]->answer = LOOKUP_PENDING;
}

void users_stop(struct server *s)
{
	wait_vec all = {0};

	s->users->stopped = true;
	if (s->users->ticks)
		uv_timer_stop(&s->users->timer);
	for (size_t i = 0; i < s->users->list.n; i++)
		waits_take(s->users->list.v[i], &all);
	waits_end(s, &all);
}

bool users_busy(const struct server *s)
{
	return s->users->running > 0;
}
