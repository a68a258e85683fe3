/*
 * guard_book.c - what is known of a workstation's owner over time: owner.json, with which a
 * restarted agent continues.
 */
#include <stdio.h>
#include <time.h>

#include "agent/guard_internal.h"
#include "base/codec.h"
#include "base/hostlist.h"
#include "base/json.h"
#include "base/logline.h"
#include "run/lease.h"

#define LEAST_MS 1800000 /* ms of an hour that must have been observed to learn from it */

static int hour_of_week(void)
{
	time_t now = time(NULL);
	struct tm tm;

	return localtime_r(&now, &tm) ? tm.tm_wday * 24 + tm.tm_hour : -1;
}

/* Learns from an hour that is over, and stores the book. */
static void hour_turn(struct guard *g, int hour)
{
	struct guard_book *b = &g->book;

	if (b->hour >= 0 && b->hour_ms >= LEAST_MS)
		habit_learn(&b->habit, b->hour, (int)(b->hour_claimed_ms * 100 / b->hour_ms));
	b->hour = hour;
	b->hour_ms = b->hour_claimed_ms = 0;
	guard_book_store(g);
}

void guard_book_count(struct guard *g, int64_t ms)
{
	struct guard_book *b = &g->book;
	int hour = hour_of_week();

	if (ms < 0 || ms > 60000) /* the machine slept */
		ms = 0;
	if (hour != b->hour)
		hour_turn(g, hour);
	b->hour_ms += ms;
	if (g->sentry.act != OWNER_RUN) {
		b->total.claimed_ms += ms;
		b->hour_claimed_ms += ms;
	}
}

json_t *guard_book_json(const struct guard *g)
{
	json_t *o = schema_json(&owner_book, &g->book.total);
	char habit[HABIT_HOURS + 1];

	habit_text(&g->book.habit, habit);
	json_object_set_new(o, "habit", json_string(habit));
	return o;
}

static int64_t input_instant(const struct guard *g)
{
	if (!g->sentry.senses || g->sentry.seen.input == OWNER_NO_INPUT)
		return g->input_at;
	return (int64_t)time(NULL) - ((int64_t)uv_now(g->a->loop) - g->sentry.seen.input) / 1000;
}

/* What owner.json contains beside the totals. */
struct kept {
	char habit[HABIT_HOURS + 1];
	int hour;
	int64_t hour_ms, hour_claimed_ms, pause_until, input_at;
	uid_t paused_by;
	/* tags of parts that their users have suspended: they must not be continued with the others */
	name_list suspended;
	bool held;
};
#define KEPT(member)                                                                                                   \
	{                                                                                                              \
#member, MEMBER(struct kept, member)                                                                   \
	}

static const struct field kept_rows[] = {
	{"habit", MEMBER_CHARS(struct kept, habit)},
	{"hour", .missing = -1, MEMBER(struct kept, hour)},
	{"suspended", MEMBER_AS(FORM_NAMES, struct kept, suspended)},
	KEPT(hour_ms),
	KEPT(hour_claimed_ms),
	KEPT(pause_until),
	KEPT(input_at),
	KEPT(paused_by),
	KEPT(held),
	{0},
};

void guard_book_store(struct guard *g)
{
	struct kept k = {.hour = g->book.hour,
			 .hour_ms = g->book.hour_ms,
			 .hour_claimed_ms = g->book.hour_claimed_ms,
			 .pause_until = g->sentry.pause.until,
			 .input_at = input_instant(g),
			 .paused_by = g->paused_by,
			 .held = g->sentry.act != OWNER_RUN};
	struct strbuf text = {0};
	struct json j;
	struct err err;

	habit_text(&g->book.habit, k.habit);
	for (size_t i = 0; i < g->parts.n; i++)
		if (g->parts.v[i].suspended)
			vec_push(&k.suspended, g->parts.v[i].tag);
	json_begin(&j, &text);
	record_store(owner_book.fields, 0, &g->book.total, NULL, &j);
	record_store(kept_rows, 0, &k, NULL, &j);
	json_close_object(&j);
	if (home_write(&g->a->home, "owner.json", 0600, text.text, text.n, &err) < 0)
		log_line(SEVERITY_ERROR, "the owner's pauses can't be stored: %s", err.text);
	vec_free(&k.suspended);
	strbuf_fini(&text);
}

void guard_book_load(struct guard *g)
{
	struct guard_book *b = &g->book;
	struct strbuf text = {0};
	json_t *o =
		home_read(&g->a->home, "owner.json", &text, NULL) == 0 ? json_loads(strbuf_text(&text), 0, NULL) : NULL;
	struct kept k = {.hour = -1};

	if (o && record_load(owner_book.fields, 0, o, &b->total, NULL, NULL) == 0)
		record_load(kept_rows, 0, o, &k, NULL, NULL);
	b->hour_ms = k.hour_ms;
	b->hour_claimed_ms = k.hour_claimed_ms;
	b->hour = k.hour < HABIT_HOURS ? k.hour : -1;
	if (!habit_read(k.habit, &b->habit))
		habit_init(&b->habit);
	g->input_at = k.input_at;
	owner_pause_set(&g->sentry.pause, k.pause_until, (int64_t)time(NULL), boot_us() / 1000000);
	g->paused_by = k.paused_by;
	for (size_t i = 0; i < k.suspended.n; i++) {
		struct guarded p = {.suspended = true, .cpu_ms = INT64_MAX}; /* counted from now on */
		snprintf(p.tag, sizeof p.tag, "%s", k.suspended.v[i]);
		vec_push(&g->parts, p);
	}
	/* Continue what an earlier agent has stopped, unless the first look decides otherwise. */
	if (k.held) {
		g->sentry.act = OWNER_STOP;
		g->sentry.claimed_at = (int64_t)time(NULL); /* when it began was not stored */
	}
	record_free(kept_rows, &k);
	json_decref(o);
	strbuf_fini(&text);
}
