/*
 * errands.c - the life of an errand: every event ends in errand_step(), which looks at its state
 * and its parcels and does the next step.
 *
 * No call of errands.h notifies the listener directly, except errands_attach(): the timer does it.
 */
#include "engine/errands.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/errands_internal.h"
#include "run/lease.h"
#include "run/nursery.h"

#define LOOK_MS 200
#define SETTLE_MS 5000

static struct errand *errand_find(const struct errands *all, const char *tag)
{
	for (size_t i = 0; i < all->v.n; i++)
		if (strcmp(all->v.v[i]->o.tag, tag) == 0)
			return all->v.v[i];
	return NULL;
}

struct opener_user errand_user(const struct errand *e)
{
	return (struct opener_user){e->o.foreign.look_up ? BY_NAME : e->o.uid, e->o.gid, e->o.user};
}

static void on_timer(uv_timer_t *t);
static void questions_end(struct errand *e);

static void timer_set(struct errands *all, uint64_t ms)
{
	if (!uv_is_active((uv_handle_t *)&all->timer) || uv_timer_get_due_in(&all->timer) > ms)
		uv_timer_start(&all->timer, on_timer, ms, 0);
}

static void questions_drop(struct errand *e)
{
	for (int i = 0; i < e->nquestions; i++) {
		opening_cancel(e->question[i].opening);
		e->question[i].opening = NULL;
	}
}

static void errand_drop(struct errand *e)
{
	struct errands *all = e->all;

	questions_drop(e);

	for (size_t i = 0; i < all->v.n; i++)
		if (all->v.v[i] == e) {
			vec_remove(&all->v, i);
			break;
		}
	for (int i = 0; i < e->n; i++) {
		parcel_drop(&e->parcel[i]);
		free(e->parcel[i].why);
	}
	strbuf_fini(&e->result);
	strbuf_fini(&e->notes);
	arena_destroy(e->a);
	free(e);
}

/* Returns true if files may be transferred. Once this host's lease has run out, the server may have
 * the job run elsewhere, and a transfer from here could overwrite the output of that attempt. So
 * nothing is transferred until the server was heard from again and has had time to withdraw this
 * attempt. */
bool errand_may(struct errand *e)
{
	struct errands *all = e->all;
	uint64_t now = uv_now(all->loop);

	if (e->o.lease <= 0)
		return true;
	if (!all->looked || now - all->looked >= LOOK_MS) {
		all->word = lease_word(all->live);
		all->looked = now;
	}
	if (all->word > boot_us() - e->o.lease * 1000000)
		return now >= e->doubt;
	e->doubt = now + SETTLE_MS;
	for (int i = 0; i < e->n; i++)
		parcel_drop(&e->parcel[i]);
	return false;
}

/* ---- notifications ---- */

static const char *reason_join(const struct errand *e, const char *reason, struct arena *a)
{
	if (!e->notes.n)
		return reason;
	return reason && *reason ? arena_printf(a, "%s. %s", reason, e->notes.text) : e->notes.text;
}

static void errand_tell(struct errand *e)
{
	struct errands *all = e->all;
	struct arena *a = arena_create();
	struct result r;

	if (e->lost || result_read(strbuf_text(&e->result), e->result.n, a, &r, NULL) < 0)
		all->l.heard(all->l.context,
			     &(struct news){.report = SAYS_LOST, .tag = arena_printf(a, "%s", e->o.tag)});
	else {
		r.reason = reason_join(e, r.reason, a);
		/* the listener may forget the result */
		r.reason = r.reason ? arena_printf(a, "%s", r.reason) : NULL;
		all->l.heard(all->l.context, &(struct news){.report = SAYS_ENDED, .tag = r.tag, .r = &r});
	}
	arena_destroy(a);
}

static void errand_refuse(struct errand *e, const char *reason)
{
	struct errands *all = e->all;
	char tag[256], *text = reason ? mem_strdup(reason) : NULL;

	snprintf(tag, sizeof tag, "%s", e->o.tag);
	errand_drop(e);
	/* files that could not be fetched */
	all->l.heard(all->l.context,
		     &(struct news){.report = SAYS_REFUSED, .tag = tag, .reason = text, .unclear = true});
	free(text);
}

