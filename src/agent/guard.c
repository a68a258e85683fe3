/*
 * guard.c - see guard.h.
 *
 * A tick of a quarter of a second observes, decides and acts; input at a device triggers this at
 * once. Tasks that must not run are stopped again at each tick, which catches programs that were
 * just starting or that someone has continued.
 */
#include "agent/guard.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "agent/guard_internal.h"
#include "base/logline.h"
#include "run/hold.h"
#include "run/lease.h"
#include "run/nursery.h"
#include "run/tree.h"
#include "station/gpus.h"

#define TICK_MS 250
#define WEIGH_MS 1000
#define GPUS_MS 5000
#define AVERAGE 0.25 /* weight of the last second in the average of others' threads */

/* ---- parts ---- */

static struct guarded *part_find(struct guard *g, const char *tag)
{
	for (size_t i = 0; i < g->parts.n; i++)
		if (strcmp(g->parts.v[i].tag, tag) == 0)
			return &g->parts.v[i];
	return NULL;
}

static void part_note(void *context, const char *tag)
{
	struct guard *g = context;
	struct arena *arena = arena_create();
	char live[PATH_MAX + 16];
	struct guarded *p;
	struct result r;
	pid_t pid;

	snprintf(live, sizeof live, "%s/live", g->a->home.state);
	if (strlen(tag) < sizeof p->tag && live_look(live, tag, arena, &r, &pid) == LIVE_RUNNING && pid > 0) {
		if (!(p = part_find(g, tag))) {
			/* On the first look an earlier agent may have counted its usage: count from
			 * now on. */
			vec_push(&g->parts, (struct guarded){.cpu_ms = g->counted ? 0 : INT64_MAX});
			p = &g->parts.v[g->parts.n - 1];
			snprintf(p->tag, sizeof p->tag, "%s", tag);
		}
		p->shepherd = pid;
		p->here = true;
	}
	arena_destroy(arena);
}

/* Finds the parts that are running now. */
static void parts_look(struct guard *g)
{
	char live[PATH_MAX + 16];
	size_t kept = 0;

	for (size_t i = 0; i < g->parts.n; i++)
		g->parts.v[i].here = false;
	snprintf(live, sizeof live, "%s/live", g->a->home.state);
	live_list(live, part_note, g, NULL);
	for (size_t i = 0; i < g->parts.n; i++)
		if (g->parts.v[i].here)
			g->parts.v[kept++] = g->parts.v[i];
	g->parts.n = kept;
}

bool guard_ours(const struct guard *g, pid_t pid)
{
	pid_list all = {0};
	bool found = false;

	for (size_t i = 0; i < g->parts.n && !found; i++) {
		tree_list(g->parts.v[i].shepherd, &all);
		for (size_t k = 0; k < all.n && !found; k++)
			found = all.v[k] == pid;
	}
	vec_free(&all);
	return found;
}

/* ---- observing ---- */

/* Returns the terminal that a process is attached to, as a device number of stat(); 0: none. */
static dev_t terminal_of(pid_t pid)
{
	char path[40], text[1024], *end;
	unsigned n;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	FILE *f = fopen(path, "re");
	size_t got = f ? fread(text, 1, sizeof text - 1, f) : 0;
	if (f)
		fclose(f);
	text[got] = '\0';
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1, " %*c %*d %*d %*d %u", &n) != 1)
		return 0;
	return makedev(n >> 8 & 0xfff, (n & 0xff) | (n >> 12 & 0xfff00));
}

static bool terminal_ours(struct guard *g, dev_t device)
{
	pid_list all = {0};
	bool found = false;

	parts_look(g);
	for (size_t i = 0; i < g->parts.n && !found; i++) {
		tree_list(g->parts.v[i].shepherd, &all);
		for (size_t k = 0; k < all.n && !found; k++)
			found = terminal_of(all.v[k]) == device;
	}
	vec_free(&all);
	return found;
}

static bool on_counts(void *context, dev_t device, uid_t user)
{
	struct guard *g = context;

	return sentry_owns(&g->sentry, user) && !(device && terminal_ours(g, device));
}

static void on_input(void *context)
{
	struct guard *g = context;

	if (g->sentry.act == OWNER_RUN && g->counted) /* not during the first look */
		guard_turn(g);
}

/* ---- acting ---- */

static void part_stop(struct guarded *p)
{
	if (p->leaves)
		return;
	hold_stop(p->shepherd, p->tag);
	p->held = true;
}

