/*
 * place.c - see place.h.
 */
#include "station/place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_LEAST 0.05 /* lower bound of fractions, since they are divisors */

static const struct {
	const char *name;
	bool counts, priorities;
} policies[PLACE_POLICIES] = {
	[PLACE_ROUND_ROBIN] = {"round-robin", false, false},
	[PLACE_FI] = {"fi", false, false},
	[PLACE_FIM] = {"fim", true, false},
	[PLACE_FI_P] = {"fi/p", false, true},
	[PLACE_FIM_P] = {"fim/p", true, true},
	[PLACE_TWO_LEVEL] = {"two-level", true, false},
	[PLACE_OURS] = {"ours", true, true},
};

const char *place_name(enum place_policy p)
{
	return policies[p].name;
}

bool place_find(const char *name, enum place_policy *ret)
{
	for (int p = 0; p < PLACE_POLICIES; p++)
		if (strcmp(policies[p].name, name) == 0) {
			*ret = (enum place_policy)p;
			return true;
		}
	return false;
}

int place_weight_read(const char *name, const char *text, double *ret, struct err *err)
{
	char *end;
	double k = text ? strtod(text, &end) : 0;

	if (!text)
		return 0;
	if (*end || end == text || !(k >= 0 && k <= PLACE_WEIGHT_MOST))
		return err_set(err, -EINVAL, "--%s %s: it must be a number from 0 to %.0f", name, text,
			       PLACE_WEIGHT_MOST);
	*ret = k;
	return 0;
}

bool place_counts(enum place_policy p)
{
	return policies[p].counts;
}

bool place_priorities(enum place_policy p)
{
	return policies[p].priorities;
}

static double least(double fraction)
{
	return fraction > IDLE_LEAST ? fraction : IDLE_LEAST;
}

double place_cost(const struct place_rule *r, const struct load *l)
{
	double n = l->ours + l->interactive + l->batch;

	if (r->policy == PLACE_TWO_LEVEL)
		n = l->ours + r->k1 * l->interactive * l->interactive + r->k2 * l->batch * l->batch * l->batch;
	/* The share of what the owner leaves, divided among our tasks; a batch process of the owner
	 * counts as another task. */
	if (r->policy == PLACE_OURS)
		return (l->ours + 1) * (1 + l->batch) / (l->speed * least(l->free));
	return n / (l->speed * least(l->idle)) + 1 / l->speed;
}

int place_choose(const struct place_rule *r, struct load *table, const bool *usable, int n, int *turn)
{
	enum place_policy p = r->policy;
	int best = PLACE_NOWHERE;
	double cost = 0;

	for (int k = 0; k < n; k++) {
		int i = p == PLACE_ROUND_ROBIN ? (*turn + k) % n : k;
		double c = p == PLACE_ROUND_ROBIN ? 0 : place_cost(r, &table[i]);
		if ((usable && !usable[i]) || (p == PLACE_OURS && table[i].ours))
			continue;
		if (best == PLACE_NOWHERE || c < cost) {
			best = i;
			cost = c;
		}
	}
	if (best == PLACE_NOWHERE)
		return best;
	*turn = (best + 1) % n;
	if (policies[p].counts)
		table[best].ours++;
	return best;
}
