/*
 * offline.c - see offline.h.
 */
#include "server/offline/offline.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "client/tray.h"
#include "net/http.h"
#include "server/api/frame/api.h"
#include "server/api/frame/audience.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/turn.h"
#include "server/base/users.h"
#include "server/base/work.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/link/standby.h"
#include "server/offline/regrets.h"
#include "server/offline/view.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "store/store.h"

/* gap between the numbers of jobs and of the spool; the offer is rewritten once it is used up */
#define AHEAD 100
#define BATCH 64	 /* maximum changes committed together */
#define PAUSE_US 1000000 /* pause before users are looked up again after a failure */

struct tray {
	char name[TRAY_NAME];
	int fd;
};

struct taken {
	struct server *s;
	struct tray_name name;
	uint32_t tray;
	uid_t uid;
	int64_t time_us; /* when the user made the request */
	/* number that its user was shown; the change has another if that was in use */
	uint64_t given;
	char what[REGRET_NAME]; /* what the user requested, for messages */
	bool submission, asked, done;
};

typedef VEC(struct tray) tray_vec;
typedef VEC(struct taken *) taken_vec;

/* Changes that were carried out. Another thread removes them from the disk and owns them
 * meanwhile. */
struct sweep {
	uv_work_t request;
	struct server *s;
	atomic_bool stop;
	char dir[PATH_MAX];
	tray_vec trays;
	taken_vec changes;
	struct strbuf said; /* lines for the log */
};

/* Owned by the server's audience. */
struct offline {
	char dir[PATH_MAX];
	tray_vec trays;
	taken_vec changes;   /* in the order of their numbers */
	size_t next;	     /* index of the first change not yet sent */
	size_t waiting;	     /* changes sent and not yet answered */
	struct sweep *sweep; /* set while the spool is being emptied, otherwise NULL */
	uint64_t last;	     /* highest valid number */
	bool lookup;	     /* the owner of the next change is being looked up */
	/* no changes are sent before this time, because users can't be looked up */
	int64_t pause_us;
	size_t made, refused;
	struct regrets regrets;
	bool open; /* the offer exists */
	struct offer offer;
};

static struct offline *offline_of(struct server *s)
{
	if (!s->audience->offline) {
		s->audience->offline = mem_zalloc(sizeof *s->audience->offline);
		snprintf(s->audience->offline->dir, PATH_MAX, "%s/offline", s->instance->where.state);
	}
	return s->audience->offline;
}

static bool is_tray(const struct dirent *d)
{
	return d->d_name[0] == 'g' && strlen(d->d_name) < TRAY_NAME;
}

/* ---- the offer ---- */

/* Returns the number of names in all trays. */
static uint64_t names_count(const struct offline *o)
{
	DIR *dir = opendir(o->dir);
	const struct dirent *d;
	uint64_t n = 0;

	while (dir && (d = readdir(dir))) {
		tray_names names = {0};
		if (is_tray(d) && tray_list(o->dir, d->d_name, &names, NULL) == 0)
			n += names.n;
		vec_free(&names);
	}
	if (dir)
		closedir(dir);
	return n;
}

/* Offers a new tray instead of the previous one, which is read next: commands find an offer even if
 * this server is killed meanwhile. Its numbers follow those that may be in the trays already. */
static int offer_renew(struct server *s, struct offline *o, struct err *err)
{
	struct offer old = {0};
	int rc = tray_make(o->dir, s->instance->multi, o->offer.tray, err);

	if (rc < 0)
		return rc;
	uint64_t used = (offer_read(o->dir, &old, NULL) == 0 ? old.next : 0) + names_count(o);
	snprintf(o->offer.server, sizeof o->offer.server, "%s", s->instance->name);
	o->offer.shared = s->instance->multi;
	o->offer.wait = (int)s->conf->offline_wait;
	o->offer.next = (s->jobs->next_number > used ? s->jobs->next_number : used) + AHEAD;
	return offer_write(o->dir, &o->offer, err);
}

