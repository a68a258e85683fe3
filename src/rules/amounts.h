/*
 * amounts.h - site-wide resources that jobs use wherever they run, such as software licences:
 * resources_available of the server.
 *
 *	set server resources_available.matlab = 20	qsub -l matlab=2
 *
 * The plan counts them over time (plan/plan.h). The server and the simulator read them with the
 * same function.
 */
#ifndef RULES_AMOUNTS_H
#define RULES_AMOUNTS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"
#include "core/cluster.h"
#include "core/reqtext.h"
#include "rules/attr.h"

/* Checks resources_available as a whole: at most AMOUNTS_MAX names, none of which -l uses
 * otherwise. -EINVAL, with a message. */
int amounts_check(const struct attrs *server, struct err *err);

/* Sets the cluster's amounts from the server's attributes, and those no longer set to 0. Returns
 * true if anything changed. Use elsewhere is kept. Plans made earlier do not see the change
 * (plan_set_amount). */
bool amounts_of_server(struct cluster *c, const struct attrs *server);

/* Adds unknown names of a request that was accepted earlier as amounts of 0, so that the request
 * keeps its meaning. */
void amounts_keep(struct cluster *c, const struct reqtext *text);

/* Returns true if a request cannot be met with the present amounts and their use elsewhere, and
 * appends the reason. */
bool amounts_missing(const struct cluster *c, const struct request *r, struct strbuf *out);

/* One line "NAME TOTAL [IN-USE-ELSEWHERE]" reported by a site's program. */
struct amount_report {
	char name[64];
	int64_t total, elsewhere;
};
typedef VEC(struct amount_report) amount_reports;

/* Parses a program's whole output; '#' starts a comment. On -EINVAL the message has the line
 * number and *ret is empty. */
int amounts_report_read(const char *text, size_t n, amount_reports *ret, struct err *err);
/* Returns how much of a configured amount jobs cannot use: what others use plus what the report
 * lacks. */
int64_t amounts_elsewhere(int64_t total, const struct amount_report *r);

#endif
