/*
 * prices.c - see prices.h.
 */
#include "server/book/prices.h"

#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "core/cluster.h"
#include "rules/access.h"
#include "rules/libra.h"
#include "rules/object.h"
#include "server/base/clock.h"
#include "server/base/words.h"
#include "server/book/credits.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/server.h"

static const struct object *account_of(const struct server *s, const struct spec *p)
{
	return p->account ? object_find(s->objects, OBJECT_ACCOUNT, word_text(s, p->account)) : NULL;
}

bool prices_get(const struct server *s, const struct spec *p, struct price *ret)
{
	*ret = (struct price){.tariff = {CREDIT_CPU, 100}};
	if (!p->rare->libra.estimate)
		return false;
	for (const struct object *x = account_of(s, p); x && !ret->account; x = account_above(s->objects, x))
		if (credits_tariff(x, &ret->tariff))
			ret->account = x;
	ret->amount = libra_price(&p->rare->libra, &ret->tariff, spec_asked(s, p));
	return true;
}

/* Returns an account that cannot pay the price now; NULL: all of them can. */
static const struct object *account_short(struct server *s, const struct spec *p, struct credit_state *ret,
					  int64_t *ret_price)
{
	for (const struct object *x = account_of(s, p); x; x = account_above(s->objects, x)) {
		if (!credits_get(s, x, ret))
			continue;
		*ret_price = libra_price(&p->rare->libra, &ret->tariff, spec_asked(s, p));
		if (*ret_price > ret->balance - ret->escrow)
			return x;
	}
	return NULL;
}

static const char *amount(int64_t n, const struct price *x, char buf[80])
{
	char time[40];

	snprintf(buf, 80, "%s %s", duration_format(n, time, sizeof time), credit_unit_name(x->tariff.unit));
	return buf;
}

static void done_add(const struct spec *p, int64_t done, struct strbuf *out)
{
	char when[40];

	if (done != TIME_NEVER)
		strbuf_printf(out, "; it can be completed by %s at the earliest",
			      instant_format(done, when, sizeof when));
}

/* Appends the deadline that the budget covers, if it is later than the given one. */
static void cheaper_add(struct server *s, const struct spec *p, const struct price *x, int64_t done, struct strbuf *out)
{
	int64_t window = p->rare->libra.budget > 0 ? libra_window(&p->rare->libra, &x->tariff, spec_asked(s, p)) : 0,
		at = s->clock->now + window;
	char when[40];

	if (window && at < INT64_C(1) << 40)
		strbuf_printf(out, ", or a deadline of %s or later",
			      instant_format(done != TIME_NEVER && done > at ? done : at, when, sizeof when));
	else
		strbuf_puts(out, "; no later deadline makes it cheap enough for this budget");
}

static void later_add(struct server *s, const struct spec *p, const struct price *x, int64_t done, struct strbuf *out)
{
	struct libra_terms later = p->rare->libra;
	char when[40], cost[80];

	if (done == TIME_NEVER) {
		strbuf_puts(out, ": request less, or a later deadline");
		return;
	}
	if (done > s->clock->now)
		later.window = done - s->clock->now;
	strbuf_printf(out, "; a deadline of %s or later would be accepted, for %s or less",
		      instant_format(done, when, sizeof when),
		      amount(libra_price(&later, &x->tariff, spec_asked(s, p)), x, cost));
}

int prices_check(struct server *s, const struct spec *p, bool kept, int64_t done, struct err *err)
{
	struct strbuf out = {0};
	struct credit_state state;
	const struct object *poor;
	char cost[80], budget[80], has[80], when[40];
	struct price x, its;
	int64_t price;
	int rc = 0;

	if (!prices_get(s, p, &x))
		return 0;
	amount(x.amount, &x, cost);
	amount(p->rare->libra.budget, &x, budget);
	if (p->rare->libra.budget != LIBRA_NO_BUDGET && x.amount > p->rare->libra.budget) {
		strbuf_printf(&out, "the price is %s, and the budget %s", cost, budget);
		done_add(p, done, &out);
		strbuf_printf(&out, "; a budget of %s would be accepted", duration_format(x.amount, when, sizeof when));
		cheaper_add(s, p, &x, done, &out);
	} else if ((poor = account_short(s, p, &state, &price))) {
		its = (struct price){.tariff = state.tariff};
		strbuf_printf(&out, "account %s has %s available", poor->name,
			      amount(state.balance - state.escrow, &its, has));
		strbuf_printf(&out, ", and the price is %s", amount(price, &its, has));
		done_add(p, done, &out);
		strbuf_puts(&out, "; a later deadline costs less, and 'shunt credit deposit' adds credits");
	} else if (!kept) {
		strbuf_printf(&out, "the deadline %s can't be guaranteed now",
			      instant_format(p->deadline, when, sizeof when));
		strbuf_printf(&out, " (the price is %s", cost);
		if (p->rare->libra.budget != LIBRA_NO_BUDGET)
			strbuf_printf(&out, ", and the budget %s", budget);
		strbuf_puts(&out, ")");
		done_add(p, done, &out);
		later_add(s, p, &x, done, &out);
	}
	if (out.n)
		rc = err_code(err, CODE_REFUSED, "%.500s", out.text);
	strbuf_fini(&out);
	return rc;
}