/* ---- the next step ---- */

static void errand_finish(struct errand *e)
{
	static const char *const suffix[] = {"out", "err"};

	for (int i = 0; i < e->n; i++) {
		struct parcel *p = &e->parcel[i];
		if (p->stays)
			parcel_say(p, &e->notes);
	}
	e->state = ERRAND_DONE;
	spool_write(e);
	for (int i = 0; i < e->n; i++)
		if (parcel_is_output(&e->parcel[i]) && !e->parcel[i].stays)
			spool_remove(e->all, e->o.tag, suffix[e->parcel[i].f->use]);
	errand_tell(e);
}

static void errand_start(struct errand *e)
{
	struct order o = e->o;

	for (int i = 0; i < e->n; i++) /* its input files are here; the rest comes later */
		e->parcel[i].over = e->parcel[i].f->use == FILE_IN || e->parcel[i].over;
	e->state = ERRAND_RUNS;
	for (int i = 0; i < e->n; i++)
		e->parcel[i].next = uv_now(e->all->loop) + TICK_MS;
	spool_write(e);
	o.carry.ncarried = 0;
	o.carry.ticket = o.carry.signature = NULL;
	local_order(e->all->local, &o);
	local_flush(e->all->local);
	timer_set(e->all, TICK_MS);
}

static void step_fetching(struct errand *e)
{
	struct strbuf why = {0};
	bool waits = false;

	for (int i = 0; i < e->n; i++) {
		const struct parcel *p = &e->parcel[i];
		if (p->stays && !why.n)
			parcel_say(p, &why);
		waits |= p->f->use == FILE_IN && !p->over;
	}
	if (why.n)
		errand_refuse(e, why.text);
	else if (!waits)
		errand_start(e);
	strbuf_fini(&why);
}

static void errand_bring(struct errand *e)
{
	e->state = ERRAND_BRINGS;
	e->deadline = uv_now(e->all->loop) + (uint64_t)(e->o.carry.deliver_for > 0 ? e->o.carry.deliver_for : 0) * 1000;
	for (int i = 0; i < e->n; i++)
		parcel_bring(&e->parcel[i]);
	errand_step(e);
}

void errand_step(struct errand *e)
{
	bool waits = false;

	timer_set(e->all, TICK_MS);
	if (e->state == ERRAND_FETCHES) {
		step_fetching(e);
		return;
	}
	if (e->state != ERRAND_BRINGS)
		return;
	for (int i = 0; i < e->n; i++)
		waits |= !e->parcel[i].over;
	if (!waits)
		errand_finish(e);
}

/* Stops the errand on request from outside. */
static void errand_halt(struct errand *e)
{
	e->stop = false;
	if (e->state == ERRAND_LOOKS || e->state == ERRAND_FETCHES) {
		errand_refuse(e, NULL);
		return;
	}
	for (int i = 0; i < e->n; i++)
		if (!e->parcel[i].over)
			parcel_give_up(&e->parcel[i]);
	errand_step(e);
}

static void on_timer(uv_timer_t *t)
{
	struct errands *all = t->data;
	bool more = false;

	for (size_t i = all->v.n; i-- > 0;) { /* from the end: a removed one only moves those already handled */
		struct errand *e = all->v.v[i];
		more |= e->state != ERRAND_DONE;
		if (e->stop)
			errand_halt(e);
		else if (e->state == ERRAND_LOOKS && uv_now(all->loop) > e->deadline)
			questions_end(e);
		else if (e->state > ERRAND_LOOKS && e->state < ERRAND_DONE && errand_may(e))
			for (int k = 0; k < e->n; k++)
				parcel_turn(&e->parcel[k]);
	}
	if (more)
		timer_set(all, TICK_MS);
}

/* ---- before the start: query file systems, which may be slow ---- */

static void errand_fetch(struct errand *e)
{
	e->state = ERRAND_FETCHES;
	e->deadline = uv_now(e->all->loop) + FETCH_MS;
	for (int i = 0; i < e->n; i++)
		if (e->parcel[i].f->use == FILE_IN)
			parcel_begin(&e->parcel[i]);
	errand_step(e);
}

