/*
 * amounts.h - what the site has of things that jobs use wherever they run, such as the licences of a program: resources_available of the server.
 *
 *	set server resources_available.matlab = 20	qsub -l matlab=2
 *
 * The plan counts them over time (plan/plan.h). The server and the simulator read them by the same function.
 */
#ifndef RULES_AMOUNTS_H
#define RULES_AMOUNTS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/reqtext.h"
#include "rules/attr.h"

/* Whether they can be had together: at most AMOUNTS_MAX, and none by a name that -l has another use for. -EINVAL, with a sentence. */
int amounts_check(const struct attrs *server, struct err *err);

/* The cluster has what is set, and nothing of those that are not any more; whether that is other than before. What is used elsewhere stays. Plans
 * made earlier don't know (plan_set_amount). */
bool amounts_of_server(struct cluster *c, const struct attrs *server);

/* Names of a request that was accepted once, and that nobody knows any more, are amounts of which there is nothing: the request stays what it was. */
void amounts_keep(struct cluster *c, const struct reqtext *text);

/* Why a request can't be met as long as the site has what it has and others use what they use: appended. False: it can. */
bool amounts_missing(const struct cluster *c, const struct request *r, struct strbuf *out);

/* What a program of the site reports of one: a line "NAME TOTAL [IN-USE-ELSEWHERE]". */
struct amount_report {
	char name[64];
	int64_t total, elsewhere;
};
typedef VEC(struct amount_report) amount_reports;

/* All lines of its output; what follows '#' is a comment. -EINVAL with the line's number, and *ret is empty. */
int amounts_report_read(const char *text, size_t n, amount_reports *ret, struct err *err);
/* What jobs can't have of the amount that is set: what others use, and what is missing from it by the report. */
int64_t amounts_elsewhere(int64_t total, const struct amount_report *r);

#endif
