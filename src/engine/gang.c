/*
 * gang.c - an attempt's parts: all start or none, and all end.
 *
 *	each room ordered -> all open -> script's part ordered -> runs -> ended -> each room ended
 *
 * gang_step() returns the next step from the states alone, whatever happened in between. Nothing is
 * concluded from a host's silence: a part counts as running until its host, or engine_host_lost(),
 * says otherwise, and no outcome is reported before all parts are over.
 *
 * The part that ended first decides the outcome. If it is the script, its result counts. If it is a
 * room, the attempt is lost, unless the server had asked it to end. The order is not always known:
 * a script that fails together with a host ends long before the host is known to be lost, or the
 * server was restarted in between. Then a success of the script counts; for a failure or an end by
 * a signal, the room's reason counts, if it has one.
 */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_internal.h"

/* ---- deciding ---- */

/* Returns true if the script may have ended as a consequence of another part's end. */
static bool script_failed(const struct part *script)
{
	const struct result *r = script->result;

	if (script->state != PART_ENDED || r->cause != CAUSE_ITSELF)
		return script->state == PART_ENDED && r->cause == CAUSE_ORDERED;
	return r->how == RESULT_SIGNALED || (r->how == RESULT_EXITED && r->status);
}

/* Returns the index of the room with which the attempt was lost; 0: none. */
static int gang_breaker(const struct gang *g)
{
	if (g->broken || !script_failed(&g->part[0]))
		return g->broken;
	for (int i = 1; i < g->n; i++)
		if (part_failed(&g->part[i]))
			return i;
	return 0;
}

static bool script_counts(const struct gang *g)
{
	const struct part *script = &g->part[0];

	return script->state == PART_ENDED && !cause_is_hosts(script->result->cause) && !gang_breaker(g);
}

static enum gang_move step_starting(const struct gang *g)
{
	bool open = true;

	if (g->part[0].state != PART_WAITS || !g->released)
		return MOVE_NONE;
	for (int i = 1; i < g->n; i++) {
		if (g->part[i].state == PART_WAITS)
			return MOVE_ROOMS;
		open &= g->part[i].state == PART_RUNS;
	}
	return open ? MOVE_SCRIPT : MOVE_NONE;
}

enum gang_move gang_step(const struct gang *g)
{
	const struct part *script = &g->part[0];
	bool gone = false, left = false, waits = false;

	for (int i = 0; i < g->n; i++) {
		const struct part *p = &g->part[i];
		gone |= i > 0 && part_is_over(p) && !p->asked;
		left |= part_is_under_way(p);
		waits |= p->state == PART_WAITS;
	}
	/* the script decides whether a room ended too early */
	if (g->told || script->state == PART_AWAY)
		return MOVE_NONE;
	if (script->state == PART_RUNS && !g->started)
		return MOVE_STARTED;
	if (!part_is_over(script) && !gone)
		return step_starting(g);
	if (!g->ending && (left || waits))
		return MOVE_END;
	if (left)
		return MOVE_NONE;
	if (script->state == PART_NEVER)
		return MOVE_REFUSED;
	return script_counts(g) ? MOVE_ENDED : MOVE_LOST;
}

/* ---- doing it ---- */

static bool gang_hosts_are_there(const struct engine *e, const struct gang *g)
{
	for (int i = 0; i < g->n; i++)
		if (!host_is_there(e, g->part[i].host))
			return false;
	return true;
}

static void rooms_begin(struct engine *e, struct gang *g)
{
	/* if a host is missing, don't open a room only to end it again */
	bool all = gang_hosts_are_there(e, g);

	for (int i = 1; i < g->n; i++)
		if (!all) {
			g->part[i].refused = !host_is_there(e, g->part[i].host);
			part_never(e, &g->part[i]);
		} else
			part_begin(e, &g->part[i]);
}

static void timer_set(struct engine *e);

/* Sends SIGKILL to gangs whose grace is over. */
static void on_timer(uv_timer_t *timer)
{
	struct engine *e = timer->data;
	uint64_t now = uv_now(e->loop);

	for (size_t i = e->ending.n; i-- > 0;) {
		struct gang *g = e->ending.v[i];
		if (g->kill_at > now)
			continue;
		e->ending.v[i] = e->ending.v[--e->ending.n];
		g->ending = SIGKILL;
		for (int k = 0; k < g->n; k++)
			if (part_is_under_way(&g->part[k]))
				part_signal(e, &g->part[k], SIGKILL);
	}
	timer_set(e);
	engine_settle(e);
}

