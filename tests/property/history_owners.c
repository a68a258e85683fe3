/*
 * history_owners.c - a machine of somebody joins, n4: its heartbeats come and cease, its owner
 * claims it, stays until jobs would have to leave, and gives it back; it becomes an ordinary node
 * and a workstation again. In some histories its agent connects, and jobs go there: its claims
 * freeze them and chase them away, its connection is lost, with orders that were under way, and its
 * silence lasts until its jobs are given up. Claims, policies, habits and jobs are the same after a
 * restart. Drawn from h->owners.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "core/habit.h"
#include "property/history.h"
#include "server/base/clock.h"
#include "server/base/turn.h"
#include "server/link/claims.h"
#include "server/link/nodes.h"
#include "server/loop.h"
#include "server/node/nodes.h"
#include "server/node/owners.h"
#include "server/server.h"
#include "support/bare.h"
#include "tls/pki.h"

#define DESK 3 /* its number */
#define FACTS "{\"cpus\":2,\"memory\":2097152}"

static uint64_t some(struct history *h, uint64_t n)
{
	return rng_below(&h->owners, n);
}

static struct node_info *desk(struct history *h)
{
	return h->s->hosts->nodes.n > DESK ? &h->s->hosts->nodes.v[DESK] : NULL;
}

/* Its agent is there, and says whether its owner is. */
static void heartbeat(struct history *h, const json_t *news)
{
	if (h->connects) {
		bare_agent_hear(h->s, &(struct cert_names){CERT_NODE, "n4", h->join}, FACTS, news);
		return;
	}

	json_t *f = json_loads(FACTS, 0, NULL);

	if (node_unheard(&desk(h)->life))
		node_arrived(h->s, DESK, f, false);
	else
		node_heard(h->s, DESK, NULL);
	claim_heard(h->s, DESK, news);
	json_decref(f);
}

static json_t *news_make(struct history *h, bool claims)
{
	static const struct {
		const char *name;
		uint64_t n;
	} counts[] = {{"given", 9000}, {"claimed", 9000}, {"lost", 900}, {"stops", 90}, {"left", 9}};
	char hours[HABIT_HOURS + 1];
	json_t *o = json_pack("{s:b,s:b}", "claims", claims, "leave", claims && some(h, 3) == 0);
	struct habit habit;

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		json_object_set_new(o, counts[i].name, json_integer((json_int_t)some(h, counts[i].n)));
	if (claims && some(h, 4))
		json_object_set_new(o, "why", json_string(some(h, 2) ? "input at this machine" : "paused\033by \"x\""));
	if (some(h, 3))
		return o;
	habit_init(&habit);
	for (int i = 0; i < 5; i++) {
		int hour = (int)some(h, HABIT_HOURS);
		habit_learn(&habit, hour, (int)some(h, 101));
	}
	habit_text(&habit, hours);
	json_object_set_new(o, "habit", json_string(hours));
	return o;
}

static void policy_set(struct history *h, const char *policy)
{
	ask(h, getuid(), "PATCH", "/v1/nodes/n4", "{\"workstation\":\"%s\"}", policy);
}

void owners_begin(struct history *h)
{
	json_t *f = json_loads(FACTS, 0, NULL);
	struct err err;

	assert_int_equal(nodes_join(h->s, "n4", f, "root", &h->join, &err), 0);
	json_decref(f);
	if (!h->owned)
		return;
	policy_set(h, "idle");
	heartbeat(h, NULL);
}

void owners_go(struct history *h)
{
	policy_set(h, "");
}

void owners_hear(struct history *h)
{
	heartbeat(h, NULL);
}

/* Makes the server forget what it does not keep: when the agent was last heard, from which on a
 * server that starts counts, and its protocol, which it names when it connects. */
void owners_silence(struct history *h)
{
	desk(h)->agent->heard = 0;
	desk(h)->agent->protocol = 0;
	desk(h)->agent->since = h->s->clock->now;
}

void owners_away(struct history *h)
{
	if (h->connects)
		bare_agent_go(some(h, 2));
}

/* No word from it, while the server listens; perhaps so long that its jobs are given up. */
static void stay_silent(struct history *h)
{
	if (h->loud)
		printf("# n4 is silent\n");
	for (uint64_t n = some(h, 40); n > 0; n--) {
		h->now_us += 25000000;
		bare_clock(h->now_us);
		do /* the loop does not sleep before everything is decided */
			server_turn(h->s);
		while (h->s->turn->undecided);
	}
}

void op_owners(struct history *h)
{
	static const char *const policies[] = {"idle", "share; keep=20", "hours=Mon-Fri 08:00-18:00; return=2m"};
	bool owned = desk(h)->owner;

	if (h->connects && some(h, 5) == 0) {
		if (h->loud)
			printf("# n4 loses its connection\n");
		owners_away(h);
		return;
	}
	if (h->connects && some(h, 15) == 0) {
		stay_silent(h);
		return;
	}
	if (some(h, owned ? 8 : 2) == 0) {
		policy_set(h, owned && some(h, 2) ? "" : policies[some(h, 3)]);
		return;
	}
	json_t *news = some(h, 9) ? news_make(h, some(h, 2)) : NULL; /* one that says nothing of an owner */
	if (h->loud)
		printf("# heartbeat of n4%s\n", json_is_true(json_object_get(news, "claims")) ? ": claimed" : "");
	heartbeat(h, news);
	json_decref(news);
}
