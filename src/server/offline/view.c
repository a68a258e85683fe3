/*
 * view.c - see view.h.
 */
#include "server/offline/view.h"
#include "base/fdio.h"
#include "base/file.h"
#include "base/ticks.h"
#include "server/api/books/api_quota.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "core/job.h"
#include "rules/attr.h"
#include "server/api/admin/machine.h"
#include "server/api/frame/audience.h"
#include "server/api/jobs/counts.h"
#include "server/api/jobs/show.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/stats.h"
#include "server/base/turn.h"
#include "server/base/users.h"
#include "server/base/words.h"
#include "server/base/work.h"
#include "server/book/quotas.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/wait/foresee.h"
#include "server/offline/view_plan.h"
#include "server/offline/view_share.h"
#include "server/server.h"
#include "server/site/who.h"
#include "store/store.h"

#define STEP 32				 /* jobs in one step */
#define APPEND 64			 /* maximum jobs appended in one turn */
#define FIRST_US 1000000		 /* delay after the start, when clients wait for answers */
#define EVERY_US (10 * INT64_C(1000000)) /* shortest time between two views */
#define SHARE 100			 /* a view takes at most 1/SHARE of the elapsed time */
/* and at most 1/OWN_SHARE of the server's own processor time, */
#define OWN_SHARE 30
#define LATEST_SHARE 400 /* unless LATEST_SHARE times its own duration has passed */
/* a view that takes no longer than this ignores OWN_SHARE */
#define CHEAP_US 5000

#define FORECAST_STEPS 25 /* for the last view: at most some 200 ms */

/* Fields written in addition to the members of a job's description: those that are cheap to
 * compute. */
static const char derived[] =
	"id,number,index,array,state,substate,type,deadline,nice_until,guaranteed,holds,attempt,cpus,nodect,ppn,exclusive,partition,memory,gpus,"
	"queued,started,ended,modified,planned_start,expected_start,expected_end,quitting,exec_host,exit_status,cause,used,comment,"
	"array_spec,array_counts,array_failed,checkpoint,checkpoints";

/* The lines one user may read. */
struct page {
	uid_t uid;
	struct strbuf text;
};

/* A view being composed, and then written by another thread, which owns it until it is done. */
struct view {
	struct work work;
	struct server *s;
	uv_work_t request;
	char dir[PATH_MAX];
	bool open, shared;   /* everybody may read the whole; the server has several users */
	int64_t ended_since; /* jobs that ended before this time are left out */
	uint32_t at;
	struct strbuf all;
	VEC(struct page) pages;
	struct map of_uid; /* uid + 1 -> index + 1 */
	struct view_plan plan;
	struct strbuf last; /* the last line of every file; empty: not yet written */
	int64_t cpu_us;
	struct err err; /* error of the thread */
};

/* Owned by the server's audience. */
struct views {
	bool running;
	uint64_t commits; /* number of commits when the last view began */
	int64_t due_us;
	/* server's processor time that makes a new view worthwhile, and the time when one is
	 * written anyway */
	int64_t own_due_us, latest_us;
	bool said;	  /* a failure to write was logged */
	bool there, open; /* the files exist; everybody may read the whole */
	uint32_t told;	  /* entries below this are in the files */
	int fd;		  /* the file with everybody's jobs, open for appending, or -1 */
	struct field_list fields;
};

static void fields_find(struct field_list *ret)
{
	show_fields_parse(derived, ret, NULL);
	show_fields_describe(ret);
	ret->sparse = true;
}

static struct views *views_of(const struct server *s)
{
	struct views *all = s->audience->views;

	if (!all) {
		all = s->audience->views = mem_zalloc(sizeof *all);
		all->due_us = s->clock->now_us + FIRST_US;
		all->fd = -1;
		fields_find(&all->fields);
	}
	return all;
}

/* Makes the next append open the file again, since it was replaced. */
static void views_reopen(struct views *all)
{
	if (all->fd >= 0)
		close(all->fd);
	all->fd = -1;
}

/* ---- composing a view ---- */

enum whose { NOBODYS, ALL, ONES };

/* Writes the first line of a file with everybody's jobs or one user's. It includes the quotas of
 * `user`, those of everybody, or none where others may read the file. */
