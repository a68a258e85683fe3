/*
 * simulator.c - see simulator.h.
 */
#include "server/site/simulator.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "server/base/child.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/turn.h"
#include "server/server.h"
#include "server/site/courier.h"
#include "server/site/realm.h"

#define KEPT 8
#define WAITING 8 /* maximum simulations that may wait for the running one */
#define FRESH 3600
#define RESULT_MOST (4 << 20) /* bytes */
#define LOWEST 19

struct listener_of {
	simulation_told told;
	void *context;
};

struct past_run {
	struct simulated_past x;
	VEC(struct listener_of) listeners;
};

/* State of the simulator; owned by the realm from its first use. */
struct simulator {
	struct server *s;
	uint64_t last;
	VEC(struct past_run *) waiting; /* the first one is running if there is a child */
	VEC(struct past_run *) kept;	/* oldest first */
	struct child *child;
	struct child_order order;
};

static void run_free(struct past_run *r)
{
	json_decref(r->x.result);
	vec_free(&r->listeners);
	free(r);
}

static void run_tell(const struct past_run *r, const struct err *err)
{
	for (size_t i = 0; i < r->listeners.n; i++)
		r->listeners.v[i].told(r->listeners.v[i].context, &r->x, err);
}

/* ---- the program ---- */

/* Writes the first line of its errors, without the program's name; otherwise how it ended. */
static void fault_text(const struct simulator *m, const struct child_end *end, char *ret, size_t size)
{
	const char *line = strncmp(end->errors, "shunt simulate: ", 16) == 0 ? end->errors + 16 : end->errors;
	size_t n = strcspn(line, "\n");

	if (end->late)
		snprintf(ret, size, "it took longer than %d s: choose fewer days or policies", SIMULATION_SECONDS);
	else if (n && end->how != 0)
		snprintf(ret, size, "%.*s", (int)(n < 300 ? n : 300), line);
	else if (!child_fault(&m->order, end, ret, size))
		snprintf(ret, size, "it printed something else than a result");
}

static void keep(struct simulator *m, struct past_run *r)
{
	vec_free(&r->listeners);
	if (m->kept.n == KEPT) {
		run_free(m->kept.v[0]);
		vec_remove(&m->kept, 0);
	}
	vec_push(&m->kept, r);
}

static void next(struct simulator *m);

static void on_done(void *context, const struct child_end *end)
{
	struct simulator *m = context;
	struct past_run *r = m->waiting.v[0];
	char fault[400];
	struct err err;

	turn_wake(m->s);
	m->child = NULL;
	vec_remove(&m->waiting, 0);
	if (end->how == 0 && !end->much)
		r->x.result = json_loadb(end->out, end->n, 0, NULL);
	r->x.made = m->s->clock->now;
	if (r->x.result) {
		run_tell(r, NULL);
		keep(m, r);
	} else {
		fault_text(m, end, fault, sizeof fault);
		err_code(&err, CODE_BAD_STATE, "The simulation failed: %s", fault);
		run_tell(r, &err);
		run_free(r);
	}
	next(m);
}

static int run(struct simulator *m, const struct past_run *r)
{
	char program[PATH_MAX], socket[PATH_MAX + 40], days[32];
	char *argv[] = {"shunt",  "simulate",	 "--from-history", days, "--live", "--policy", (char *)r->x.policies,
			"--json", "--over-time", "--cores",	   "1",	 NULL};

	shunt_beside(m->s, program, sizeof program);
	snprintf(socket, sizeof socket, "SHUNT_SOCKET=%s/shuntd.sock", m->s->instance->where.run);
	snprintf(days, sizeof days, "%lldd", (long long)r->x.days);
	m->order = (struct child_order){.program = program,
					.argv = argv,
					.also = socket,
					.seconds = SIMULATION_SECONDS,
					.most = RESULT_MOST,
					.nice = LOWEST,
					.done = on_done,
					.context = m};
	return child_start(m->s->loop, &m->order, &m->child);
}

/* Starts the first waiting simulation unless one is running. */
static void next(struct simulator *m)
{
	while (!m->child && m->waiting.n) {
		struct past_run *r = m->waiting.v[0];
		int rc = run(m, r);
		struct err err;

		if (rc == 0)
			return;
		vec_remove(&m->waiting, 0);
		err_code(&err, CODE_BAD_STATE, "The simulation can't be started: %s", strerror(-rc));
		run_tell(r, &err);
		run_free(r);
	}
}

/* ---- questions ---- */

static struct simulator *simulator_of(struct server *s)
{
	struct simulator *m = s->realm->simulator;

	if (m)
		return m;
	m = s->realm->simulator = mem_zalloc(sizeof *m);
	m->s = s;
	return m;
}

static bool is_for(const struct past_run *r, const struct simulation_wish *w)
{
	return r->x.days == w->days && strcmp(r->x.policies, w->policies) == 0;
}

/* Returns a waiting or running simulation with the same parameters, or adds one. */
static struct past_run *run_add(struct simulator *m, const struct simulation_wish *w, struct err *err)
{
	struct past_run *r;

	for (size_t i = 0; i < m->waiting.n; i++)
		if (is_for(m->waiting.v[i], w))
			return m->waiting.v[i];
	if (m->waiting.n > WAITING) {
		err_code(err, CODE_TOO_MANY, "%d simulations wait already. Try again when some have ended.", WAITING);
		return NULL;
	}
	r = mem_zalloc(sizeof *r);
	r->x.id = ++m->last;
	r->x.days = w->days;
	snprintf(r->x.policies, sizeof r->x.policies, "%s", w->policies);
	r->x.asked = m->s->clock->now;
	vec_push(&m->waiting, r);
	return r;
}

int simulator_ask(struct server *s, const struct simulation_wish *w, simulation_told told, void *context,
		  struct err *err)
{
	struct simulator *m = simulator_of(s);
	struct past_run *r;

	for (size_t i = m->kept.n; i-- > 0 && !w->again;)
		if (is_for(m->kept.v[i], w) && m->kept.v[i]->x.made + FRESH > s->clock->now) {
			told(context, &m->kept.v[i]->x, NULL);
			return 0;
		}
	r = run_add(m, w, err);
	if (!r)
		return -EBUSY;
	vec_push(&r->listeners, (struct listener_of){told, context});
	next(m);
	return 0;
}

const struct simulated_past *simulator_kept(const struct server *s, size_t i)
{
	const struct simulator *m = s->realm->simulator;

	return m && i < m->kept.n ? &m->kept.v[m->kept.n - 1 - i]->x : NULL;
}

const struct simulated_past *simulator_running(const struct server *s)
{
	const struct simulator *m = s->realm->simulator;

	return m && m->waiting.n ? &m->waiting.v[0]->x : NULL;
}

void simulator_end(struct server *s)
{
	struct simulator *m = s->realm->simulator;

	if (m && m->child)
		child_stop(m->child);
}
