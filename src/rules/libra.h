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
#include <stddef.h>
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

/* ---- shares ----
 *
 * On a node whose CPUs are divided, a job has a share of each CPU that it asks for: what is left of its estimate by the time that is left to its deadline. It is admitted where the
 * shares of all jobs together are no more than the CPUs that there are, on the node with the least load. A job that has its share all the time has the same share all the time, and is
 * done at its deadline: so who was admitted is never disturbed by those who come later. One that had more needs less from then on. The server does not divide nodes yet.
 */
#define LIBRA_CPU INT64_C(1000000) /* shares are millionths of a CPU */

struct libra_run {
	int64_t cpus;
	int64_t left;	  /* microseconds that each of its CPUs has still to work */
	int64_t deadline; /* microseconds, on the same clock as `now` */
};
/* What it needs of all its CPUs together, rounded up; INT64_MAX: they would not do. */
int64_t libra_share(const struct libra_run *r, int64_t now);

struct libra_node {
	int64_t cpus;
	const struct libra_run *run; /* those that it has */
	size_t n;
};
int64_t libra_load(const struct libra_node *node, int64_t now); /* the sum of their shares */
/* The node that takes another job; -1: none does. */
int64_t libra_place(const struct libra_node *node, size_t n, const struct libra_run *r, int64_t now);
/* What is left after it had such a share for so many microseconds. A part of a microsecond counts as a whole one: its share must not grow by rounding, since others may have the
 * rest. */
int64_t libra_left(const struct libra_run *r, int64_t share, int64_t elapsed);

#endif