int offline_open(struct server *s, struct err *err)
{
	struct offline *o = offline_of(s);

	if (!s->conf->offline || lead_leased(s))
		return 0;
	o->offer.next = (s->jobs->next_number > o->last ? s->jobs->next_number : o->last + 1) + AHEAD;
	int rc = offer_write(o->dir, &o->offer, err);
	o->open = rc == 0;
	view_begin(s);
	return rc;
}

int offline_offer(struct server *s, struct err *err)
{
	struct offline *o = s->audience->offline;

	if (!o || !o->open || s->jobs->next_number <= o->offer.next)
		return 0;
	o->offer.next = s->jobs->next_number + AHEAD;
	int rc = offer_write(o->dir, &o->offer, err);
	if (rc == 0)
		return 0;
	/* Without an offer commands do not use the tray. Removing it works even on a full disk. */
	o->offer.next = 0;
	server_log(s, SEVERITY_ERROR, "commands need a running server until this is fixed: %s", err->text);
	return offer_remove(o->dir, err);
}

/* Ends the work on the spool. The offer gets the next free number, so that commands continue
 * exactly from there. */
void offline_end(struct server *s)
{
	struct offline *o = s->audience->offline;
	struct err err;

	if (o && o->sweep)
		atomic_store(&o->sweep->stop, true);
	while (o && o->sweep)
		uv_run(s->loop, UV_RUN_ONCE);
	if (!o || !o->open)
		return;
	view_end(s);
	if (s->turn->merging || o->offer.next == 0)
		return;
	o->offer.next = s->jobs->next_number;
	if (offer_write(o->dir, &o->offer, &err) < 0)
		server_log(s, SEVERITY_ERROR, "the next job number can't be left for the time without a server: %s",
			   err.text);
}

/* ---- reading the spool ---- */

static int by_number(const void *a, const void *b)
{
	const struct taken *x = *(struct taken *const *)a, *y = *(struct taken *const *)b;

	if (x->name.number != y->name.number)
		return (x->name.number > y->name.number) - (x->name.number < y->name.number);
	return x->name.taken != y->name.taken ? y->name.taken - x->name.taken : (int)x->tray - (int)y->tray;
}

static void changes_sort(struct offline *o)
{
	if (o->changes.n)
		qsort(o->changes.v, o->changes.n, sizeof *o->changes.v, by_number);
}

/* Returns the last time the server is known to have been up, in microseconds. Changes are taken to
 * be later, since users can create names in the tray even while the server is up. */
static int64_t up_until(struct server *s, const struct offline *o)
{
	char path[PATH_MAX + 8];
	struct stat st;
	int64_t last = 0;

	snprintf(path, sizeof path, "%s/offer", o->dir);
	if (stat(path, &st) == 0)
		last = (int64_t)st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000;
	JOBS_EACH(s, i)
		if (entry_get(s, i)->spec && entry_get(s, i)->spec->created * 1000000 > last)
			last = entry_get(s, i)->spec->created * 1000000;
	return last < s->clock->now_us ? last : s->clock->now_us;
}

static int tray_collect(struct server *s, struct offline *o, const char *name, struct err *err)
{
	struct tray t = {.fd = -1};
	char path[PATH_MAX + TRAY_NAME];
	tray_names names = {0};

	snprintf(t.name, sizeof t.name, "%s", name);
	snprintf(path, sizeof path, "%s/%s", o->dir, t.name);
	t.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int rc = t.fd < 0 ? -errno : tray_close(t.fd);
	if (rc < 0) {
		if (t.fd >= 0)
			close(t.fd);
		return err_set(err, rc, "%.300s: %s", path, strerror(-rc));
	}
	rc = tray_list(o->dir, t.name, &names, err);
	for (size_t i = 0; i < names.n && rc == 0; i++) {
		struct taken *c = mem_zalloc(sizeof *c);
		*c = (struct taken){.s = s,
				    .name = names.v[i],
				    .tray = (uint32_t)o->trays.n,
				    .uid = (uid_t)-1,
				    .given = names.v[i].number,
				    .what = "a request that can't be read"};
		vec_push(&o->changes, c);
	}
	if (rc == 0)
		tray_sweep(t.fd);
	vec_free(&names);
	vec_push(&o->trays, t);
	return rc;
}

