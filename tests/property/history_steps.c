/*
 * history_steps.c - one thing after the other: what processes do, time that passes, and which of
 * all things comes next.
 */
#include <stdio.h>

#include "engine/engine.h"
#include "property/history.h"
#include "run/order.h"
#include "server/job/jobs.h"
#include "server/life/world/dispatch.h"
#include "server/loop.h"
#include "server/server.h"
#include "store/store.h"
#include "support/bare.h"

static struct saves some_saves(struct history *h)
{
	struct saves v = {.state = (enum save_state)below(h, 4)};

	if (v.state == SAVE_NONE)
		return v;
	v.cause = (enum checkpoint_cause)below(h, SAVE_CAUSES);
	v.good = (int)below(h, 3);
	v.failed = (int)below(h, 2);
	v.number = below(h, 5);
	v.covers_ms = below(h, 6000);
	v.saved_us = h->now_us;
	v.took_ms = below(h, 1000);
	v.restarted = below(h, 3);
	return v;
}

static void op_process(struct history *h)
{
	const struct bare_attempt *all;
	size_t n = bare_attempts(&all);
	struct bare_attempt x;

	if (!n)
		return;
	x = all[below(h, (int64_t)n)];
	if (!bare_reached(&x))
		return;
	if (h->loud)
		printf("# process %s%s\n", x.tag, x.started ? " runs" : "");
	if (!x.started && !one_in(h, 4)) {
		bare_started(h->s, x.tag);
		return;
	}
	if (x.started && one_in(h, 3)) {
		struct saves v = some_saves(h);
		dispatch_engine.attempt_saved(h->s, x.tag, &v);
		return;
	}
	bare_forget(x.tag);
	if (!x.started && one_in(h, 3)) {
		dispatch_engine.attempt_refused(
			h->s, &(struct refusal){.tag = x.tag, .reason = one_in(h, 3) ? NULL : "it can't"});
	} else if (one_in(h, 8)) {
		dispatch_engine.attempt_lost(h->s, x.tag, NULL, one_in(h, 2) ? "the host is gone" : NULL);
	} else {
		struct result r = {
			.tag = x.tag, .started_us = h->now_us - 5000000, .ended_us = h->now_us, .session = 4711};
		r.how = !x.started ? RESULT_NOT_STARTED : one_in(h, 4) ? RESULT_SIGNALED : RESULT_EXITED;
		r.status = (int)below(h, 3);
		r.cause = one_in(h, 6) ? CAUSE_WALLTIME : 0;
		r.cpu_ms = below(h, 100000);
		r.memory_kib = below(h, 100000);
		r.saves = some_saves(h);
		r.reason = one_in(h, 5) ? "some reason" : NULL;
		dispatch_engine.attempt_ended(h->s, &r);
	}
}

static void op_time(struct history *h)
{
	h->now_us += one_in(h, 4) ? below(h, 400) * 1000000 : below(h, 5000000);
	if (one_in(h, 60)) /* another month, perhaps */
		h->now_us += (int64_t)below(h, 20) * 86400000000;
	bare_clock(h->now_us);
	if (h->loud)
		printf("# time %lld\n", (long long)(h->now_us / 1000000 - EPOCH));
}

static void accepted_note(struct history *h)
{
	for (uint32_t id = 1; id < h->s->jobs->entries.n; id++)
		if (entry_get(h->s, id)->spec)
			map_set(&h->accepted, job_key_number(entry_get(h->s, id)->key), 1);
}

void step(struct history *h)
{
	switch (below(h, 18)) {
	case 16:
	case 17:
		op_walltime(h);
		break;
	case 0:
	case 1:
	case 2:
	case 3:
		op_submit(h);
		break;
	case 4:
	case 5:
		h->patience = -(int)below(h, 2);
		op_alter(h);
		h->patience = 0;
		break;
	case 6:
	case 7:
	case 8:
		h->patience = -(int)below(h, 2);
		op_action(h);
		h->patience = 0;
		break;
	case 9:
		op_admin(h);
		break;
	case 10:
		if (below(h, 2))
			op_order(h);
		else
			op_place(h);
		break;
	case 11:
		op_time(h);
		break;
	default:
		op_process(h);
		break;
	}
	if (rng_below(&h->sites, 5) == 1)
		op_sites(h);
	if (rng_below(&h->overlays, 6) == 1)
		op_overlays(h);
	if (rng_below(&h->owners, h->owned ? 2 : 6) == 1)
		op_owners(h);
	if (*h->token && rng_below(&h->visits, 6) == 1)
		op_visits(h);
	if (h->hooked)
		op_hooks(h);
	if (rng_below(&h->floods, 20) == 1)
		op_floods(h);
	server_turn(h->s);
	waiting_end(h, false);
	accepted_note(h);
}