/* Resolves relative paths: from the working directory or, if that does not exist here, from the
 * user's home, like the job itself. */
static void paths_settle(struct errand *e, bool workdir, const char *home)
{
	const char *base = workdir || !home ? e->o.workdir : home;

	for (int i = 0; i < e->n; i++) {
		struct parcel *p = &e->parcel[i];
		if (!parcel_is_output(p) && *p->f->here != '/')
			p->here = arena_printf(e->a, "%s/%s", base ? base : "", p->f->here);
	}
}

static void on_seen(void *context, const struct sight *s)
{
	struct question *q = context;
	struct errand *e = q->e;

	q->opening = NULL;
	if (q->parcel < 0) {
		paths_settle(e, s->directory, e->o.foreign.look_up ? s->home : e->o.home);
	} else if (s->fs && network_is((uint64_t)s->fs, q->path)) {
		e->parcel[q->parcel].over = true;
		e->o.carry.spool &= ~(1 << e->parcel[q->parcel].f->use);
	}
	if (--e->waiting == 0)
		errand_fetch(e);
}

static void ask(struct errand *e, int parcel, const char *path)
{
	struct question *q = &e->question[e->nquestions++];
	struct opener_user who = errand_user(e);

	*q = (struct question){.e = e, .path = path, .parcel = parcel};
	e->waiting++;
	q->opening = opener_look(e->all->opener, &who, path, on_seen, q);
}

/* Treats a file system that does not answer as local: the output is transferred, and waits in the
 * spool meanwhile. */
static void questions_end(struct errand *e)
{
	questions_drop(e);
	paths_settle(e, false, e->o.home);
	errand_fetch(e);
}

static void errand_look(struct errand *e)
{
	bool relative = false;

	e->deadline = uv_now(e->all->loop) + FETCH_MS;
	e->question = arena_alloc(e->a, (size_t)(e->n + 1) * sizeof *e->question);
	for (int i = 0; i < e->n; i++) {
		const struct parcel *p = &e->parcel[i];
		const char *slash = strrchr(p->f->path, '/');
		if (parcel_is_output(p) && slash)
			ask(e, i,
			    arena_printf(e->a, "%.*s", slash > p->f->path ? (int)(slash - p->f->path) : 1, p->f->path));
		relative |= !parcel_is_output(p) && *p->f->here != '/';
	}
	if (relative)
		ask(e, -1, e->o.workdir ? e->o.workdir : "/");
	timer_set(e->all, TICK_MS);
	if (!e->waiting)
		errand_fetch(e);
}

void errands_order(struct errands *all, const struct order *o)
{
	struct strbuf text = {0};
	struct errand *e;

	if (!o->carry.ncarried) {
		local_order(all->local, o);
		return;
	}
	if (errand_find(all, o->tag))
		return; /* in progress */
	e = mem_zalloc(sizeof *e);
	e->all = all;
	e->a = arena_create();
	order_write(o, &text);
	/* the nursery also refuses what can't be read */
	if (order_read(text.text, text.n, e->a, &e->o, NULL) < 0) {
		arena_destroy(e->a);
		free(e);
		local_order(all->local, o);
		strbuf_fini(&text);
		return;
	}
	strbuf_fini(&text);
	e->n = e->o.carry.ncarried;
	e->o.spare = all->spool;
	e->parcel = arena_alloc(e->a, (size_t)(e->n + 1) * sizeof *e->parcel);
	for (int i = 0; i < e->n; i++) {
		const struct order_file *f = &e->o.carry.carried[i];
		bool output = f->use == FILE_OUT || f->use == FILE_ERR;
		char path[4096];
		spool_path(all, e->o.tag, f->use == FILE_ERR ? "err" : "out", path, sizeof path);
		e->parcel[i] = (struct parcel){
			.e = e, .f = f, .size = -1, .here = output ? arena_printf(e->a, "%s", path) : f->here};
		if (output)
			e->o.carry.spool |= 1 << f->use;
	}
	vec_push(&all->v, e);
	errand_look(e);
}

/* ---- news from local.h ---- */

/* An attempt that never ran has nothing to deliver, and perhaps no output. */
static void never_ran(struct errand *e)
{
	for (int i = 0; i < e->n; i++)
		e->parcel[i].over |= e->parcel[i].f->use == FILE_BACK;
}

