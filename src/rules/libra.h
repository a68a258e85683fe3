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
#include "rules/credit.h"

#define LIBRA_UNIT 3600		    /* seconds of a unit that one of beta is */
#define LIBRA_PERCENT_MAX 1000000   /* of alpha and beta */
#define LIBRA_NO_BUDGET INT64_C(-1) /* only the price is asked for */

/* What was agreed; without an estimate: the job has no price. */
struct libra_terms {
	int64_t estimate;    /* seconds */
	int64_t window;	     /* seconds from its submission to its deadline, at least 1 */
	int64_t budget;	     /* unit-seconds, or LIBRA_NO_BUDGET */
	int64_t alpha, beta; /* percent */
};

/* "2", "1:30" or "1:30:15": hours of the unit, minutes and seconds. */
int libra_budget_parse(const char *text, int64_t *ret, struct err *err);
/* For how many seconds each of its units is paid, rounded up. */
int64_t libra_seconds(const struct libra_terms *t);
/* What the job costs an account, in unit-seconds. */
int64_t libra_price(const struct libra_terms *t, const struct credit_tariff *tariff, const struct request *r);
/* The shortest time to a deadline that the budget covers; 0: none does. */
int64_t libra_window(const struct libra_terms *t, const struct credit_tariff *tariff, const struct request *r);

#endif