/* Returns true if no other change has the number of change `i` and it is not below `next`, which
 * jobs have used. */
static bool number_counts(const struct offline *o, size_t i, uint64_t next)
{
	const struct taken *c = o->changes.v[i];

	return c->name.taken || (c->given >= next && (i == 0 || o->changes.v[i - 1]->given != c->given));
}

/* Finds the highest valid number. Junk files with invented numbers must not raise the server's
 * numbers. */
static void last_find(struct server *s, struct offline *o)
{
	o->last = s->jobs->next_number - 1;
	for (size_t i = 0; i < o->changes.n; i++)
		if (o->changes.v[i]->name.number > o->last && o->changes.v[i]->name.number - o->last <= TRAY_GAP)
			o->last = o->changes.v[i]->name.number;
}

/* Takes the changes over in the order of their numbers. A change whose number is in use gets a new
 * one after all others, since users already know theirs. */
static void changes_take(struct server *s, struct offline *o, int64_t least_us)
{
	size_t kept = 0;

	changes_sort(o);
	last_find(s, o);
	for (size_t i = 0; i < o->changes.n; i++) {
		struct taken *c = o->changes.v[i];
		uint64_t number = number_counts(o, i, s->jobs->next_number) ? c->given : ++o->last;
		if (tray_take(o->trays.v[c->tray].fd, &c->name, number, least_us) < 0)
			c->done = true; /* its user has withdrawn it */
	}
	for (size_t i = 0; i < o->changes.n; i++)
		if (o->changes.v[i]->done)
			free(o->changes.v[i]);
		else
			o->changes.v[kept++] = o->changes.v[i];
	o->changes.n = kept;
	changes_sort(o);
}

/* Makes times follow the order of the numbers, which decides among this machine's changes. Owners
 * can make a time later but not earlier, so each is limited to the time of the next change. */
static void times_settle(struct server *s, struct offline *o)
{
	int64_t least = s->clock->now_us;

	for (size_t i = o->changes.n; i-- > 0;) {
		int64_t *time = &o->changes.v[i]->name.time_us;
		least = *time && *time < least ? *time : least;
		o->changes.v[i]->time_us = least;
	}
}

int offline_begin(struct server *s, struct err *err)
{
	struct offline *o = offline_of(s);
	const struct dirent *d;
	int64_t least_us;
	int rc = 0;

	if (lead_leased(s))
		return 0;
	DIR *dir = opendir(o->dir);
	if (!dir)
		return err_set(err, -errno, "%.300s: %s", o->dir, strerror(errno));
	least_us = up_until(s, o);
	rc = s->conf->offline ? offer_renew(s, o, err) : offer_remove(o->dir, err);
	while (rc == 0 && (d = readdir(dir)))
		if (is_tray(d) && strcmp(d->d_name, o->offer.tray) != 0)
			rc = tray_collect(s, o, d->d_name, err);
	closedir(dir);
	if (rc < 0)
		return rc;
	changes_take(s, o, least_us);
	times_settle(s, o);
	s->turn->merging = o->changes.n > 0; /* otherwise clients need not wait */
	return 0;
}

/* ---- carrying out changes ---- */

/* Keeps jobs from getting the number of a change. */
static void number_use(struct server *s, const struct taken *c)
{
	if (c->name.number >= s->jobs->next_number && c->name.number <= s->audience->offline->last)
		s->jobs->next_number = c->name.number + 1;
}

static void change_refuse(struct server *s, struct taken *c, const char *why)
{
	struct offline *o = s->audience->offline;
	struct fate x = {.uid = c->uid, .number = c->given, .what = c->what, .why = why};

	regrets_add(s, &o->regrets, &x);
	number_use(s, c);
	o->refused++;
	c->done = true;
}

