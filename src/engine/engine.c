/*
 * engine.c - the calls of engine.h, and news from this machine.
 *
 * An attempt on this machine alone, the usual case at a small site, is ordered at once and costs
 * one small allocation here.
 */
#include <signal.h>
#include <stdlib.h>

#include "engine/engine_internal.h"
#include "net/handle.h"
#include "run/task.h"

/* seconds from SIGTERM to SIGKILL for an attempt from before the server's start */
#define GRACE_UNKNOWN 10
#define ROOM_LONGER 600 /* seconds that a room outlasts the script */

/* ---- news from this machine ---- */

static void on_news(void *context, const struct news *n)
{
	struct engine *e = context;
	struct part *p = host_part(e, host_get(e, HOST_HERE), n->tag);

	if (p) {
		part_hear(e, p, n);
		engine_settle(e);
	} else if (n->report == SAYS_ENDED) { /* not one of our parts; the listener may know it */
		e->l.attempt_ended(e->l.context, n->r);
	} else if (n->report == SAYS_LOST) {
		e->l.attempt_lost(e->l.context, n->tag, HOST_HERE, NULL);
	}
}

static void on_opened(void *context, uint64_t id, int fd, const char *reason)
{
	struct engine *e = context;

	e->l.opened(e->l.context, id, fd, reason);
}

static void on_erased(void *context, const char *name, const char *reason)
{
	struct engine *e = context;

	if (e->l.erased)
		e->l.erased(e->l.context, name, reason);
}

static void on_failed(void *context, const char *reason)
{
	struct engine *e = context;

	e->l.failed(e->l.context, reason);
}

/* ---- life ---- */

int engine_create(uv_loop_t *loop, const struct local_options *here, const struct engine_listener *l,
		  struct engine **ret, struct err *err)
{
	struct engine *e = mem_zalloc(sizeof *e);
	struct local_listener listener = {
		.heard = on_news,
		.opened = on_opened,
		.erased = on_erased,
		.failed = on_failed,
		.context = e,
	};
	int rc = here ? errands_start(loop, here, here->spool, &listener, &e->here, err) : 0;

	if (rc < 0) {
		free(e);
		return rc;
	}
	e->loop = loop;
	e->l = *l;
	uv_timer_init(loop, &e->timer);
	e->timer.data = e;
	*ret = e;
	return 0;
}

void engine_stop(struct engine *e)
{
	if (e->here)
		errands_stop(e->here);
	for (size_t i = 0; i < e->hosts.n; i++)
		while (e->hosts.v[i]->parts)
			gang_drop(e, e->hosts.v[i]->parts->gang);
	hub_free(e);
	map_fini(&e->gangs);
	vec_free(&e->fresh);
	vec_free(&e->touched);
	vec_free(&e->ending);
	uv_close((uv_handle_t *)&e->timer, handle_data_free);
}

/* ---- attempts ---- */

/* Returns the walltime of a room: it opens before the script starts and must not end before it. */
static int64_t room_walltime(int64_t walltime, int64_t grace)
{
	return walltime + grace + ROOM_LONGER;
}

static void part_keep(struct part *p, const struct part_order *from, bool room)
{
	struct order o = from->order;

	if (room && o.walltime >= 0)
		o.walltime = room_walltime(o.walltime, o.grace);
	order_write(&o, &p->order);
	strbuf_add(&p->script, from->script ? from->script : "", from->nscript);
}

void engine_start(struct engine *e, const struct part_order *parts, int n)
{
	struct gang *g = gang_create(e, parts[0].order.tag, n);

	g->grace = parts[0].order.grace > 0 ? parts[0].order.grace : 0;
	for (int i = 0; i < n; i++)
		part_settle_in(&g->part[i], g, host_get(e, parts[i].host));
	if (n == 1 && e->here && g->part[0].host->here) {
		g->part[0].state = PART_ORDERED;
		g->released = true;
		errands_order(e->here, &parts[0].order);
		return;
	}
	for (int i = 0; i < n; i++)
		part_keep(&g->part[i], &parts[i], i > 0);
	vec_push(&e->fresh, g);
}

size_t engine_backlog(const struct engine *e)
{
	return e->here ? errands_backlog(e->here) : 0;
}

void engine_signal(struct engine *e, const char *tag, int signal)
{
	struct gang *g = gang_find(e, tag);
	bool end = signal == SIGTERM || signal == SIGKILL;

	if (!g || g->told || (signal != TASKS_WORD && (signal < 1 || signal > SIGRTMAX)))
		return;
	if (end && g->part[0].state == PART_WAITS)
		part_never(e, &g->part[0]);
	for (int i = 0; i < g->n; i++) {
		if (part_is_over(&g->part[i]))
			continue;
		part_signal(e, &g->part[i], signal);
		g->part[i].asked |= end;
	}
	engine_settle(e);
}