static void head_write(struct server *s, struct strbuf *out, enum whose jobs, enum whose quotas, const char *user)
{
	struct json j;

	json_begin(&j, out);
	json_int(&j, "as_of", s->clock->now);
	json_open_object(&j, "machine");
	machine_write(s, &j, jobs == ALL);
	json_close_object(&j);
	if (quotas != NOBODYS)
		quotas_write(s, &j, "quotas", quotas == ONES ? user : NULL);
	json_close_object(&j);
	strbuf_puts(out, "\n");
}

static struct page *page_of(struct view *v, uid_t uid, const char *user)
{
	uint64_t *at = map_at(&v->of_uid, (uint64_t)uid + 1);

	if (*at == 0) {
		vec_push(&v->pages, (struct page){.uid = uid});
		*at = v->pages.n;
		head_write(v->s, &v->pages.v[v->pages.n - 1].text, ONES, user ? ONES : NOBODYS, user);
		strbuf_add(&v->pages.v[v->pages.n - 1].text, strbuf_text(&v->last), v->last.n);
	}
	return &v->pages.v[*at - 1];
}

/* Appends a job's line; returns false if it has none. An array has one line, at its first
 * element. */
static bool row_write(struct server *s, uint32_t id, int64_t ended_since, const struct field_list *fields,
		      struct strbuf *out)
{
	const struct entry *e = entry_get(s, id);
	const struct array *a = e->spec && job_key_index(e->key) >= 0 ? array_find(s, job_key_number(e->key)) : NULL;
	struct json j;

	if (!e->spec || (a && a->first != id))
		return false;
	if ((a ? array_state(s, a) : entry_state(s, id)) == 'C' && entry_job(s, id)->since < ended_since)
		return false;
	json_begin(&j, out);
	show_members(s, &j, id, a, fields, NULL);
	json_close_object(&j);
	strbuf_puts(out, "\n");
	return true;
}

static void job_write(struct server *s, struct view *v, uint32_t id)
{
	const struct entry *e = entry_get(s, id);
	size_t before = v->all.n;

	if (e->spec)
		view_plan_add(s, &v->plan, id);
	if (!row_write(s, id, v->ended_since, &views_of(s)->fields, &v->all))
		return;
	if (!v->open)
		strbuf_add(&page_of(v, e->spec->uid, word_text(s, e->spec->owner))->text, v->all.text + before,
			   v->all.n - before);
	else if (v->shared && quotas_count(s)) /* a page that holds only their quota */
		page_of(v, e->spec->uid, word_text(s, e->spec->owner));
}

/* Adds the last line, after all jobs. */
static void view_close(struct server *s, struct view *v)
{
	view_plan_write(s, &v->plan, &v->last);
	strbuf_add(&v->all, v->last.text, v->last.n);
	for (size_t i = 0; i < v->pages.n; i++)
		strbuf_add(&v->pages.v[i].text, v->last.text, v->last.n);
}

/* Returns true if everybody may read the whole. */
static bool view_is_open(struct server *s)
{
	struct asker anybody = {.uid = (uid_t)-1, .role = ROLE_USER};

	return !s->instance->multi || may_see_all(s, &anybody);
}

static struct view *view_create(struct server *s)
{
	struct view *v = mem_zalloc(sizeof *v);

	foresee_update(s);
	v->s = s;
	v->at = 1;
	v->ended_since = s->clock->now - attrs_number(s->attrs, SET_SHOW_COMPLETED);
	v->shared = s->instance->multi;
	v->open = view_is_open(s);
	snprintf(v->dir, sizeof v->dir, "%s/offline", s->instance->where.state);
	view_plan_begin(s, &v->plan);
	head_write(s, &v->all, ALL, v->open && v->shared ? NOBODYS : ALL, NULL);
	return v;
}

static void view_free(struct view *v)
{
	for (size_t i = 0; i < v->pages.n; i++)
		strbuf_fini(&v->pages.v[i].text);
	vec_free(&v->pages);
	map_fini(&v->of_uid);
	view_plan_fini(&v->plan);
	strbuf_fini(&v->last);
	strbuf_fini(&v->all);
	free(v);
}

/* ---- writing the files ---- */

/* Allows one more user to read a file of the server: by a POSIX ACL in the kernel's format, since
 * only root could change the file's owner. */