static void timer_set(struct engine *e)
{
	uint64_t now = uv_now(e->loop), first = UINT64_MAX;

	for (size_t i = 0; i < e->ending.n; i++)
		if (e->ending.v[i]->kill_at < first)
			first = e->ending.v[i]->kill_at;
	if (first == UINT64_MAX)
		uv_timer_stop(&e->timer);
	else
		uv_timer_start(&e->timer, on_timer, first > now ? first - now : 0, 0);
}

static void ending_remove(struct engine *e, struct gang *g)
{
	for (size_t i = 0; i < e->ending.n; i++)
		if (e->ending.v[i] == g) {
			e->ending.v[i] = e->ending.v[--e->ending.n];
			return;
		}
}

static void gang_end(struct engine *e, struct gang *g)
{
	struct part *script = &g->part[0];
	bool left = false;

	for (int i = 1; i < g->n && !part_is_over(script); i++) {
		struct part *room = &g->part[i];
		if (!part_is_over(room) || room->asked)
			continue;
		if (script->state == PART_WAITS && !script->why)
			script->why = part_refusal(room);
		if (script->state != PART_WAITS &&
		    (!g->broken || (part_failed(room) && !part_failed(&g->part[g->broken]))))
			g->broken = i;
	}
	g->ending = SIGTERM;
	for (int i = 0; i < g->n; i++) {
		struct part *p = &g->part[i];
		if (p->state == PART_WAITS)
			p->state = PART_NEVER;
		if (part_is_under_way(p) && !p->asked)
			part_signal(e, p, SIGTERM);
		left |= part_is_under_way(p);
	}
	if (!left)
		return;
	g->kill_at = uv_now(e->loop) + (uint64_t)g->grace * 1000;
	vec_push(&e->ending, g);
	timer_set(e);
}

/* ---- notifications ---- */

static int64_t sum(int64_t a, int64_t b) /* saturates: values from other hosts may be huge */
{
	int64_t total;

	return b < 0 ? a : __builtin_add_overflow(a, b, &total) ? INT64_MAX : total;
}

static bool part_has_reason(const struct part *p)
{
	char *reason = part_refusal(p);
	bool has = reason;

	free(reason);
	return has;
}

/* Returns the part that kept the attempt from starting; NULL if none did and it was withdrawn. A
 * part without a reason may have been refused along with the others. */
static const struct part *gang_refuser(const struct gang *g)
{
	const struct part *first = NULL;

	for (int i = 0; i < g->n; i++) {
		const struct part *p = &g->part[i];
		bool refuses = (p->state == PART_NEVER && p->refused) ||
			       (p->state == PART_ENDED && !p->asked && p->result->how == RESULT_NOT_STARTED);
		if (refuses && part_has_reason(p))
			return p;
		if (refuses && !first)
			first = p;
	}
	return first;
}

static void tell_refused(struct engine *e, struct gang *g)
{
	const struct part *p = gang_refuser(g);
	char *reason = part_refusal(&g->part[0]), *tag = mem_strdup(g->tag),
	     *host = p ? mem_strdup(p->host->name) : NULL;
	struct refusal r = {.tag = tag,
			    .host = host,
			    .reason = reason,
			    .unclear = p && (p->unclear || (p->result && p->result->unclear))};

	gang_forget(e, g);
	e->l.attempt_refused(e->l.context, &r);
	free(reason);
	free(host);
	free(tag);
}

static void tell_ended(struct engine *e, struct gang *g)
{
	struct result r = *g->part[0].result;
	char *refusal = r.how == RESULT_NOT_STARTED ? part_refusal(&g->part[0]) : NULL;

	r.tag = g->tag;
	if (refusal)
		r.reason = refusal;
	for (int i = 1; i < g->n; i++)
		if (g->part[i].state == PART_ENDED) {
			r.cpu_ms = sum(r.cpu_ms, g->part[i].result->cpu_ms);
			r.memory_kib = sum(r.memory_kib, g->part[i].result->memory_kib);
		}
	e->l.attempt_ended(e->l.context, &r);
	free(refusal);
}

static void tell_lost(struct engine *e, struct gang *g)
{
	const struct part *culprit = &g->part[gang_breaker(g)];
	/* the listener words the usual loss of an attempt on one host itself */
	char *why = g->n == 1 && culprit->state == PART_LOST && !culprit->why ? NULL : part_epitaph(culprit);

	if (g->part[0].result && g->part[0].result->saves.state != SAVE_NONE && e->l.attempt_saved)
		e->l.attempt_saved(e->l.context, g->tag, &g->part[0].result->saves);
	e->l.attempt_lost(e->l.context, g->tag, culprit->host->name, why);
	free(why);
}

