/*
 * amounts.c - see amounts.h.
 */
#include "server/life/wait/amounts.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "base/codec.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "core/cluster.h"
#include "plan/plan.h"
#include "rules/amounts.h"
#include "sched/sched.h"
#include "server/base/child.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/turn.h"
#include "server/life/wait/foresee.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/settings/objects.h"

#define OUTPUT_MAX 65536 /* maximum bytes read of its output */

static const struct field amount_rows[] = {{"elsewhere", .is = IS_INT, MEMBER(struct amount, elsewhere)}, {0}};

/* ---- reports ---- */

static void elsewhere_set(struct server *s, uint32_t i, int64_t elsewhere)
{
	struct amount a = s->cluster->amounts.v[i];

	if (a.elsewhere == elsewhere)
		return;
	a.elsewhere = elsewhere;
	sched_amount(s->sched, i, &a, s->clock->now);
	record_put(s, "amount", names_get(&s->cluster->amount_names, i), amount_rows, 0, &a);
	foresee_again(s);
	s->turn->dirty = true;
	turn_wake(s);
}

int amounts_reported(struct server *s, const char *text, size_t n, struct err *err)
{
	amount_reports all = {0};
	int rc = amounts_report_read(text, n, &all, err);

	for (size_t k = 0; k < all.n; k++) {
		uint32_t i;
		if (cluster_find_amount(s->cluster, all.v[k].name, &i)) /* ignore other names */
			elsewhere_set(s, i, amounts_elsewhere(s->cluster->amounts.v[i].total, &all.v[k]));
	}
	vec_free(&all);
	return rc;
}

int amount_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	struct amount x;
	int i = record_load(amount_rows, 0, o, &x, NULL, err);

	if (i == 0)
		i = cluster_amount(s->cluster, name, err);
	if (i < 0)
		return i;
	s->cluster->amounts.v[i].elsewhere = x.elsewhere;
	if (s->plan)
		plan_set_amount(s->plan, (uint32_t)i);
	return 0;
}

/* ---- the program ---- */

/* The reporting program. Lives as long as the server. */
struct reporter {
	struct server *s;
	uv_timer_t due;
	struct child_order order;
	bool said; /* its failure was logged; reset when it works again */
};

static void complain(struct reporter *r, const char *what)
{
	if (!r->said)
		server_log(r->s, SEVERITY_WARNING,
			   "the program that reports amounts, %s, %s; keeping the amounts it reported before",
			   r->s->conf->amounts_program, what);
	r->said = true;
}

static void on_due(uv_timer_t *timer);

static void later(struct reporter *r)
{
	uv_timer_start(&r->due, on_due, (uint64_t)r->s->conf->amounts_every * 1000, 0);
}

static void on_done(void *context, const struct child_end *end)
{
	struct reporter *r = context;
	char what[600];
	struct err err;

	if (end->late)
		complain(r, "took longer than amounts.timeout");
	else if (child_fault(&r->order, end, what, sizeof what))
		complain(r, what);
	else if (amounts_reported(r->s, end->out, end->n, &err) < 0) {
		snprintf(what, sizeof what, "printed something else than amounts: %.500s", err.text);
		complain(r, what);
	} else
		r->said = false;
	later(r);
}

/* Writes "SHUNT_USED=matlab=6 ansys=0": a program that counts all licences in use subtracts
 * these. */
static void used_text(const struct server *s, struct strbuf *out)
{
	strbuf_puts(out, "SHUNT_USED=");
	for (uint32_t i = 0; i < s->cluster->amounts.n; i++) {
		const struct amount *a = &s->cluster->amounts.v[i];
		int64_t free = plan_amount_free(s->plan, i, s->clock->now, s->clock->now + 1);
		strbuf_printf(out, "%s%s=%lld", i ? " " : "", names_get(&s->cluster->amount_names, i),
			      (long long)(a->total - a->elsewhere - free));
	}
}

static int run(struct reporter *r)
{
	char *argv[] = {r->s->conf->amounts_program, NULL};
	struct strbuf used = {0};
	struct child *child;
	int rc;

	used_text(r->s, &used);
	r->order = (struct child_order){.program = argv[0],
					.argv = argv,
					.also = used.text,
					.seconds = r->s->conf->amounts_timeout,
					.most = OUTPUT_MAX,
					.done = on_done,
					.context = r};
	rc = child_start(r->s->loop, &r->order, &child);
	strbuf_fini(&used);
	return rc;
}

static void on_due(uv_timer_t *timer)
{
	struct reporter *r = timer->data;
	char what[200];
	int rc = run(r);

	if (rc == 0)
		return;
	snprintf(what, sizeof what, "can't be started: %s", strerror(-rc));
	complain(r, what);
	later(r);
}

void amounts_start(struct server *s)
{
	struct reporter *r;

	if (!*s->conf->amounts_program)
		return;
	r = mem_zalloc(sizeof *r);
	r->s = s;
	uv_timer_init(s->loop, &r->due);
	r->due.data = r;
	uv_timer_start(&r->due, on_due, 0, 0);
}