/* Reports a submission whose number was not free. The offer prevents that, unless, for example, the
 * store is an older copy. */
static void number_lost(struct server *s, struct taken *c, uint64_t number)
{
	char why[100];
	struct fate x = {.uid = c->uid, .number = c->given, .what = c->what, .why = why};

	snprintf(why, sizeof why, "its number was in use, and it became job %" PRIu64, number);
	regrets_add(s, &s->audience->offline->regrets, &x);
}

static void on_answer(void *context, int status, const char *body, size_t n)
{
	struct taken *c = context;
	struct offline *o = c->s->audience->offline;
	json_t *json = json_loadb(body, n, 0, NULL);
	const char *why = json_string_value(json_object_get(json_object_get(json, "error"), "message"));
	json_int_t number = json_integer_value(json_object_get(json, "number"));

	o->waiting--;
	/* the store can't be written or the server is ending: retry */
	if (status == 503 || status == 504) {
		c->asked = false;
		o->next = 0;
	} else if (status / 100 != 2) {
		change_refuse(c->s, c, why ? why : "the reason is not known");
	} else {
		struct fate x = {.uid = c->uid, .number = c->given, .what = c->what, .answer = json};
		if (c->submission && (uint64_t)number != c->given)
			number_lost(c->s, c, (uint64_t)number);
		regrets_add(c->s, &o->regrets, &x);
		o->made++;
		turn_wake(c->s);
	}
	json_decref(json);
}

/* Sends a change as its owner would. */
static void change_send(struct server *s, struct taken *c, const struct kept *x, gid_t gid)
{
	struct offline *o = s->audience->offline;
	char key[80], *body = json_dumps(x->body, JSON_COMPACT);
	struct inner inner = {.peer = {x->uid, gid, 0},
			      .method = "POST",
			      .path = x->path,
			      .key = key,
			      .body = body,
			      .n = strlen(body),
			      .number = c->name.number,
			      .time_us = c->time_us,
			      .done = on_answer,
			      .context = c};

	snprintf(key, sizeof key, "spool:%s:%" PRIu64, o->trays.v[c->tray].name, c->name.number);
	o->waiting++;
	api_receive(s, http_inner(s->http, &inner)); /* cannot fail: the path is valid */
	free(body);
	if (!c->submission)
		number_use(s, c);
}

static void on_lookup(struct server *s, void *context)
{
	s->audience->offline->lookup = false;
	turn_wake(s);
}

/* Returns true if the change was sent or refused; false while its owner is not known yet. */
static bool change_begin(struct server *s, struct taken *c, const struct kept *x)
{
	struct offline *o = s->audience->offline;
	struct user_key k = {USER_BY_ID, x->uid, NULL};
	const struct user *user = NULL;
	struct err err;
	enum lookup l = users_find(s, k, &user, &err);

	if (l == LOOKUP_PENDING) {
		o->lookup = true;
		users_wait(s, k, on_lookup, NULL);
	} else if (l == LOOKUP_FAILED) {
		o->pause_us = s->clock->now_us + PAUSE_US;
		server_log(s, SEVERITY_WARNING, "changes in the spool have to wait: %s", err.text);
	} else if (!user) {
		change_refuse(s, c, "its owner has no account on this machine");
	} else {
		change_send(s, c, x, user->gid);
	}
	return l == LOOKUP_KNOWN || l == LOOKUP_NONE;
}

static bool change_ask(struct server *s, struct taken *c)
{
	struct offline *o = s->audience->offline;
	struct kept x;
	struct err err;
	int rc = tray_read(o->trays.v[c->tray].fd, &c->name, s->instance->multi ? getegid() : (gid_t)-1, &x, &err);

	c->uid = x.uid;
	c->submission = rc == 0 && strcmp(x.path, "/v1/jobs") == 0;
	if (rc == 0)
		regrets_name(x.path, x.body, c->what);
	if (rc == -ENODATA)
		c->done = true;
	else if (rc < 0)
		change_refuse(s, c, err.text);
	else if (c->name.number > o->last)
		change_refuse(s, c, "its number does not follow those of the others");
	c->asked = c->done || change_begin(s, c, &x);
	kept_fini(&x);
	return c->asked;
}