static void errand_over(struct errand *e)
{
	if (e->state == ERRAND_DONE)
		errand_tell(e);
	else if (e->state == ERRAND_RUNS)
		errand_bring(e);
}

static void errand_ended(struct errand *e, const struct result *r)
{
	strbuf_clear(&e->result);
	result_write(r, &e->result);
	e->lost = false;
	if (r->how == RESULT_NOT_STARTED)
		never_ran(e);
	errand_over(e);
}

static void errand_lost(struct errand *e)
{
	e->lost = true;
	if (e->state == ERRAND_RUNS)
		never_ran(e);
	errand_over(e);
}

/* Holds back the end of a part until its errand is done; passes everything else on at once. */
static void on_news(void *context, const struct news *n)
{
	struct errands *all = context;
	struct errand *e = errand_find(all, n->tag);

	if (e && n->report == SAYS_ENDED) {
		errand_ended(e, n->r);
		return;
	}
	if (e && n->report == SAYS_LOST) {
		errand_lost(e);
		return;
	}
	if (e && n->report == SAYS_REFUSED) {
		errand_drop(e);
		spool_remove(all, n->tag, "json");
	}
	all->l.heard(all->l.context, n);
}

static void on_opened(void *context, uint64_t id, int fd, const char *reason)
{
	struct errands *all = context;

	if (!all->stopped && opener_answer(all->opener, id, fd, reason))
		return;
	if (!all->stopped && all->l.opened)
		all->l.opened(all->l.context, id, fd, reason);
	else if (fd >= 0)
		close(fd); /* no one is waiting for it */
}

static void on_looked(void *context, uint64_t id, const struct sight *s)
{
	struct errands *all = context;

	if (!all->stopped)
		opener_looked(all->opener, id, s);
}

static void on_failed(void *context, const char *reason)
{
	struct errands *all = context;

	all->l.failed(all->l.context, reason);
}

/* ---- the calls of local.h ---- */

enum attempt_state errands_attach(struct errands *all, const char *tag)
{
	struct errand *e = errand_find(all, tag);
	enum attempt_state s;

	if (!e && (e = spool_read(all, tag)))
		vec_push(&all->v, e);
	s = local_attach(all->local, tag);
	e = errand_find(all, tag); /* the listener may have forgotten it */
	if (e && s == ATTEMPT_NEVER) {
		errand_drop(e);
		spool_remove(all, tag, "json");
	} else if (e && e->state != ERRAND_DONE) {
		s = ATTEMPT_RUNS;
	}
	if (all->v.n)
		timer_set(all, TICK_MS);
	return s;
}

void errands_sweep(struct errands *all, bool (*known)(void *context, const char *tag), void *context)
{
	for (size_t i = all->v.n; i-- > 0;) {
		struct errand *e = all->v.v[i];
		if (!known(context, e->o.tag)) {
			spool_remove(all, e->o.tag, "json");
			errand_drop(e);
		}
	}
	local_sweep(all->local, known, context);
}

void errands_signal(struct errands *all, const char *tag, int signal)
{
	struct errand *e = all->v.n ? errand_find(all, tag) : NULL;
	bool before = e && e->state < ERRAND_RUNS;

	if (e && ((before && (signal == SIGTERM || signal == SIGKILL)) ||
		  (e->state == ERRAND_BRINGS && signal == SIGKILL))) {
		e->stop = true;
		timer_set(all, 0);
	}
	if (!before)
		local_signal(all->local, tag, signal);
}

/* An attempt that has not started has nothing to save. */
void errands_save(struct errands *all, const char *tag, enum checkpoint_cause cause, int64_t seconds)
{
	struct errand *e = all->v.n ? errand_find(all, tag) : NULL;

	if (!e || e->state >= ERRAND_RUNS)
		local_save(all->local, tag, cause, seconds);
	else if (cause_is_final(cause))
		errands_signal(all, tag, SIGKILL);
}

void errands_limit(struct errands *all, const char *tag, int64_t walltime)
{
	struct errand *e = all->v.n ? errand_find(all, tag) : NULL;

	if (e && e->state < ERRAND_RUNS)
		e->o.walltime = walltime; /* its order has not been sent */
	else
		local_limit(all->local, tag, walltime);
}