static void part_continue(struct guarded *p)
{
	if (p->shepherd > 0)
		hold_continue(p->shepherd, p->tag, p->suspended);
	p->held = false;
}

static void act(struct guard *g, enum owner_act now)
{
	bool stops = now != OWNER_RUN && g->sentry.act == OWNER_RUN,
	     goes_on = now == OWNER_RUN && g->sentry.act != OWNER_RUN, changed = now != g->sentry.act;

	g->sentry.act = now;
	if (stops)
		g->sentry.claimed_at = (int64_t)time(NULL);
	if (now != OWNER_RUN || goes_on)
		parts_look(g);
	for (size_t i = 0; i < g->parts.n; i++) {
		if (now != OWNER_RUN)
			part_stop(&g->parts.v[i]);
		else if (goes_on)
			part_continue(&g->parts.v[i]);
	}
	if (!changed)
		return;
	g->book.total.stops += stops && g->parts.n;
	log_line(SEVERITY_NOTICE, "%s (%zu part%s of jobs here)",
		 stops		       ? owner_cause_text(g->sentry.claim.cause)
		 : now == OWNER_RETURN ? "the owner stays: jobs leave"
		 : goes_on	       ? "the owner is away: jobs may run"
				       : owner_cause_text(g->sentry.claim.cause),
		 g->parts.n, g->parts.n == 1 ? "" : "s");
	guard_book_store(g);
	session_health(g->a);
}

/* Measures what our tasks use and what others want of the processors; keeps memory free. */
static void weigh(struct guard *g)
{
	int running = 0;

	parts_look(g);
	for (size_t i = 0; i < g->parts.n; i++) {
		struct guarded *p = &g->parts.v[i];
		int64_t ms;
		running += hold_running(p->shepherd, &ms);
		if (ms > p->cpu_ms)
			g->book.total.given_ms += ms - p->cpu_ms;
		p->cpu_ms = ms;
		if (g->sentry.act != OWNER_RUN && !p->leaves)
			hold_reclaim(p->shepherd, p->tag);
	}
	if (g->parts.n)
		hold_memory(g->parts.v[0].shepherd, g->parts.v[0].tag, sentry_memory(&g->sentry));
	sentry_average(&g->sentry, running, AVERAGE);
}

/* Checks which GPUs others use, and notifies the server if that has changed. */
static void gpus_look(struct guard *g)
{
	pid_list ours = {0}, tree = {0};
	uint64_t before = g->gpus;

	for (size_t i = 0; i < g->parts.n; i++) {
		tree_list(g->parts.v[i].shepherd, &tree);
		for (size_t k = 0; k < tree.n; k++)
			vec_push(&ours, tree.v[k]);
	}
	g->gpus = owner_gpus(sentry_devices(g->a->home.given), &ours);
	vec_free(&tree);
	vec_free(&ours);
	if (g->gpus != before)
		session_health(g->a);
}

static bool is_paused(struct guard *g)
{
	if (owner_pause_over(&g->sentry.pause, boot_us() / 1000000)) {
		g->sentry.pause.until = 0;
		guard_book_store(g);
	}
	return g->sentry.pause.until != 0;
}

void guard_turn(struct guard *g)
{
	int64_t now = (int64_t)uv_now(g->a->loop);

	senses_get(g->sentry.senses, &g->sentry.seen);
	if (now - g->weighed >= WEIGH_MS) {
		weigh(g);
		g->weighed = now;
	}
	if (json_integer_value(json_object_get(g->a->facts, "gpus")) > 0 &&
	    (!g->gpus_at || now - g->gpus_at >= GPUS_MS)) {
		gpus_look(g);
		g->gpus_at = now ? now : 1;
	}
	guard_book_count(g, g->counted ? now - g->counted : 0);
	g->counted = now ? now : 1;
	act(g, sentry_decide(&g->sentry, g->a->loop, is_paused(g)));
}

static void on_tick(uv_timer_t *t)
{
	struct guard *g = t->data;

	senses_look(g->sentry.senses);
	guard_turn(g);
}

/* ---- the policy ---- */

static void guard_off(struct guard *g)
{
	if (!g->on)
		return;
	uv_timer_stop(&g->timer);
	senses_destroy(g->sentry.senses);
	g->sentry.senses = NULL;
	if (g->sentry.act != OWNER_RUN) {
		g->sentry.claim = (struct owner_claim){0};
		act(g, OWNER_RUN);
	}
	parts_look(g);
	if (g->parts.n)
		hold_memory(g->parts.v[0].shepherd, g->parts.v[0].tag, INT64_C(1) << 60);
	g->on = false;
}