static void gang_move(struct engine *e, struct gang *g)
{
	enum gang_move move = gang_step(g);

	if (move == MOVE_NONE)
		return;
	if (move != MOVE_REFUSED)
		gang_touch(e, g); /* there may be another step */
	switch (move) {
	case MOVE_NONE:
		break;
	case MOVE_ROOMS:
		rooms_begin(e, g);
		break;
	case MOVE_SCRIPT:
		part_begin(e, &g->part[0]);
		break;
	case MOVE_STARTED:
		g->started = true;
		e->l.attempt_started(e->l.context, g->tag, g->pid);
		break;
	case MOVE_END:
		gang_end(e, g);
		break;
	case MOVE_REFUSED:
		tell_refused(e, g);
		break;
	case MOVE_ENDED:
		g->told = true;
		tell_ended(e, g);
		break;
	case MOVE_LOST:
		g->told = true;
		tell_lost(e, g);
		break;
	}
}

void gang_touch(struct engine *e, struct gang *g)
{
	if (g->touched)
		return;
	vec_push(&e->touched, g);
	g->touched = e->touched.n;
}

void gang_used(struct engine *e, const struct gang *g)
{
	int64_t cpu_ms = 0, memory_kib = 0;

	for (int i = 0; i < g->n; i++) {
		cpu_ms += g->part[i].cpu_ms;
		memory_kib += g->part[i].memory_kib;
	}
	if (!g->told && e->l.attempt_used)
		e->l.attempt_used(e->l.context, g->tag, cpu_ms, memory_kib);
}

/* Reports checkpoints before the end, which includes the last of them. */
static void saves_tell(struct engine *e, struct gang *g)
{
	bool news = g->saved && !g->told && g->part[0].state != PART_ENDED;

	g->saved = false;
	if (news && e->l.attempt_saved)
		e->l.attempt_saved(e->l.context, g->tag, &g->part[0].saves);
}

void engine_settle(struct engine *e)
{
	if (e->settling)
		return;
	e->settling = true;
	for (size_t i = 0; i < e->touched.n; i++) { /* it grows meanwhile */
		struct gang *g = e->touched.v[i];
		if (!g) /* dropped */
			continue;
		g->touched = 0;
		saves_tell(e, g);
		gang_move(e, g);
	}
	vec_clear(&e->touched);
	if (e->here_waits)
		errands_flush(e->here);
	e->here_waits = false;
	e->settling = false;
}

/* ---- making, finding, forgetting ---- */

static uint64_t tag_key(const char *tag)
{
	return hash_bytes(tag, strlen(tag));
}

struct gang *gang_create(struct engine *e, const char *tag, int n)
{
	size_t size = sizeof(struct gang) + (size_t)n * sizeof(struct part), length = strlen(tag) + 1;
	struct gang *g = mem_zalloc(size + length);
	uint64_t *first = map_at(&e->gangs, tag_key(tag));

	assert(!gang_find(e, tag));
	g->tag = memcpy((char *)g + size, tag, length);
	g->n = n;
	g->next = (struct gang *)(uintptr_t)*first;
	*first = (uint64_t)(uintptr_t)g;
	return g;
}

struct gang *gang_find(const struct engine *e, const char *tag)
{
	uint64_t first = 0;
	struct gang *g;

	map_get(&e->gangs, tag_key(tag), &first);
	for (g = (struct gang *)(uintptr_t)first; g && strcmp(g->tag, tag) != 0; g = g->next)
		;
	return g;
}

static void gang_unlink(struct engine *e, struct gang *g)
{
	uint64_t key = tag_key(g->tag), *first = map_at(&e->gangs, key);
	struct gang *head = (struct gang *)(uintptr_t)*first, **at = &head;

	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	if (head)
		*first = (uint64_t)(uintptr_t)head;
	else
		map_remove(&e->gangs, key);
}

void gang_forget(struct engine *e, struct gang *g)
{
	for (int i = 0; i < g->n; i++) {
		struct part *p = &g->part[i];
		if (p->state == PART_NEVER || !host_is_there(e, p->host))
			continue;
		if (p->state == PART_LOST && !p->host->here)
			host_clean(e, p->host, g->tag); /* whatever state it is in by now */
		else
			host_forget(e, p->host, g->tag);
	}
	gang_drop(e, g);
}

void gang_drop(struct engine *e, struct gang *g)
{
	gang_unlink(e, g);
	if (g->touched)
		e->touched.v[g->touched - 1] = NULL;
	for (size_t i = 0; !g->released && i < e->fresh.n; i++)
		if (e->fresh.v[i] == g) {
			vec_remove(&e->fresh, i);
			break;
		}
	if (g->ending == SIGTERM)
		ending_remove(e, g);
	for (int i = 0; i < g->n; i++) {
		struct part *p = &g->part[i];
		part_move_out(p);
		strbuf_fini(&p->order);
		strbuf_fini(&p->script);
		if (p->result)
			free((char *)p->result->reason);
		free(p->result);
		free(p->why);
	}
	free(g);
}
