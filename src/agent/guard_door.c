/*
 * guard_door.c - the socket for queries and orders from `shunt owner`: RUN/owner.sock, without root
 * and without a network.
 *
 * Everyone may query; sentry.h says who may give orders.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/guard_internal.h"
#include "base/logline.h"
#include "run/lease.h"

/* ---- answers ---- */

static json_t *parts_json(const struct guard *g)
{
	json_t *list = json_array();

	for (size_t i = 0; i < g->parts.n; i++) {
		const struct guarded *p = &g->parts.v[i];
		char job[sizeof p->tag];
		snprintf(job, sizeof job, "%.*s", (int)strcspn(p->tag, "-."), p->tag);
		json_array_append_new(list, json_pack("{s:s,s:b,s:I}", "job", job, "stopped", p->held, "cpu",
						      (json_int_t)(p->cpu_ms / 1000)));
	}
	return list;
}

static json_t *show(const struct guard *g)
{
	json_t *o = guard_book_json(g);

	json_object_set_new(o, "node", json_string(g->a->member.name));
	json_object_set_new(o, "cluster", json_string(g->a->member.cluster));
	json_object_set_new(o, "policy",
			    json_string(g->on && g->a->member.workstation ? g->a->member.workstation : ""));
	json_object_set_new(o, "connected", json_boolean(session_link(g->a) != NULL));
	if (!g->on)
		return o;
	sentry_show(&g->sentry, g->a->loop, o);
	if (g->sentry.pause.until)
		json_object_set_new(
			o, "pause_until",
			json_integer(g->sentry.pause.until == PAUSE_NEVER_ENDS ? 0 : g->sentry.pause.until));
	json_object_set_new(o, "parts", parts_json(g));
	return o;
}

/* ---- orders ---- */

static json_t *order(struct guard *g, const char *line, const struct ucred *who)
{
	bool ours = guard_ours(g, who->pid), trusted = g->a->home.given && who->uid == geteuid();
	int64_t until;

	json_t *refusal =
		g->on ? sentry_order(&g->sentry, line, who, ours, trusted, "agent", "node", &until)
		      : sentry_refusal("this machine is not a workstation: its node has no policy for an owner");
	if (refusal)
		return refusal;
	owner_pause_set(&g->sentry.pause, until, (int64_t)time(NULL), boot_us() / 1000000);
	g->paused_by = who->uid;
	log_line(SEVERITY_NOTICE, "%s by user %u", until ? "paused" : "resumed", (unsigned)who->uid);
	guard_book_store(g);
	guard_turn(g);
	return show(g);
}

static json_t *on_line(void *context, const char *line, const struct ucred *who)
{
	return strcmp(line, "show") == 0 ? show(context) : order(context, line, who);
}

int guard_door_open(struct guard *g, struct err *err)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof path, "%s/owner.sock", g->a->home.run);
	return door_open(g->a->loop, path, on_line, g, &g->sentry.door, err);
}
