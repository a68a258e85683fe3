/*
 * offline_jobs.c - the queue while no server runs: the jobs of the server's last view, then the
 * user's spooled changes in order.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/codec.h"
#include "base/jsonread.h"
#include "base/members.h"
#include "base/vec.h"
#include "client/offline.h"
#include "client/offline_internal.h"
#include "core/jobschema.h"
#include "core/reqtext.h"

struct queue {
	json_t *jobs;
	const struct offer *offer;
	VEC(struct kept) changes;
	struct line line;
	uid_t uid;	 /* user whose name `owner` is: usually there is only one */
	char owner[256]; /* "": not looked up yet */
};

#define SUBMITTED "it was submitted while the server was down"

#define ID_MOST 64 /* length limit of an id without the server's name */

/* Returns the key of an id, which lacks the server's name; NULL: it cannot be a job's. */
static const char *key_of(const char *id, char ret[ID_MOST])
{
	size_t n = strcspn(id, ".");

	if (n == 0 || n >= ID_MOST)
		return NULL;
	snprintf(ret, ID_MOST, "%.*s", (int)n, id);
	return ret;
}

json_t *offline_find(const json_t *jobs, const char *id)
{
	char room[ID_MOST];
	const char *key = key_of(id, room);

	return key ? json_object_get(jobs, key) : NULL;
}

/* Adds a row, taking ownership. */
static void row_add(json_t *jobs, json_t *row)
{
	const char *id = json_string_value(json_object_get(row, "id"));
	char room[ID_MOST];
	const char *key = id ? key_of(id, room) : NULL;

	/* A killed server may have written a job into its view and left its submission in the
	 * spool. */
	if (key && !json_object_get(jobs, key))
		json_object_set(jobs, key, row);
	json_decref(row);
}

/* ---- the server's view ---- */

void offline_written(const char *dir, const struct offer *l, json_t *jobs, int64_t *ret_time, json_t **ret_plan)
{
	FILE *f = offline_view(dir, l);
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while (f && (n = getline(&line, &room, f)) > 0) {
		json_t *o = json_read(line, (size_t)n, 0, NULL);
		if (json_is_integer(json_object_get(o, "as_of")))
			*ret_time = json_integer_value(json_object_get(o, "as_of"));
		else if (json_is_object(json_object_get(o, "plan")) && ret_plan && !*ret_plan)
			*ret_plan = json_incref(json_object_get(o, "plan"));
		else if (json_is_object(o))
			row_add(jobs, json_incref(o));
		json_decref(o);
	}
	free(line);
	if (f)
		fclose(f);
}

/* ---- the changes ---- */

static void row_copy(json_t *row, const json_t *body, const char *from, const char *to)
{
	json_t *value = json_object_get(body, from);

	if (value && !json_is_null(value))
		json_object_set(row, to, value);
}

/* Copies the members that may be set at this point, a bit of `in`, and are shown under the same
 * name. */
static void row_members(json_t *row, const json_t *body, uint32_t in)
{
	for (const struct field *f = job_members; f->name; f++)
		if (f->in & in && f->in & (SHOWN | ECHOED))
			row_copy(row, body, f->name, f->name);
}

static int64_t cpus_of(const struct reqtext *r)
{
	int64_t cpus = r->nchunks ? 0 : 1;

	for (int i = 0; i < r->nchunks; i++)
		cpus += r->chunk[i].count * r->chunk[i].need.v[RES_CPU];
	return cpus;
}

/* Merges new resource requests into those of the row. */
static void resources_join(json_t *row, const json_t *body)
{
	const json_t *list = json_object_get(body, "resources"), *one;
	const char *before = member_find_text(row, "resources");
	struct arena *a = arena_create();
	struct strbuf all = {0};
	struct reqtext r;
	size_t i;

	reqtext_init(&r);
	if (before)
		reqtext_parse(&r, before, a, NULL);
	json_array_foreach(list, i, one) if (json_is_string(one))
	{
		strbuf_printf(&all, "%s%s", all.n ? "," : "", json_string_value(one));
		/* the server will report what is wrong with it */
		reqtext_parse(&r, json_string_value(one), a, NULL);
	}
	if (before && all.n) {
		strbuf_clear(&all);
		reqtext_format(&r, &all);
	}
	if (all.n)
		json_object_set_new(row, "resources", json_string(all.text));
	if (all.n && r.walltime >= 0)
		json_object_set_new(row, "walltime", json_integer(r.walltime));
	/* chunks may ask for more */
	if (r.nchunks || (!json_object_get(row, "cpus") && !r.partition))
		json_object_set_new(row, "cpus", json_integer(cpus_of(&r)));
	strbuf_fini(&all);
	arena_destroy(a);
}