struct listing {
	struct errands *all;
	void (*one)(void *context, const struct local_item *i);
	void *context;
};

static void list_one(void *context, const struct local_item *i)
{
	struct listing *l = context;
	const struct errand *e = errand_find(l->all, i->tag);
	struct arena *a = arena_create();
	struct local_item item = *i;
	struct result r;

	if (e && e->state != ERRAND_DONE) {
		item.state = ATTEMPT_RUNS;
		item.result = NULL;
	} else if (e && i->result) {
		r = *i->result;
		r.reason = reason_join(e, r.reason, a);
		item.result = &r;
	}
	l->one(l->context, &item);
	arena_destroy(a);
}

void errands_list(struct errands *all, void (*one)(void *context, const struct local_item *i), void *context)
{
	struct listing l = {all, one, context};

	for (size_t i = 0; i < all->v.n; i++)
		if (all->v.v[i]->state < ERRAND_RUNS)
			one(context, &(struct local_item){.tag = all->v.v[i]->o.tag, .state = ATTEMPT_RUNS});
	local_list(all->local, list_one, &l);
}

void errands_forget(struct errands *all, const char *tag)
{
	struct errand *e = all->v.n ? errand_find(all, tag) : NULL;
	char name[256];

	snprintf(name, sizeof name, "%s", tag); /* `tag` may belong to the errand */
	if (e) {
		errand_drop(e);
		spool_remove(all, name, "json");
	}
	local_forget(all->local, name);
	if (uv_now(all->loop) - all->swept > DAY_MS)
		spool_sweep(all);
}

void errands_flush(struct errands *all)
{
	local_flush(all->local);
}

size_t errands_backlog(const struct errands *all)
{
	return local_backlog(all->local);
}

/* ---- for readers of output ---- */

bool errands_spooled(const struct errands *all, const char *tag, const char *which, char *ret, size_t size)
{
	struct stat st;

	spool_path(all, tag, which, ret, size);
	return stat(ret, &st) == 0;
}

bool errands_busy(struct errands *all, const char *tag)
{
	const struct errand *e = errand_find(all, tag);
	struct arena *a = arena_create();
	struct result r;
	pid_t pid;
	bool busy = (e && e->state != ERRAND_DONE) || live_look(all->live, tag, a, &r, &pid) == LIVE_RUNNING;

	arena_destroy(a);
	return busy;
}

/* ---- life ---- */

struct local *errands_local(struct errands *all)
{
	return all->local;
}

struct files *errands_files(struct errands *all)
{
	return all->files;
}

static void on_erased(void *context, const char *tag, const char *reason)
{
	struct errands *all = context;

	if (!all->stopped && all->l.erased)
		all->l.erased(all->l.context, tag, reason);
}

struct opener *errands_opener(struct errands *all)
{
	return all->opener;
}

int errands_start(uv_loop_t *loop, const struct local_options *o, const char *spool, const struct local_listener *l,
		  struct errands **ret, struct err *err)
{
	struct errands *all = mem_zalloc(sizeof *all);
	struct local_listener listener = {.heard = on_news,
					  .opened = on_opened,
					  .looked = on_looked,
					  .erased = on_erased,
					  .failed = on_failed,
					  .context = all};
	int rc = local_start(loop, o, &listener, &all->local, err);

	if (rc < 0) {
		free(all);
		return rc;
	}
	all->loop = loop;
	all->l = *l;
	all->spool = mem_strdup(spool ? spool : "");
	all->live = mem_strdup(o->live);
	all->opener = opener_create(all->local);
	all->files = files_create(loop, all->opener);
	uv_timer_init(loop, &all->timer);
	all->timer.data = all;
	spool_sweep(all);
	*ret = all;
	return 0;
}

void errands_stop(struct errands *all)
{
	all->stopped = true;
	while (all->v.n)
		errand_drop(all->v.v[0]);
	vec_free(&all->v);
	map_fini(&all->aging);
	files_stop(all->files);
	opener_destroy(all->opener);
	local_stop(all->local);
	uv_close((uv_handle_t *)&all->timer, NULL);
}
