/*
 * bank.c - see bank.h.
 */
#include "sim/bank.h"

#include <errno.h>
#include <string.h>

#include "base/timetext.h"
#include "rules/object.h"

static struct bank_account *find(const struct bank *b, const char *name)
{
	for (size_t i = 0; i < b->accounts.n; i++)
		if (strcmp(b->accounts.v[i].object->name, name) == 0)
			return &b->accounts.v[i];
	return NULL;
}

static void limit_set(const struct bank *b, const struct bank_account *a)
{
	limits_credit(b->limits, a->number, credit_measure(a->tariff.unit),
		      credit_limit(&a->tariff, credit_balance(&a->credit)));
}

int bank_open(struct bank *b, const struct workload *w, const struct ruleset *site, struct limits *l,
	      uint32_t (*number)(void *context, const char *account), void *context, struct err *err)
{
	*b = (struct bank){.w = w, .site = site, .limits = l};
	for (size_t i = 0; i < w->deposits.n; i++) {
		const char *name = w->deposits.v[i].account;
		struct bank_account a = {.object = site ? object_find(&site->objects, OBJECT_ACCOUNT, name) : NULL};
		if (find(b, name))
			continue;
		if (!a.object || !credit_tariff_of(&a.object->attrs, &a.tariff))
			return err_set(
				err, -EINVAL,
				"a deposit is for account %.60s, which has no credit_unit in the site's configuration (--config)",
				name);
		a.number = number(context, name);
		vec_push(&b->accounts, a);
		limit_set(b, &a);
	}
	return 0;
}

void bank_close(struct bank *b)
{
	for (size_t i = 0; i < b->accounts.n; i++)
		credit_fini(&b->accounts.v[i].credit);
	vec_free(&b->accounts);
}

static int64_t escrow_of(const struct bank *b, const struct bank_account *a)
{
	return credit_price(&a->tariff,
			    limits_used(b->limits, LIMIT_OF_ACCOUNT, a->number, credit_measure(a->tariff.unit)));
}

void bank_advance(struct bank *b, int64_t now)
{
	for (; b->next < b->w->deposits.n && b->w->deposits.v[b->next].at <= now; b->next++) {
		const struct wdeposit *d = &b->w->deposits.v[b->next];
		struct bank_account *a = find(b, d->account);
		credit_add(&a->credit, &(struct credit_deposit){b->next + 1, d->amount, d->amount, d->expires});
		limit_set(b, a);
	}
	for (size_t i = 0; i < b->accounts.n; i++)
		if (credit_expire(&b->accounts.v[i].credit, now, escrow_of(b, &b->accounts.v[i])))
			limit_set(b, &b->accounts.v[i]);
}

int64_t bank_next(const struct bank *b, int64_t now)
{
	int64_t next = b->next < b->w->deposits.n ? b->w->deposits.v[b->next].at : TIME_NEVER;

	for (size_t i = 0; i < b->accounts.n; i++) {
		int64_t at = credit_next(&b->accounts.v[i].credit, now);
		next = at < next ? at : next;
	}
	return next;
}

/* Returns the job's account if it pays, else the next one above that does; *next: where to
 * continue. */
static const struct bank_account *payer(const struct bank *b, const char *account, const struct object **next)
{
	const struct object *x = *next ? *next : object_find(&b->site->objects, OBJECT_ACCOUNT, account);

	for (; x; x = account_above(&b->site->objects, x)) {
		const struct bank_account *a = find(b, x->name);
		if (a) {
			*next = account_above(&b->site->objects, x);
			return a;
		}
	}
	return NULL;
}

struct libra_terms bank_terms(const struct bank *b, const struct wjob *j)
{
	const struct wterms *x = j->terms ? &b->w->terms.v[j->terms - 1] : NULL;

	if (!x || !x->estimate)
		return (struct libra_terms){0};
	return (struct libra_terms){
		.estimate = x->estimate,
		.window = j->deadline - j->submit,
		.budget = x->budget,
		.alpha = b->site ? attrs_number(&b->site->attrs, SET_LIBRA_ALPHA) : 100,
		.beta = b->site ? attrs_number(&b->site->attrs, SET_LIBRA_BETA) : 100,
	};
}

int bank_admit(const struct bank *b, const struct libra_terms *t, const char *account, const struct request *r,
	       struct err *err)
{
	const struct object *next = NULL, *own = NULL;
	struct credit_tariff tariff = {CREDIT_CPU, 100};
	const struct bank_account *a;

	if (!t->estimate)
		return 0;
	for (own = account && b->site ? object_find(&b->site->objects, OBJECT_ACCOUNT, account) : NULL;
	     own && !credit_tariff_of(&own->attrs, &tariff);)
		own = account_above(&b->site->objects, own);
	if (libra_price(t, &tariff, r) > t->budget)
		return err_set(err, -EPERM, "its budget does not cover its price");
	while (account && b->accounts.n && (a = payer(b, account, &next))) {
		if (libra_price(t, &a->tariff, r) > credit_balance(&a->credit) - escrow_of(b, a))
			return err_set(err, -EPERM, "account %s can't pay its price", a->object->name);
		if (!next)
			break;
	}
	return 0;
}

void bank_charge(struct bank *b, const struct cluster *c, const struct job *job, const char *account, int64_t cpus,
		 int64_t ran)
{
	struct charge paid = cluster_paid_for(c, job, cpus);
	const struct object *next = NULL;
	struct bank_account *a;

	if (job->has_price && job->since <= job->deadline)
		ran = job->priced;
	while (account && b->accounts.n && (a = (struct bank_account *)payer(b, account, &next))) {
		credit_spend(&a->credit, credit_charge(&a->tariff, &paid, cluster_paid(c, job), ran * 1000));
		limit_set(b, a);
		if (!next)
			break;
	}
}