void engine_limit(struct engine *e, const char *tag, int64_t walltime)
{
	struct gang *g = gang_find(e, tag);

	for (int i = 0; g && !g->told && i < g->n; i++)
		if (!part_is_over(&g->part[i]))
			part_limit(e, &g->part[i], i ? room_walltime(walltime, g->grace) : walltime);
}

void engine_save(struct engine *e, const char *tag, enum checkpoint_cause cause, int64_t seconds)
{
	struct gang *g = gang_find(e, tag);

	if (g && !g->told && !part_is_over(&g->part[0]))
		part_save(e, &g->part[0], cause, seconds);
	engine_settle(e);
}

void engine_forget(struct engine *e, const char *tag)
{
	struct gang *g = gang_find(e, tag);

	if (!g) {
		if (e->here) /* from before the server's start, or unknown */
			errands_forget(e->here, tag);
		return;
	}
	if (g->told)
		gang_forget(e, g);
}

void engine_flush(struct engine *e)
{
	for (size_t i = 0; i < e->fresh.n; i++) {
		e->fresh.v[i]->released = true;
		gang_touch(e, e->fresh.v[i]);
	}
	vec_clear(&e->fresh);
	engine_settle(e);
	if (e->here)
		errands_flush(e->here);
}

/* ---- recovery ---- */

static void attach_here(struct engine *e, struct part *p)
{
	enum attempt_state s = e->here ? errands_attach(e->here, p->gang->tag) : ATTEMPT_NEVER;

	if (s == ATTEMPT_NEVER && !part_is_over(p))
		part_never(e, p);
	else if (s == ATTEMPT_RUNS && !part_is_over(p))
		p->state = PART_RUNS;
	else if (s == ATTEMPT_LOST && !part_is_over(p))
		/* its leftovers are being ended; the end is reported then */
		p->state = PART_ORDERED;
}

/* Returns the state of the attempt after everything that can be reported was. */
static enum attempt_state attached(struct engine *e, const char *tag)
{
	const struct gang *g = gang_find(e, tag);

	if (!g || (g->told && g->part[0].state == PART_ENDED))
		return ATTEMPT_ENDED;
	/* see attach_here() */
	if (g->told || (g->part[0].host->here && g->part[0].state == PART_ORDERED))
		return ATTEMPT_LOST;
	return g->part[0].state == PART_RUNS ? ATTEMPT_RUNS : ATTEMPT_UNKNOWN;
}

enum attempt_state engine_attach(struct engine *e, const char *tag, const char *const *hosts, int n)
{
	struct gang *g = gang_create(e, tag, n);
	bool settling = e->settling;

	g->grace = GRACE_UNKNOWN;
	g->released = true;
	e->settling = true; /* until all are attached */
	for (int i = 0; i < n; i++) {
		struct part *p = &g->part[i];
		part_settle_in(p, g, host_get(e, hosts[i]));
		p->state = PART_AWAY;
		if (p->host->here)
			attach_here(e, p);
		else if (p->host->link)
			host_recall(e, p);
	}
	e->settling = settling;
	g->started = g->part[0].state == PART_RUNS; /* the caller gets it as the return value */
	if (gang_step(g) == MOVE_REFUSED) {
		gang_drop(e, g);
		return ATTEMPT_NEVER;
	}
	gang_touch(e, g);
	engine_settle(e);
	return attached(e, tag);
}

void engine_sweep(struct engine *e, bool (*known)(void *context, const char *tag), void *context)
{
	if (e->here)
		errands_sweep(e->here, known, context);
	hub_sweep(e, known, context);
}

/* ---- this machine ---- */

void engine_open(struct engine *e, uint64_t id, const struct nursery_user *who, const char *path, int flags, int mode)
{
	if (e->here)
		local_open(errands_local(e->here), id, who->uid, who->gid, who->name, path, flags, mode);
	else
		e->l.opened(e->l.context, id, -1, "this machine runs no jobs, and opens no files of users");
}

void engine_rename(struct engine *e, uint64_t id, const struct nursery_user *who, const char *from, const char *path)
{
	if (e->here)
		local_rename(errands_local(e->here), id, who, from, path);
}

void engine_erase(struct engine *e, const char *name, const struct nursery_user *who, const char *path)
{
	if (e->here)
		local_erase(errands_local(e->here), name, who, path);
	else
		on_erased(e, name, "this machine runs no jobs, and deletes no files of users");
}

struct local *engine_here(struct engine *e)
{
	return e->here ? errands_local(e->here) : NULL;
}

struct errands *engine_errands(struct engine *e)
{
	return e->here;
}