static void guard_on(struct guard *g)
{
	struct senses_listener l = {.input = on_input, .counts = on_counts, .context = g};

	if (g->on)
		return;
	g->on = true;
	g->counted = 0;
	g->sentry.senses = senses_create(g->a->loop, sentry_devices(g->a->home.given), &l);
	if (g->input_at)
		senses_remember(g->sentry.senses, ((int64_t)time(NULL) - g->input_at) * 1000);
	senses_get(g->sentry.senses, &g->sentry.seen); /* the book may be stored before the first look */
	uv_timer_start(&g->timer, on_tick, 0, TICK_MS);
}

void guard_set(struct agent *a, const char *policy)
{
	struct guard *g = a->guard;
	struct owner_rules r;
	struct err err;

	if (!g)
		return;
	if (!policy || !*policy) {
		guard_off(g);
		return;
	}
	if (owner_rules_parse(policy, &r, &err) < 0) {
		log_line(SEVERITY_ERROR, "the policy for this workstation can't be used: %s", err.text);
		return;
	}
	sentry_rules(&g->sentry, a->loop, &r);
	guard_on(g);
}

bool guard_background(const struct agent *a)
{
	return a->guard && a->guard->on;
}

/* ---- orders from the server ---- */

void guard_leaves(struct agent *a, const char *tag)
{
	struct guarded *p = a->guard ? part_find(a->guard, tag) : NULL;

	if (!p || p->leaves)
		return;
	p->leaves = true;
	if (p->held) {
		vec_push(&a->guard->leavers, mem_strdup(tag));
		part_continue(p);
	}
}

void guard_suspends(struct agent *a, const char *tag, bool suspended)
{
	struct guarded *p;

	if (!a->guard || !a->guard->on)
		return;
	parts_look(a->guard);
	if ((p = part_find(a->guard, tag)) && p->suspended != suspended) {
		p->suspended = suspended;
		guard_book_store(a->guard);
	}
}

void guard_ended(struct agent *a, const struct result *r)
{
	name_list *l = a->guard ? &a->guard->leavers : NULL;
	size_t i = 0;
	int64_t kept;

	while (l && i < l->n && strcmp(l->v[i], r->tag) != 0)
		i++;
	if (!l || i == l->n)
		return;
	free(l->v[i]);
	vec_remove(l, i);
	/* CPU time that is in its last checkpoint was not lost. */
	kept = r->ran_ms > 0 ? r->cpu_ms * (r->saves.covers_ms < r->ran_ms ? r->saves.covers_ms : r->ran_ms) / r->ran_ms
			     : 0;
	a->guard->book.total.lost_ms += r->cpu_ms - kept;
	a->guard->book.total.left++;
	guard_book_store(a->guard);
}

static json_t *gpus_json(uint64_t gpus)
{
	json_t *list = json_array();

	for (int i = 0; i < OWNER_GPUS_MOST; i++)
		if (gpus >> i & 1)
			json_array_append_new(list, json_integer(i));
	return list;
}

json_t *guard_news(const struct agent *a)
{
	const struct guard *g = a->guard;
	json_t *o;

	if (!g || !g->on)
		return NULL;
	o = guard_book_json(g);
	json_object_set_new(o, "claims", json_boolean(g->sentry.act != OWNER_RUN));
	json_object_set_new(o, "leave", json_boolean(g->sentry.act == OWNER_RETURN));
	json_object_set_new(o, "gpus", gpus_json(g->gpus));
	if (g->sentry.act != OWNER_RUN)
		json_object_set_new(o, "why", json_string(owner_cause_text(g->sentry.claim.cause)));
	return o;
}

/* ---- life ---- */

int guard_start(struct agent *a, struct err *err)
{
	struct guard *g = mem_zalloc(sizeof *g);

	g->a = a;
	uv_timer_init(a->loop, &g->timer);
	g->timer.data = g;
	a->guard = g;
	guard_book_load(g);
	guard_set(a, a->member.workstation);
	return guard_door_open(g, err);
}

static void on_closed(uv_handle_t *h)
{
	struct guard *g = h->data;

	vec_free(&g->parts);
	name_list_free(&g->leavers);
	free(g);
}

void guard_stop(struct agent *a)
{
	struct guard *g = a->guard;

	if (!g)
		return;
	guard_book_store(g);
	door_close(g->sentry.door);
	sentry_stop(&g->sentry);
	a->guard = NULL;
	uv_close((uv_handle_t *)&g->timer, on_closed);
}
