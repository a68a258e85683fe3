/*
 * pool_guard.c - puts the owner of this machine first: judges what is observed (senses.h) by the
 * policy (owner.h) four times a second and at each input, and makes the pool's tasks stop, continue
 * or leave.
 *
 * A pause involves only this daemon and survives a restart: DIR/pause holds its end.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/logline.h"
#include "station/pool_internal.h"

#define TICK_MS 250
#define COUNT_MS 1000
#define COUNTS 0.2   /* weight of one count of the owner's processes in the average */
#define AVERAGE 0.06 /* weight of one sample of others' threads in the average */

static bool is_paused(struct pool *p)
{
	if (owner_pause_over(&p->guard.sentry.pause, pool_now() / 1000))
		pool_pause(p, 0);
	return p->guard.sentry.pause.until != 0;
}

static void leave(struct pool *p)
{
	struct owner_book *b = &p->guard.book;
	int64_t ms;

	b->left += host_leave(p, &ms);
	b->lost_ms += ms;
}

void guard_spent(struct pool *p, int64_t ms)
{
	if (ms > p->guard.spent_ms)
		p->guard.book.given_ms += ms - p->guard.spent_ms;
	p->guard.spent_ms = ms;
}

static void book_count(struct pool *p, int64_t now)
{
	struct guard *g = &p->guard;
	int64_t passed = now - g->counted_to;

	/* a longer gap means that the machine was suspended */
	if (g->counted_to && g->sentry.act != OWNER_RUN && passed > 0 && passed < 60000)
		g->book.claimed_ms += passed;
	g->counted_to = now;
}

static void act(struct pool *p, enum owner_act now)
{
	enum owner_act before = p->guard.sentry.act;

	p->guard.sentry.act = now;
	p->mine.closed = now != OWNER_RUN;
	if (now != OWNER_RUN && before == OWNER_RUN) {
		p->guard.sentry.claimed_at = (int64_t)time(NULL);
		p->guard.book.stops += p->tasks != NULL;
	}
	if (now == OWNER_RETURN && before != OWNER_RETURN)
		leave(p);
	else if (now != OWNER_RUN || before != OWNER_RUN)
		host_hold(p, now != OWNER_RUN);
	if (now == before)
		return;
	book_store(p);
	log_line(SEVERITY_NOTICE, "%s",
		 now == OWNER_RUN      ? "tasks may run"
		 : now == OWNER_RETURN ? "the owner stays: tasks leave"
				       : owner_cause_text(p->guard.sentry.claim.cause));
	links_tick(p); /* notifies all stations now */
	if (now == OWNER_RUN)
		host_go(p);
}

static void census(struct pool *p, int64_t now)
{
	struct guard *g = &p->guard;
	pid_list ours = {0};
	int interactive, batch;

	if (now - g->counted < COUNT_MS)
		return;
	g->counted = now;
	host_pids(p, &ours);
	census_take(&ours, &interactive, &batch);
	vec_free(&ours);
	g->interactive += COUNTS * (interactive - g->interactive);
	g->batch += COUNTS * (batch - g->batch);
	p->mine.load.interactive = (int)lround(g->interactive);
	p->mine.load.batch = (int)lround(g->batch);
	host_memory(p, sentry_memory(&g->sentry));
}

static void guard_turn(struct pool *p)
{
	struct guard *g = &p->guard;

	book_count(p, pool_now());
	if (g->sentry.senses) {
		senses_get(g->sentry.senses, &g->sentry.seen);
		sentry_average(&g->sentry, host_running(p), AVERAGE);
		census(p, (int64_t)uv_now(p->loop));
		station_gpus_look(p, sentry_devices(true), pool_now());
	}
	act(p, sentry_decide(&g->sentry, p->loop, is_paused(p)));
}

static void on_look(uv_timer_t *t)
{
	struct pool *p = t->data;

	if (p->guard.sentry.senses)
		senses_look(p->guard.sentry.senses);
	guard_turn(p);
}

static void on_input(void *context)
{
	struct pool *p = context;

	if (p->guard.up && p->guard.sentry.act == OWNER_RUN)
		guard_turn(p);
}

/* Returns true if a terminal counts: any user at one is an owner, unless the policy names the
 * owners. */
static bool on_counts(void *context, dev_t device, uid_t user)
{
	const struct pool *p = context;

	return sentry_owns(&p->guard.sentry, user);
}

void pool_pause(struct pool *p, int64_t until)
{
	char text[32];
	struct err err;

	owner_pause_set(&p->guard.sentry.pause, until, (int64_t)time(NULL), pool_now() / 1000);
	snprintf(text, sizeof text, "%lld\n", (long long)until);
	if (pool_home_write(&p->home, "pause", 0600, text, &err) < 0)
		log_line(SEVERITY_ERROR, "%s", err.text);
	if (p->guard.up)
		guard_turn(p);
}

int pool_guard_start(struct pool *p, struct err *err)
{
	struct senses_listener l = {.input = on_input, .counts = on_counts, .context = p};
	struct guard *g = &p->guard;
	struct strbuf text = {0};
	bool none = strcmp(p->conf.owner, "none") == 0;
	struct owner_rules r;
	int rc = owner_rules_parse(none ? "share; pressure=no" : p->conf.owner, &r, err);

	if (rc < 0)
		return err_prefix(err, rc, "--owner %s", p->conf.owner);
	if (pool_home_read(&p->home, "pause", &text, NULL) == 0)
		owner_pause_set(&g->sentry.pause, strtoll(strbuf_text(&text), NULL, 10), (int64_t)time(NULL),
				pool_now() / 1000);
	strbuf_fini(&text);
	book_load(p);
	g->sentry.seen.input = OWNER_NO_INPUT;
	sentry_rules(&g->sentry, p->loop, &r);
	if (!none)
		g->sentry.senses = senses_create(p->loop, sentry_devices(true), &l);
	p->user.background = !none;
	uv_timer_init(p->loop, &g->timer);
	g->timer.data = p;
	uv_timer_start(&g->timer, on_look, TICK_MS, TICK_MS);
	g->up = true;
	guard_turn(p);
	pool_door_open(p);
	return 0;
}

void pool_guard_stop(struct pool *p)
{
	uv_close((uv_handle_t *)&p->guard.timer, NULL);
	book_store(p);
	pool_door_close(p);
	sentry_stop(&p->guard.sentry);
}