/* ---- removing changes ---- */

static void on_sweep(uv_work_t *request)
{
	struct sweep *w = request->data;
	char name[TRAY_NAME];

	for (size_t i = 0; i < w->changes.n && !atomic_load(&w->stop); i++) {
		const struct taken *c = w->changes.v[i];
		int rc = tray_remove(w->trays.v[c->tray].fd, &c->name);
		tray_name_format(&c->name, name);
		if (rc < 0 && rc != -ENOENT)
			strbuf_printf(&w->said, "%s/%s/%s can't be removed (%s): remove it by hand\n", w->dir,
				      w->trays.v[c->tray].name, name, strerror(-rc));
	}
	for (size_t i = 0; i < w->trays.n; i++) {
		char path[PATH_MAX + TRAY_NAME];
		close(w->trays.v[i].fd);
		snprintf(path, sizeof path, "%s/%s", w->dir, w->trays.v[i].name);
		if (rmdir(path) < 0 && errno != ENOTEMPTY && errno != EEXIST)
			strbuf_printf(&w->said, "%s: %s\n", path, strerror(errno));
	}
}

static void on_swept(uv_work_t *request, int status)
{
	struct sweep *w = request->data;
	char *rest = w->said.text, *line;

	while ((line = strsep(&rest, "\n")))
		if (*line)
			server_log(w->s, SEVERITY_WARNING, "%s", line);
	w->s->audience->offline->sweep = NULL;
	for (size_t i = 0; i < w->changes.n; i++)
		free(w->changes.v[i]);
	vec_free(&w->changes);
	vec_free(&w->trays);
	strbuf_fini(&w->said);
	free(w);
}

/* Ends the merge, once all changes are committed. Another thread removes the files, since a file
 * system can be slow with thousands of directories. After a crash before that, the keys show that
 * the changes were made. */
static void merge_end(struct server *s, struct offline *o)
{
	struct sweep *w = mem_zalloc(sizeof *w);

	w->s = s;
	w->request.data = w;
	snprintf(w->dir, sizeof w->dir, "%s", o->dir);
	w->trays = o->trays;
	w->changes = o->changes;
	o->trays = (tray_vec){0};
	o->changes = (taken_vec){0};
	o->sweep = w;
	uv_queue_work(s->loop, &w->request, on_sweep, on_swept);
	if (w->changes.n)
		server_log(s, SEVERITY_NOTICE, "processed the spool: %zu changes made, %zu refused", o->made,
			   o->refused);
	regrets_send(s, &o->regrets);
	s->turn->merging = false;
	s->turn->dirty = true;
}

int64_t offline_next(const struct server *s)
{
	if (!s->audience->offline || !s->audience->offline->open)
		return TIME_NEVER;
	if (!s->turn->merging)
		return view_next(s);
	return s->audience->offline->lookup ? TIME_NEVER : s->audience->offline->pause_us;
}

/* Sends the next changes. Ordinary submissions complete at once, so that one commit holds many; a
 * change that takes several turns is sent alone. */
static void merge_turn(struct server *s, struct offline *o)
{
	if (s->turn->trouble || s->turn->terminating || s->turn->emptying || o->lookup ||
	    s->clock->now_us < o->pause_us)
		return;
	for (; o->next < o->changes.n && o->waiting < BATCH && s->slices->works.n == 0; o->next++)
		if (!o->changes.v[o->next]->asked && !change_ask(s, o->changes.v[o->next]))
			return;
	if (o->next == o->changes.n && o->waiting == 0 && !store_pending(s->store))
		merge_end(s, o);
}

void offline_turn(struct server *s)
{
	struct offline *o = s->audience->offline;

	if (s->turn->merging)
		merge_turn(s, o);
	else if (o && o->trays.n) /* they were empty */
		merge_end(s, o);
	else if (o && o->open)
		view_turn(s);
}
