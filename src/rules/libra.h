/*
 * libra.h - jobs with a price (Sherwani and others, "Libra: an economy-driven job scheduling system for clusters").
 *
 * A user says how long a job runs (its estimate E), when it must be done (the deadline D, counted from the submission) and what that may cost (its budget). It costs
 *
 *	alpha E + beta E/D		hours of each unit that it asks for (CPUs, or what its account pays for: rules/credit.h)
 *
 * so a job costs more the longer it is, and less the later it may be done. It is accepted only if the budget covers the price and the deadline is guaranteed. The
 * price is agreed then: later changes of alpha and beta do not concern it.
 */
#ifndef RULES_LIBRA_H
#define RULES_LIBRA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/cluster.h"
#include "core/spec.h"
#include "rules/credit.h"

#define LIBRA_UNIT 3600		    /* seconds of a unit that one of beta is */
#define LIBRA_PERCENT_MAX 1000000   /* of alpha and beta */
#define LIBRA_NO_BUDGET INT64_C(-1) /* only the price is asked for */

/* "2", "1:30" or "1:30:15": hours of the unit, minutes and seconds. */
int libra_budget_parse(const char *text, int64_t *ret, struct err *err);
/* For how many seconds each of its units is paid, rounded up. */
int64_t libra_seconds(const struct libra_terms *t);
/* What the job costs an account, in unit-seconds. */
int64_t libra_price(const struct libra_terms *t, const struct credit_tariff *tariff, const struct request *r);
/* The shortest time to a deadline that the budget covers; 0: none does. */
int64_t libra_window(const struct libra_terms *t, const struct credit_tariff *tariff, const struct request *r);

/* ---- shares ----
 *
 * On a node that is marked `shared` the CPUs are divided among jobs with a price (docs/libra.md). Such a job does not have its CPUs for its estimate, but a share of them until its
 * deadline: E / D of each CPU that it asks for. So it is done at its deadline, and what is left of its estimate, by the time that is left, stays the same as long as it makes use of
 * its share: those who were admitted are never disturbed by those who come later. The plan has the shares (RES_SHARE, core/res.h): a node takes a job as long as all shares together are
 * no more than its CPUs, at every instant, and of those that do, the least loaded is chosen (plan/offer.c). The share is kept by the job's control group (run/share.h).
 */

/* Hundredths of the time that are kept in reserve, once for what the share is worked out from, once for the end: nothing is as exact as a sum. */
#define LIBRA_RESERVE 2

struct libra_part {
	int64_t walltime; /* seconds that it has: somewhat less than to its deadline */
	int64_t share;	  /* thousandths of a CPU, of all its CPUs together; rounded up */
};
/* False: the time to the deadline is too short for less than whole CPUs. */
bool libra_divide(const struct libra_terms *t, int64_t cpus, struct libra_part *ret);

#endif
