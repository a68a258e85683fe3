/*
 * guard_door.c - the socket for queries and orders from `shunt owner`: RUN/owner.sock, without root
 * and without a network.
 *
 * Everyone may query. Root and the machine's owners may give orders: the users that the policy
 * names or, if it names none, everyone who has a terminal here; never a process of a job.
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
	static const char *const states[] = {
		[OWNER_RUN] = "free", [OWNER_STOP] = "stopped", [OWNER_RETURN] = "leaving"};
	json_t *o = guard_book_json(g);

	json_object_set_new(o, "node", json_string(g->a->member.name));
	json_object_set_new(o, "cluster", json_string(g->a->member.cluster));
	json_object_set_new(o, "policy",
			    json_string(g->on && g->a->member.workstation ? g->a->member.workstation : ""));
	json_object_set_new(o, "connected", json_boolean(session_link(g->a) != NULL));
	if (!g->on)
		return o;
	json_object_set_new(o, "state", json_string(states[g->act]));
	if (g->act != OWNER_RUN) {
		json_object_set_new(o, "why", json_string(owner_cause_text(g->owner.cause)));
		json_object_set_new(o, "since", json_integer(g->claimed_at));
	}
	if (g->seen.input != OWNER_NO_INPUT)
		json_object_set_new(o, "input_ago", json_integer(((int64_t)uv_now(g->a->loop) - g->seen.input) / 1000));
	json_object_set_new(o, "who", json_string(g->seen.who));
	json_object_set_new(o, "where", json_string(g->seen.where));
	json_object_set_new(o, "devices", json_integer(senses_devices(g->senses)));
	if (g->pause.until)
		json_object_set_new(o, "pause_until",
				    json_integer(g->pause.until == PAUSE_NEVER_ENDS ? 0 : g->pause.until));
	json_object_set_new(o, "parts", parts_json(g));
	return o;
}

static json_t *refusal(const char *reason)
{
	return json_pack("{s:s}", "error", reason);
}

/* ---- orders ---- */

static bool may_order(const struct guard *g, const struct ucred *who)
{
	if (!who->pid || guard_ours(g, who->pid))
		return false;
	if (who->uid == 0 || (g->a->home.given && who->uid == geteuid()))
		return true;
	return *g->rules.owners ? guard_owns(g, who->uid) : senses_logged_in(g->senses, who->uid);
}

static json_t *order(struct guard *g, const char *line, const struct ucred *who)
{
	int64_t seconds;

	if (!g->on)
		return refusal("this machine is not a workstation: its node has no policy for an owner");
	if (!door_order(line, &seconds))
		return refusal("the agent does not know that order");
	if (!may_order(g, who))
		return refusal(*g->rules.owners ? "only root and the owners that this node's policy names may do that"
						: "only root and users who are logged in at this machine may do that");
	/* Don't count the current second, so that a pause is never shorter than requested. */
	int64_t now = (int64_t)time(NULL), until = seconds == 0		  ? 0
						   : seconds == INT64_MAX ? PAUSE_NEVER_ENDS
									  : now + 1 + seconds;
	owner_pause_set(&g->pause, until, now, boot_us() / 1000000);
	g->paused_by = who->uid;
	log_line(SEVERITY_NOTICE, "%s by user %u", seconds ? "paused" : "resumed", (unsigned)who->uid);
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
	return door_open(g->a->loop, path, on_line, g, &g->door, err);
}