static const char *owner_of(struct queue *q, uid_t uid)
{
	const struct passwd *pw = *q->owner && q->uid == uid ? NULL : getpwuid(uid);

	if (!*q->owner || q->uid != uid)
		snprintf(q->owner, sizeof q->owner, "%s", pw ? pw->pw_name : "?");
	q->uid = uid;
	return q->owner;
}

/* The deadline of a nice job is when it stops being nice. */
static void row_nice(json_t *row)
{
	const char *type = member_find_text(row, "type");

	if (!type || strcmp(type, "N") != 0)
		return;
	row_copy(row, row, "deadline", "nice_until");
	json_object_del(row, "deadline");
}

/* Changes the type as the server does: with another type a deadline means something else, or
 * nothing. */
static void row_retype(json_t *row, const json_t *body)
{
	const char *to = member_find_text(body, "type"), *from = member_find_text(row, "type");

	if (!to || (from && strcmp(from, to) == 0))
		return;
	json_object_del(row, "nice_until");
	if (*to == 'C' || *to == 'N')
		json_object_set_new(row, "deadline", json_null());
}

static json_t *submission_row(struct queue *q, const struct kept *x, const json_t *body)
{
	const char *holds = member_find_text(body, "hold");
	json_int_t time = x->time_us / 1000000;
	char id[400];
	json_t *row;

	snprintf(id, sizeof id, "%" PRIu64 "%s.%s", x->number, member_find_text(body, "array") ? "[]" : "",
		 q->offer->server);
	row = json_pack("{s:s, s:I, s:s, s:s, s:s, s:I, s:I, s:I}", "id", id, "number", (json_int_t)x->number, "name",
			"STDIN", "owner", owner_of(q, x->uid), "state", holds && *holds ? "H" : "Q", "created", time,
			"queued", time, "modified", time);
	row_members(row, body, AT_SUBMIT);
	json_object_set_new(row, "comment", json_string(SUBMITTED));
	if (json_object_get(row, "deadline") && !member_find_text(row, "type"))
		json_object_set_new(row, "type", json_string("Q"));
	row_nice(row);
	row_copy(row, body, "hold", "holds");
	row_copy(row, body, "array", "array_spec");
	row_copy(row, body, "submit_host", "host");
	resources_join(row, body);
	return row;
}

/* Sets or releases the holds that the request names, by default the user's. */
static void row_hold(json_t *row, const json_t *body, bool set)
{
	const char *named = member_find_text(body, "holds"), *before = member_find_text(row, "holds"),
		   *state = member_find_text(row, "state"), *comment = member_find_text(row, "comment");
	uint8_t bits, has = 0;
	struct strbuf text = {0};
	bool held = state && *state == 'H';

	/* the server will report what is wrong with it */
	if (letters_parse("holds", JOB_HOLDS, named && *named ? named : "u", &bits, NULL) < 0 ||
	    (before && letters_parse("holds", JOB_HOLDS, before, &has, NULL) < 0))
		return;
	has = set ? has | bits : has & (uint8_t)~bits;
	letters_format(JOB_HOLDS, has, &text);
	if (!has && held && comment && strcmp(comment, SUBMITTED) != 0)
		json_object_set_new(row, "comment", json_null()); /* it said that it is held */
	if (has || held)
		json_object_set_new(row, "state", json_string(has ? "H" : "Q"));
	json_object_set_new(row, "holds", json_string(strbuf_text(&text)));
	strbuf_fini(&text);
}

static bool waits(const json_t *row)
{
	const char *state = member_find_text(row, "state");

	return state && strchr("QHW", *state);
}

/* Moves the row behind the named job, or to the front. */
static void row_move(struct queue *q, json_t *row, const json_t *body)
{
	const char *after = member_find_text(body, "after");

	line_move(&q->line, row, after && strcmp(after, "0") != 0 ? offline_find(q->jobs, after) : NULL);
	json_object_set_new(row, "comment", json_string("it is moved when the server is started"));
}

/* Alters a row. The server changes less of a running job. */
static void row_alter(json_t *row, const json_t *body)
{
	if (!waits(row)) {
		row_members(row, body, RUNNING);
		return;
	}
	row_retype(row, body);
	row_members(row, body, AT_ALTER);
	row_nice(row);
	resources_join(row, body);
}

static void row_change(struct queue *q, const char *id, json_t *row, const char *action, const json_t *body)
{
	char key[ID_MOST];

	if (strcmp(action, "delete") == 0 && waits(row))
		json_object_del(q->jobs, key_of(id, key));
	else if (strcmp(action, "delete") == 0)
		json_object_set_new(row, "comment", json_string("it is deleted when the server is started"));
	else if ((strcmp(action, "hold") == 0 || strcmp(action, "release") == 0) && waits(row))
		row_hold(row, body, *action == 'h');
	else if (strcmp(action, "move") == 0 && waits(row))
		row_copy(row, body, "queue", "queue");
	else if (strcmp(action, "place") == 0 && waits(row))
		row_move(q, row, body);
	else if (strcmp(action, "alter") == 0)
		row_alter(row, body);
	if (waits(row) && strcmp(action, "place") != 0)
		line_changed(row);
}