static int acl_allow(int fd, uid_t uid)
{
	const struct {
		uint16_t tag, rights;
		uint32_t id;
	} rows[] = {{0x01, 6, UINT32_MAX},
		    {0x02, 4, uid},
		    {0x04, 0, UINT32_MAX},
		    {0x10, 4, UINT32_MAX},
		    {0x20, 0, UINT32_MAX}};
	unsigned char list[4 + sizeof rows], *p = list;
	uint32_t version = htole32(2);

	memcpy(p, &version, 4);
	p += 4;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++, p += 8) {
		uint16_t tag = htole16(rows[i].tag), rights = htole16(rows[i].rights);
		uint32_t id = htole32(rows[i].id);
		memcpy(p, &tag, 2);
		memcpy(p + 2, &rights, 2);
		memcpy(p + 4, &id, 4);
	}
	return fsetxattr(fd, "system.posix_acl_access", list, sizeof list, 0) < 0 ? -errno : 0;
}

/* Replaces a file. `uid`: the one user who can read it in addition to the server; (uid_t)-1:
 * nobody, or everybody with mode 0644. */
static int page_replace(const char *path, mode_t mode, uid_t uid, const struct strbuf *text)
{
	int fd = replacement_open(path, mode, 0), rc;

	if (fd < 0)
		return fd;
	rc = uid == (uid_t)-1 ? 0 : acl_allow(fd, uid);
	return replacement_close(fd, path, rc < 0 ? rc : fd_write(fd, text->text, text->n), 0);
}

/* Writes the files without syncing them: a power failure loses only a picture of the queue. */
static void view_write(struct view *v)
{
	char path[PATH_MAX + 16];
	int rc;

	snprintf(path, sizeof path, "%s/view", v->dir);
	rc = page_replace(path, v->open && v->shared ? 0644 : 0600, (uid_t)-1, &v->all);
	for (size_t i = 0; i < v->pages.n && rc == 0; i++) {
		snprintf(path, sizeof path, "%s/view.%u", v->dir, (unsigned)v->pages.v[i].uid);
		rc = page_replace(path, 0600, v->pages.v[i].uid, &v->pages.v[i].text);
	}
	if (rc < 0)
		err_set(&v->err, rc, "%.300s: %s", path, strerror(-rc));
}

static void on_work(uv_work_t *request)
{
	view_write(request->data);
}

static void view_done(struct view *v)
{
	struct views *all = views_of(v->s);

	if (*v->err.text && !all->said)
		server_log(v->s, SEVERITY_ERROR,
			   "the copy of the queue for the time without a server can't be written: %s", v->err.text);
	all->said = *v->err.text != '\0';
	all->there = !all->said;
	all->open = v->open;
	all->told = v->at; /* lines appended meanwhile went to the old files */
	views_reopen(all);
	all->running = false;
	all->due_us = v->s->clock->now_us + (v->cpu_us * SHARE > EVERY_US ? v->cpu_us * SHARE : EVERY_US);
	all->own_due_us = v->cpu_us > CHEAP_US ? clock_us(CLOCK_PROCESS_CPUTIME_ID) + v->cpu_us * OWN_SHARE : 0;
	all->latest_us = v->s->clock->now_us + v->cpu_us * LATEST_SHARE;
	view_free(v);
}

/* ---- jobs accepted meanwhile ---- */

void view_begin(struct server *s)
{
	struct views *all = views_of(s);
	struct strbuf text = {0};
	char path[PATH_MAX + 16];
	struct stat st;

	snprintf(path, sizeof path, "%s/offline/view", s->instance->where.state);
	all->told = s->jobs->entries.n;
	all->open = view_is_open(s);
	if (stat(path, &st) == 0) {
		all->there = true;
		all->open = !s->instance->multi || st.st_mode & 0004;
		return;
	}
	head_write(s, &text, ALL, all->open && s->instance->multi ? NOBODYS : ALL, NULL);
	all->there = page_replace(path, all->open && s->instance->multi ? 0644 : 0600, (uid_t)-1, &text) == 0;
	strbuf_fini(&text);
}

