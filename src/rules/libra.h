/*
 * libra.h - jobs with a price (Sherwani and others, "Libra: an economy-driven job scheduling system
 * for clusters").
 *
 * A user states how long a job runs (its estimate E), when it must be done (the deadline D, counted
 * from the submission) and its budget. The job costs
 *
 *	alpha E + beta E/D	hours of each requested CPU, or of its account's unit (credit.h)
 *
 * so a longer job costs more, and a later deadline less. The job is accepted only if the budget
 * covers the price and the deadline is guaranteed. The price is then fixed: later changes of alpha
 * and beta do not affect it.
 */
#ifndef RULES_LIBRA_H
#define RULES_LIBRA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/cluster.h"
#include "core/spec.h"
#include "rules/credit.h"

#define LIBRA_UNIT 3600		    /* unit-seconds for each 1.0 of beta E/D */
#define LIBRA_NO_BUDGET INT64_C(-1) /* only the price is wanted */

/* Parses a budget: "2", "1:30" or "1:30:15" hours, minutes and seconds of the unit. */
int libra_budget_parse(const char *text, int64_t *ret, struct err *err);
/* Returns the seconds paid for each unit, rounded up. */
int64_t libra_seconds(const struct libra_terms *t);
/* Returns what the job costs an account, in unit-seconds. */
int64_t libra_price(const struct libra_terms *t, const struct credit_tariff *tariff, const struct request *r);
/* Returns the shortest time to a deadline that the budget covers, in seconds; 0 if none does. */
int64_t libra_window(const struct libra_terms *t, const struct credit_tariff *tariff, const struct request *r);

/* ---- shares ----
 *
 * On a node marked `shared` the CPUs are divided among jobs with a price (docs/libra.md). Such a
 * job does not get its CPUs for its estimate but a share of them until its deadline: E / D of
 * each CPU it requests. It then finishes by its deadline, and while it uses its share, the ratio
 * of remaining estimate to remaining time stays the same, so jobs admitted later never disturb
 * it. The plan tracks the shares (RES_SHARE, core/res.h): a node accepts a job if the sum of all
 * shares never exceeds its CPUs, and among such nodes the least loaded is chosen (plan/offer.c).
 * The job's control group enforces the share (run/share.h). */

/* Percent of the time kept in reserve, once in the computation of the share and once at the end,
 * because run times are never exact. */
#define LIBRA_RESERVE 2

struct libra_part {
	int64_t walltime; /* seconds available: somewhat less than until its deadline */
	int64_t share;	  /* thousandths of a CPU over all its CPUs, rounded up */
};
/* Returns false if the time to the deadline is too short for less than whole CPUs. */
bool libra_divide(const struct libra_terms *t, int64_t cpus, struct libra_part *ret);

#endif
