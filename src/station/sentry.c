/*
 * sentry.c - see sentry.h.
 */
#include "station/sentry.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *sentry_devices(bool tested)
{
	const char *given = tested ? getenv("SHUNT_OWNER_DEV") : NULL;

	return given && *given ? given : "/dev";
}

/* ---- the policy ---- */

static void on_owners(void *context, const uid_t *v, int n)
{
	struct sentry *s = context;

	s->look = NULL;
	vec_clear(&s->owners);
	for (int i = 0; i < n; i++)
		vec_push(&s->owners, v[i]);
}

void sentry_rules(struct sentry *s, uv_loop_t *loop, const struct owner_rules *r)
{
	if (strcmp(r->owners, s->rules.owners) != 0) {
		owners_cancel(s->look);
		vec_clear(&s->owners);
		s->look = *r->owners ? owners_look(loop, r->owners, on_owners, s) : NULL;
	}
	s->rules = *r;
}

void sentry_stop(struct sentry *s)
{
	owners_cancel(s->look);
	s->look = NULL;
	vec_free(&s->owners);
	if (s->senses)
		senses_destroy(s->senses);
	s->senses = NULL;
}

bool sentry_owns(const struct sentry *s, uid_t user)
{
	for (size_t i = 0; i < s->owners.n; i++)
		if (s->owners.v[i] == user)
			return true;
	return !*s->rules.owners;
}

/* ---- who has the machine ---- */

void sentry_average(struct sentry *s, int ours, double weight)
{
	int others = s->seen.runnable - ours;

	s->running += weight * ((others > 0 ? others : 0) - s->running);
}

int64_t sentry_memory(const struct sentry *s)
{
	return (int64_t)((s->seen.memory_free - (double)s->rules.keep) / 100 * (double)sysconf(_SC_PHYS_PAGES) *
			 (double)sysconf(_SC_PAGESIZE));
}

enum owner_act sentry_decide(struct sentry *s, uv_loop_t *loop, bool paused)
{
	struct owner_view v = {.now = (int64_t)uv_now(loop),
			       .instant = (int64_t)time(NULL),
			       .paused = paused,
			       .cpus = (int)sysconf(_SC_NPROCESSORS_ONLN),
			       .input = OWNER_NO_INPUT,
			       .memory_free = 100};

	if (s->senses) {
		v.input = s->seen.input;
		v.running = s->running;
		v.memory_free = s->seen.memory_free;
		v.memory_stalls = s->seen.memory_stalls;
	}
	return owner_decide(&s->claim, &s->rules, &v);
}

/* ---- `shunt owner` ---- */

void sentry_show(const struct sentry *s, uv_loop_t *loop, json_t *o)
{
	static const char *const states[] = {
		[OWNER_RUN] = "free", [OWNER_STOP] = "stopped", [OWNER_RETURN] = "leaving"};

	json_object_set_new(o, "state", json_string(states[s->act]));
	if (s->act != OWNER_RUN) {
		json_object_set_new(o, "why", json_string(owner_cause_text(s->claim.cause)));
		json_object_set_new(o, "since", json_integer(s->claimed_at));
	}
	if (!s->senses)
		return;
	if (s->seen.input != OWNER_NO_INPUT)
		json_object_set_new(o, "input_ago", json_integer(((int64_t)uv_now(loop) - s->seen.input) / 1000));
	json_object_set_new(o, "who", json_string(s->seen.who));
	json_object_set_new(o, "where", json_string(s->seen.where));
	json_object_set_new(o, "devices", json_integer(senses_devices(s->senses)));
}

static bool may_order(const struct sentry *s, const struct ucred *who, bool ours, bool trusted)
{
	if (!who->pid || ours)
		return false;
	if (who->uid == 0 || trusted)
		return true;
	return *s->rules.owners ? sentry_owns(s, who->uid) : s->senses && senses_logged_in(s->senses, who->uid);
}

/* Parses "pause SECONDS", "pause" and "resume"; returns false for anything else. */
static bool order_parse(const char *line, int64_t *ret_until)
{
	long long seconds = 0;
	char extra;

	if (strcmp(line, "resume") == 0)
		*ret_until = 0;
	else if (strcmp(line, "pause") == 0)
		*ret_until = PAUSE_NEVER_ENDS;
	else if (sscanf(line, "pause %lld%c", &seconds, &extra) == 1 && seconds >= 1 && seconds <= INT_MAX)
		/* the current second does not count: a pause is never shorter than requested */
		*ret_until = (int64_t)time(NULL) + 1 + seconds;
	else
		return false;
	return true;
}

json_t *sentry_refusal(const char *reason)
{
	return json_pack("{s:s}", "error", reason);
}

json_t *sentry_order(const struct sentry *s, const char *line, const struct ucred *who, bool ours, bool trusted,
		     const char *daemon, const char *place, int64_t *ret_until)
{
	char text[128] = "only root and users who are logged in at this machine may do that";

	if (!order_parse(line, ret_until)) {
		snprintf(text, sizeof text, "the %s does not know that order", daemon);
		return sentry_refusal(text);
	}
	if (!may_order(s, who, ours, trusted)) {
		if (*s->rules.owners)
			snprintf(text, sizeof text, "only root and the owners that this %s's policy names may do that",
				 place);
		return sentry_refusal(text);
	}
	return NULL;
}