static int append_open(const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

/* Appends lines, leaving no incomplete one. */
static void lines_append(int fd, const struct strbuf *text)
{
	ssize_t n = write(fd, text->text, text->n);

	/* without room for the rest, the lines are missing until the next view */
	if (n > 0 && n < (ssize_t)text->n && ftruncate(fd, lseek(fd, 0, SEEK_CUR) - n) < 0)
		return;
}

/* Appends a job's line to its user's own file. */
static void page_append(struct server *s, const char *whole, const struct spec *p, const struct strbuf *row)
{
	char path[PATH_MAX + 32];
	struct strbuf text = {0};

	snprintf(path, sizeof path, "%s.%u", whole, (unsigned)p->uid);
	int fd = append_open(path);
	if (fd >= 0) {
		lines_append(fd, row);
		close(fd);
	} else if (fd == -ENOENT) {
		head_write(s, &text, ONES, ONES, word_text(s, p->owner));
		strbuf_add(&text, row->text, row->n);
		page_replace(path, 0600, p->uid, &text);
		strbuf_fini(&text);
	}
}

void view_append(struct server *s)
{
	struct views *all = s->audience->views;
	struct strbuf rows = {0}, row = {0};
	char path[PATH_MAX + 16];

	if (!all || !all->there || all->told >= s->jobs->entries.n || all->open != view_is_open(s))
		return;
	snprintf(path, sizeof path, "%s/offline/view", s->instance->where.state);
	for (int i = 0; i < APPEND && all->told < s->jobs->entries.n; i++, all->told++) {
		strbuf_clear(&row);
		if (!row_write(s, all->told, INT64_MAX, &all->fields, &row))
			continue;
		strbuf_add(&rows, row.text, row.n);
		if (!all->open)
			page_append(s, path, entry_get(s, all->told)->spec, &row);
	}
	if (rows.n && all->fd < 0)
		all->fd = append_open(path);
	if (rows.n && all->fd >= 0)
		lines_append(all->fd, &rows);
	if (all->told < s->jobs->entries.n)
		turn_wake(s);
	strbuf_fini(&rows);
	strbuf_fini(&row);
}

static const struct strbuf *page_text(void *context, uid_t uid)
{
	struct view *v = context;
	const struct user *u = user_known(v->s, uid);

	return &page_of(v, uid, u ? u->name : NULL)->text;
}

static void on_written(uv_work_t *request, int status)
{
	struct view *v = request->data;

	view_share(v->s, v->open ? &v->all : NULL, page_text, v);
	view_done(v);
}

/* ---- working in slices ---- */

static bool view_step(struct server *s, struct work *work)
{
	struct view *v = (struct view *)work;
	int64_t begin = clock_us(CLOCK_THREAD_CPUTIME_ID);

	for (int i = 0; i < STEP && (v->at = rows_next(&s->jobs->entries, v->at)) < s->jobs->entries.n; i++)
		job_write(s, v, v->at++);
	v->cpu_us += clock_us(CLOCK_THREAD_CPUTIME_ID) - begin;
	if (v->at < s->jobs->entries.n)
		return true;
	view_close(s, v);
	v->request.data = v;
	uv_queue_work(s->loop, &v->request, on_work, on_written);
	return false;
}

static void view_stop(struct server *s, struct work *work, const char *why)
{
	views_of(s)->running = false;
	view_free((struct view *)work);
}

int64_t view_next(const struct server *s)
{
	const struct views *all = views_of(s);

	if (all->running || all->commits == s->stats->commits)
		return TIME_NEVER;
	if (s->clock->now_us >= all->due_us && s->clock->now_us < all->latest_us &&
	    clock_us(CLOCK_PROCESS_CPUTIME_ID) < all->own_due_us)
		return all->latest_us;
	return all->due_us;
}

void view_turn(struct server *s)
{
	static const struct work_kind kind = {.step = view_step, .stop = view_stop, .reads = true, .lasting = true};
	struct views *all = views_of(s);

	if (view_next(s) > s->clock->now_us || s->turn->terminating)
		return;
	all->running = true;
	all->commits = s->stats->commits;
	work_add(s, &view_create(s)->work, &kind);
}

void view_end(struct server *s)
{
	for (int i = 0; i < FORECAST_STEPS; i++)
		foresee_update(s);
	struct view *v = view_create(s);

	while (views_of(s)->running) /* the other thread's view is older: let it finish first */
		uv_run(s->loop, UV_RUN_ONCE);
	while ((v->at = rows_next(&s->jobs->entries, v->at)) < s->jobs->entries.n)
		job_write(s, v, v->at++);
	view_close(s, v);
	view_write(v);
	view_done(v);
}
