/*
 * guard_book.c - what is known of a workstation's owner over time: owner.json, with which a
 * restarted agent continues.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/guard_internal.h"
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
	if (g->act != OWNER_RUN) {
		b->claimed_ms += ms;
		b->hour_claimed_ms += ms;
	}
}

json_t *guard_book_json(const struct guard *g)
{
	const struct guard_book *b = &g->book;
	char habit[HABIT_HOURS + 1];

	habit_text(&b->habit, habit);
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:s}", "given", (json_int_t)(b->given_ms / 1000), "claimed",
			 (json_int_t)(b->claimed_ms / 1000), "lost", (json_int_t)(b->lost_ms / 1000), "stops",
			 (json_int_t)b->stops, "left", (json_int_t)b->left, "habit", habit);
}

/* Returns the tags of parts that their users have suspended: they must not be continued with the
 * others. */
static json_t *suspended_json(const struct guard *g)
{
	json_t *list = json_array();

	for (size_t i = 0; i < g->parts.n; i++)
		if (g->parts.v[i].suspended)
			json_array_append_new(list, json_string(g->parts.v[i].tag));
	return list;
}

static int64_t input_instant(const struct guard *g)
{
	if (!g->senses || g->seen.input == OWNER_NO_INPUT)
		return g->input_at;
	return (int64_t)time(NULL) - ((int64_t)uv_now(g->a->loop) - g->seen.input) / 1000;
}

void guard_book_store(struct guard *g)
{
	json_t *o = guard_book_json(g);
	struct err err;
	char *text;

	json_object_set_new(o, "hour", json_integer(g->book.hour));
	json_object_set_new(o, "hour_ms", json_integer(g->book.hour_ms));
	json_object_set_new(o, "hour_claimed_ms", json_integer(g->book.hour_claimed_ms));
	json_object_set_new(o, "pause_until", json_integer(g->pause.until));
	json_object_set_new(o, "input_at", json_integer(input_instant(g)));
	json_object_set_new(o, "paused_by", json_integer(g->paused_by));
	json_object_set_new(o, "suspended", suspended_json(g));
	json_object_set_new(o, "held", json_boolean(g->act != OWNER_RUN));
	text = json_dumps(o, JSON_INDENT(2));
	json_decref(o);
	if (text && home_write(&g->a->home, "owner.json", 0600, text, strlen(text), &err) < 0)
		log_line(SEVERITY_ERROR, "the owner's pauses can't be stored: %s", err.text);
	free(text);
}

static int64_t number(const json_t *o, const char *name)
{
	int64_t n = json_integer_value(json_object_get(o, name));

	return n > 0 ? n : 0;
}

void guard_book_load(struct guard *g)
{
	struct guard_book *b = &g->book;
	struct strbuf text = {0};
	json_t *o =
		home_read(&g->a->home, "owner.json", &text, NULL) == 0 ? json_loads(strbuf_text(&text), 0, NULL) : NULL;
	const char *habit = json_string_value(json_object_get(o, "habit"));
	const json_t *v;
	size_t i;

	*b = (struct guard_book){.given_ms = number(o, "given") * 1000,
				 .claimed_ms = number(o, "claimed") * 1000,
				 .lost_ms = number(o, "lost") * 1000,
				 .stops = number(o, "stops"),
				 .left = number(o, "left"),
				 .hour_ms = number(o, "hour_ms"),
				 .hour_claimed_ms = number(o, "hour_claimed_ms"),
				 .hour = o ? (int)json_integer_value(json_object_get(o, "hour")) : -1};
	if (b->hour >= HABIT_HOURS)
		b->hour = -1;
	if (!habit || !habit_read(habit, &b->habit))
		habit_init(&b->habit);
	g->input_at = number(o, "input_at");
	owner_pause_set(&g->pause, number(o, "pause_until"), (int64_t)time(NULL), boot_us() / 1000000);
	g->paused_by = (uid_t)number(o, "paused_by");
	json_array_foreach(json_object_get(o, "suspended"), i, v)
	{
		struct guarded p = {.suspended = true};
		snprintf(p.tag, sizeof p.tag, "%s", json_is_string(v) ? json_string_value(v) : "");
		vec_push(&g->parts, p);
	}
	/* Continue what an earlier agent has stopped, unless the first look decides otherwise. */
	if (json_is_true(json_object_get(o, "held")))
		g->act = OWNER_STOP;
	json_decref(o);
	strbuf_fini(&text);
}
