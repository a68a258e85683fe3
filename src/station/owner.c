/*
 * owner.c - the owner of a workstation comes first.
 *
 *	         a cause for the owner
 *	FREE  ------------------------------------>  CLAIMED  --give_back s--> jobs leave
 *	      <------------------------------------
 *	         no cause, for the calm time
 *
 * Input, a pause and hours are certain and need no calm time: input has the quiet time, and the
 * others have an end of their own. Load and memory change quickly, and stopping our tasks changes
 * them: they cause a claim above one threshold, and hold it until they were below another for the
 * calm time.
 */
#include "station/owner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/timetext.h"

#define QUIET 300    /* seconds */
#define GIVE_BACK 60 /* seconds */
#define KEEP 10	     /* percent */
/* how long the owner's load must be high before it counts: starting a program must not */
#define LOAD_MS 2000
#define CALM_MS 30000 /* calm time of load and memory */
#define STALLS 10     /* percent of the time */

static const char *const causes[OWNER_CAUSES] = {"nothing",	      "paused by the owner",
						 "the owner's hours", "input at this machine",
						 "memory is short",   "the owner's programs need the processors"};

const char *owner_cause_text(enum owner_cause c)
{
	return causes[c];
}

/* ---- the text ---- */

static int refuse(const char *part, struct err *err)
{
	return err_set(err, -EINVAL,
		       "\"%.60s\": a workstation is share, idle or hours=Mon-Fri 08:00-18:00, and after a semicolon "
		       "quiet=5m, return=1m, keep=10 (percent), pressure=no or owners=ana+bo",
		       part);
}

static bool users_good(const char *text)
{
	return *text && strlen(text) < sizeof((struct owner_rules *)0)->owners &&
	       text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-$+")] == '\0';
}

static int seconds_read(const char *part, const char *text, int64_t *ret, struct err *err)
{
	int rc = duration_parse(text, ret, err);

	return rc < 0 ? err_prefix(err, rc, "%.60s", part) : 0;
}

/* Parses the first part: the policy. */
static int policy_read(const char *part, struct owner_rules *r, struct err *err)
{
	if (strcmp(part, "share") == 0)
		r->policy = OWNER_SHARE;
	else if (strcmp(part, "idle") == 0)
		r->policy = OWNER_IDLE;
	else if (strncmp(part, "hours=", 6) == 0) {
		r->policy = OWNER_HOURS;
		return hours_read(part + 6, &r->hours, err);
	} else
		return refuse(part, err);
	return 0;
}

static int option_read(const char *part, struct owner_rules *r, struct err *err)
{
	char *end;

	if (strncmp(part, "quiet=", 6) == 0)
		return seconds_read(part, part + 6, &r->quiet, err);
	if (strncmp(part, "return=", 7) == 0)
		return seconds_read(part, part + 7, &r->give_back, err);
	if (strncmp(part, "owners=", 7) == 0 && users_good(part + 7)) {
		snprintf(r->owners, sizeof r->owners, "%s", part + 7);
		return 0;
	}
	if (strcmp(part, "pressure=no") == 0 || strcmp(part, "pressure=yes") == 0) {
		r->pressure = part[9] == 'y';
		return 0;
	}
	if (strncmp(part, "keep=", 5) != 0)
		return refuse(part, err);
	r->keep = part[5] >= '0' && part[5] <= '9' ? strtol(part + 5, &end, 10) : -1;
	if (r->keep < 0 || r->keep > 90 || *end)
		return err_set(err, -EINVAL, "\"%.60s\": must be 0 to 90 percent", part);
	return 0;
}

int owner_rules_parse(const char *text, struct owner_rules *ret, struct err *err)
{
	struct owner_rules r = {.quiet = QUIET, .give_back = GIVE_BACK, .keep = KEEP, .pressure = true};
	char copy[1024], *rest = copy, *part;
	int rc = 0;

	if (strlen(text) >= sizeof copy)
		return err_set(err, -EINVAL, "more than %zu bytes", sizeof copy - 1);
	snprintf(copy, sizeof copy, "%s", text);
	for (bool first = true; rc == 0 && (part = strsep(&rest, ";")); first = false) {
		part += strspn(part, " \t");
		for (size_t n = strlen(part); n && (part[n - 1] == ' ' || part[n - 1] == '\t');)
			part[--n] = '\0';
		rc = first ? policy_read(part, &r, err) : option_read(part, &r, err);
	}
	if (rc == 0)
		*ret = r;
	return rc;
}

/* ---- the decision ---- */

static bool hours_now(const struct owner_rules *r, int64_t instant)
{
	int64_t begin, end;

	return r->policy == OWNER_HOURS && hours_next(&r->hours, instant, &begin, &end) && begin <= instant;
}

static bool input_now(const struct owner_rules *r, const struct owner_view *v)
{
	return r->policy != OWNER_SHARE && v->input != OWNER_NO_INPUT && v->now - v->input < r->quiet * 1000;
}

/* Returns true if memory is short. Less pressure is enough to hold a claim caused by memory. */
static bool memory_now(const struct owner_claim *o, const struct owner_rules *r, const struct owner_view *v)
{
	bool held = o->cause == OWNER_MEMORY;

	return v->memory_free * 2 < (double)r->keep * (held ? 3 : 2) || v->memory_stalls > (held ? STALLS / 2 : STALLS);
}

static bool load_now(struct owner_claim *o, const struct owner_view *v)
{
	bool held = o->cause == OWNER_LOAD, high = held ? v->running * 2 > v->cpus : v->running >= v->cpus;

	if (!high)
		o->loaded = 0;
	else if (!o->loaded)
		o->loaded = v->now ? v->now : 1;
	return high && (held || v->now - o->loaded >= LOAD_MS);
}

static enum owner_cause cause_now(struct owner_claim *o, const struct owner_rules *r, const struct owner_view *v)
{
	bool load = load_now(o, v);

	if (v->paused)
		return OWNER_PAUSED;
	if (hours_now(r, v->instant))
		return OWNER_HOUR;
	if (input_now(r, v))
		return OWNER_INPUT;
	if (!r->pressure)
		return OWNER_NOTHING;
	if (memory_now(o, r, v))
		return OWNER_MEMORY;
	return load ? OWNER_LOAD : OWNER_NOTHING;
}

static bool calm_enough(struct owner_claim *o, const struct owner_view *v)
{
	if (o->cause != OWNER_MEMORY && o->cause != OWNER_LOAD)
		return true;
	if (!o->calm)
		o->calm = v->now ? v->now : 1;
	return v->now - o->calm >= CALM_MS;
}

void owner_pause_set(struct owner_pause *p, int64_t until, int64_t instant, int64_t steady)
{
	p->until = until;
	p->end = until > instant ? steady + (until - instant) : steady;
}

bool owner_pause_over(const struct owner_pause *p, int64_t steady)
{
	return p->until && p->until != PAUSE_NEVER_ENDS && p->end <= steady;
}

enum owner_act owner_decide(struct owner_claim *o, const struct owner_rules *r, const struct owner_view *v)
{
	enum owner_cause cause = cause_now(o, r, v);

	if (cause != OWNER_NOTHING) {
		if (o->cause == OWNER_NOTHING)
			o->since = v->now;
		o->cause = cause;
		o->calm = 0;
	} else if (o->cause != OWNER_NOTHING && calm_enough(o, v)) {
		*o = (struct owner_claim){0};
	}
	if (o->cause == OWNER_NOTHING)
		return OWNER_RUN;
	return v->now - o->since >= r->give_back * 1000 ? OWNER_RETURN : OWNER_STOP;
}