/* Returns true if a filter matches the row. `owner`: whose jobs it means if it names no user; NULL:
 * everybody's. Only the server knows what users other than root may do to others' jobs. */
static bool fits(const json_t *filter, const json_t *row, const char *owner)
{
	static const char *const same[] = {"queue", "name"};
	const char *user = member_find_text(filter, "user"), *states = member_find_text(filter, "state"),
		   *state = member_find_text(row, "state");
	const char *whose = member_find_text(row, "owner"), *wanted_of = user ? user : owner;

	for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
		const char *wanted = member_find_text(filter, same[i]), *has = member_find_text(row, same[i]);
		if (wanted && strcmp(wanted, has ? has : "") != 0)
			return false;
	}
	return (!wanted_of || (whose && strcmp(whose, wanted_of) == 0)) &&
	       (!states || (state && strchr(states, *state)));
}

static void filter_apply(struct queue *q, const struct kept *x, const json_t *filter)
{
	bool everybody = x->uid == 0 && !json_is_true(json_object_get(filter, "mine"));
	const char *owner = everybody ? NULL : owner_of(q, x->uid), *key;
	json_t *row;
	void *next;

	json_object_foreach_safe(q->jobs, next, key, row) if (fits(filter, row, owner))
		row_change(q, key, row, x->path + strlen("/v1/jobs/"), x->body);
}

static void change_apply(struct queue *q, const struct kept *x)
{
	const json_t *body = x->body, *filter = json_object_get(body, "filter");
	json_t *id;
	size_t i;

	if (strcmp(x->path, "/v1/jobs") == 0) {
		json_t *row = submission_row(q, x, body);
		line_add(&q->line, row);
		row_add(q->jobs, row);
	} else if (json_is_object(filter))
		filter_apply(q, x, filter);
	else
		json_array_foreach(json_object_get(body, "ids"), i, id)
		{
			json_t *row = json_is_string(id) ? offline_find(q->jobs, json_string_value(id)) : NULL;
			if (row)
				row_change(q, json_string_value(id), row, x->path + strlen("/v1/jobs/"), body);
		}
}

/* Returns true if the change is the caller's own; root's view includes everybody's. */
static bool is_ours(int tray, const struct tray_name *name)
{
	char text[TRAY_NAME];
	struct stat st;

	tray_name_format(name, text);
	return fstatat(tray, text, &st, AT_SYMLINK_NOFOLLOW) == 0 && (geteuid() == 0 || st.st_uid == geteuid());
}

static void tray_collect(struct queue *q, const char *dir, const char *name)
{
	char path[PATH_MAX];
	tray_names names = {0};
	struct kept x;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	int tray = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (tray >= 0 && tray_list(dir, name, &names, NULL) == 0)
		for (size_t i = 0; i < names.n; i++) {
			if (!is_ours(tray, &names.v[i]))
				continue;
			if (tray_read(tray, &names.v[i], (gid_t)-1, &x, NULL) == 0)
				vec_push(&q->changes, x);
			else
				kept_fini(&x);
		}
	vec_free(&names);
	if (tray >= 0)
		close(tray);
}

static int by_number(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* Applies the changes and works out the new expected starts. */
static void changes_make(struct queue *q, const char *dir, const json_t *plan, int64_t since, int64_t now)
{
	json_t *machine = offline_machine(dir, q->offer);

	line_begin(&q->line, q->jobs);
	qsort(q->changes.v, q->changes.n, sizeof *q->changes.v, by_number);
	for (size_t i = 0; i < q->changes.n; i++) {
		change_apply(q, &q->changes.v[i]);
		kept_fini(&q->changes.v[i]);
	}
	line_foresee(&q->line, q->jobs, plan, machine, since > now ? since : now, now > since ? now - since : 0);
	line_fini(&q->line);
	json_decref(machine);
}

int offline_jobs(const char *dir, const struct offer *l, json_t **ret, int64_t *ret_time, struct err *err)
{
	struct queue q = {.jobs = json_object(), .offer = l};
	int64_t now = (int64_t)time(NULL), since;
	json_t *plan = NULL;
	DIR *open = opendir(dir);
	const struct dirent *d;

	*ret = q.jobs;
	*ret_time = 0;
	offline_written(dir, l, q.jobs, ret_time, &plan);
	since = offline_since(dir, l, *ret_time);
	offline_put_off(q.jobs, since, now);
	while (open && (d = readdir(open)))
		if (d->d_name[0] == 'g' && strlen(d->d_name) < TRAY_NAME)
			tray_collect(&q, dir, d->d_name);
	if (open)
		closedir(open);
	if (q.changes.n)
		changes_make(&q, dir, plan, since, now);
	vec_free(&q.changes);
	json_decref(plan);
	return 0;
}
