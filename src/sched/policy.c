/*
 * policy.c - the table of policies.
 */
#include "sched/policy.h"

#include <errno.h>
#include <string.h>

/* EASY with another order of the queue: the first job in that order reserves. */
#define EASY(order_)                                                                                                   \
	.order = order_, .backfill = order_, .reserve = RESERVE_HEAD, .deadlines = true, .starve = STARVE_ALL

/* Our own order, with a rule for wide jobs. */
#define DUE(wide_)                                                                                                     \
	.order = ORDER_DUE, .wide = wide_, .backfill = ORDER_ARRIVAL, .reserve = RESERVE_HEAD, .starve = STARVE_QUEUE, \
	.deadlines = true, .push_depth = 1

const struct policy policies[] = {
	{.name = "shunt",
	 .about = "ours, the default: due dates that adapt, relaxed backfill, push; deadlines kept",
	 DUE(WIDE_OBSERVED)},
	{.name = "shunt-narrow",
	 .about = "ours, as if wide jobs did little of the work, whatever is observed",
	 DUE(WIDE_RARE)},
	{.name = "shunt-wide",
	 .about = "ours, as if wide jobs did much of the work, whatever is observed",
	 DUE(WIDE_COMMON)},
	{.name = "fcfs",
	 .about = "first come, first served; nothing overtakes",
	 .order = ORDER_ARRIVAL,
	 .deadlines = true},
	{.name = "easy", .about = "FCFS, and jobs that do not delay the first one overtake it", EASY(ORDER_ARRIVAL)},
	{.name = "easy-sjbf",
	 .about = "EASY, shortest job backfilled first",
	 .order = ORDER_ARRIVAL,
	 .backfill = ORDER_SHORTEST,
	 .reserve = RESERVE_HEAD,
	 .starve = STARVE_ALL,
	 .deadlines = true},
	{.name = "easy++",
	 .about = "EASY-SJBF with run times predicted from the user's last two",
	 .order = ORDER_ARRIVAL,
	 .backfill = ORDER_SHORTEST,
	 .reserve = RESERVE_HEAD,
	 .know = KNOW_PREDICTION},
	{.name = "conservative",
	 .about = "every job reserves; none is delayed by a later one",
	 .order = ORDER_ARRIVAL,
	 .backfill = ORDER_ARRIVAL,
	 .reserve = RESERVE_ALL,
	 .keep = true,
	 .deadlines = true},
	{.name = "easy-clairvoyant",
	 .about = "EASY that knows the run times",
	 .know = KNOW_RUNTIME,
	 EASY(ORDER_ARRIVAL)},
	{.name = "easy-sjbf-clairvoyant",
	 .about = "EASY-SJBF that knows the run times",
	 .order = ORDER_ARRIVAL,
	 .backfill = ORDER_SHORTEST,
	 .reserve = RESERVE_HEAD,
	 .know = KNOW_RUNTIME},
	{.name = "conservative-clairvoyant",
	 .about = "conservative that knows the run times",
	 .order = ORDER_ARRIVAL,
	 .backfill = ORDER_ARRIVAL,
	 .reserve = RESERVE_ALL,
	 .keep = true,
	 .know = KNOW_RUNTIME},
	{.name = "torque",
	 .about = "TORQUE's default scheduler: fewest CPUs first, first nodes that fit, drains for a starving job",
	 .order = ORDER_SMALLEST,
	 .backfill = ORDER_SMALLEST,
	 .starve = STARVE_DRAIN,
	 .alloc = ALLOC_FIRST,
	 .scatter = true},
	{.name = "oscar",
	 .about = "OscarPBS: lightest first, push one deep, starving jobs reserve, deadlines",
	 .order = ORDER_WEIGHT,
	 .backfill = ORDER_WEIGHT,
	 .starve = STARVE_ALL,
	 .deadlines = true,
	 .push_depth = 1},
	{.name = "shortest", .about = "EASY, shortest job first", EASY(ORDER_SHORTEST)},
	{.name = "smallest-area", .about = "EASY, least processors x time first", EASY(ORDER_AREA)},
	{.name = "f1", .about = "EASY, order F1 of Carastan-Santos and de Camargo (2017)", EASY(ORDER_F1)},
	{.name = "f2", .about = "EASY, order F2 of the same", EASY(ORDER_F2)},
	{.name = "f3", .about = "EASY, order F3 of the same", EASY(ORDER_F3)},
	{.name = "f4", .about = "EASY, order F4 of the same", EASY(ORDER_F4)},
	{.name = "wfp3",
	 .about = "EASY, order WFP3 of Tang et al. (2009): large and long waiting first",
	 EASY(ORDER_WFP3)},
	{.name = "artaras",
	 .about = "FCFS on partitions; a deadline moves a job up as far as it must; starts never later than predicted",
	 .order = ORDER_ARRIVAL,
	 .backfill = ORDER_ARRIVAL,
	 .reserve = RESERVE_ALL,
	 .keep = true,
	 .position = true,
	 .deadlines = true},
};
const int npolicies = sizeof policies / sizeof *policies;

int policy_prioritize(const struct policy *p, const struct priority_settings *x, struct err *err)
{
	if (x->order == PRIORITY_POLICY || !p->position)
		return 0;
	return err_set(
		err, -EINVAL,
		"priority_order: the policy %s starts jobs in the order of their submission and knows no priorities: set priority_order = policy, or another policy",
		p->name);
}

static int backfill_alter(struct policy *p, const char *kind, bool prioritized, struct err *err)
{
	if (p->keep || (p->order == ORDER_DUE && !prioritized))
		return err_set(
			err, -EINVAL,
			"backfill: the policy %s has a backfill of its own: unset backfill, or set a policy such as easy, fcfs or oscar%s",
			p->name, p->keep ? "" : ", or priority_order");
	if (strcmp(kind, "none") == 0)
		p->backfill = ORDER_NONE;
	else
		p->backfill = strcmp(kind, "best_fit") == 0 ? ORDER_LARGEST : p->order;
	p->greedy = strcmp(kind, "greedy") == 0;
	if (p->backfill != ORDER_NONE && p->reserve == RESERVE_NONE && p->starve == STARVE_NOTHING)
		p->reserve = RESERVE_HEAD; /* for fcfs, where nothing overtook */
	return 0;
}

static const struct {
	const char *name;
	enum alloc alloc;
	bool push, cover;
} methods[] = {
	{"first_available", .alloc = ALLOC_FIRST},
	{"min_resource", .alloc = ALLOC_BEST},
	{"load", .alloc = ALLOC_LOAD},
	{"fastest", .alloc = ALLOC_FASTEST},
	{"spread", .alloc = ALLOC_SPREAD},
	{"contiguous", .alloc = ALLOC_CONTIGUOUS},
	{"push", .alloc = ALLOC_BEST, .push = true},
	{"cover", .alloc = ALLOC_BEST, .cover = true},
};

int policy_allocate(struct policy *p, const char *method, struct err *err)
{
	size_t i = 0;

	while (i < sizeof methods / sizeof *methods && strcmp(methods[i].name, method) != 0)
		i++;
	if (i == sizeof methods / sizeof *methods)
		return err_set(err, -EINVAL, "node_allocation: \"%.40s\" is unknown; use one of: %s", method,
			       attr_table[SET_NODE_ALLOCATION].words);
	if (p->position)
		return err_set(
			err, -EINVAL,
			"node_allocation: the policy %s gives jobs whole partitions, in which there is no choice of nodes: unset node_allocation, or set another policy",
			p->name);
	if (methods[i].cover && p->keep)
		return err_set(
			err, -EINVAL,
			"node_allocation: cover chooses among the jobs that wait, and under the policy %s each has its place already: set another method, or a policy such as easy",
			p->name);
	p->alloc = methods[i].alloc;
	p->cover = methods[i].cover;
	p->push_depth = !methods[i].push ? 0 : p->push_depth ? p->push_depth : 1;
	return 0;
}

/* Checks node_allocation against node_pack = True, which asks for the same as some methods and
 * the opposite of others. */
static int pack_agrees(const struct policy *p, const char *method, struct err *err)
{
	if (p->alloc == ALLOC_BEST)
		return 0;
	return err_set(
		err, -EINVAL,
		"node_allocation: node_pack = True fills the fullest nodes first, which %s does not: unset node_pack, or set node_allocation = min_resource, push or cover",
		method);
}

int policy_alter(struct policy *p, const struct attrs *server, struct err *err)
{
	const char *backfill = attrs_text(server, SET_BACKFILL), *method = attrs_text(server, SET_NODE_ALLOCATION);
	bool prioritized = strcmp(attrs_text(server, SET_PRIORITY_ORDER), "policy") != 0;
	int rc = 0;

	if (attrs_is_set(server, SET_NODE_PACK)) {
		p->alloc = ALLOC_BEST;
		p->scatter = !attrs_bool(server, SET_NODE_PACK);
	}
	if (method)
		rc = policy_allocate(p, method, err);
	if (rc == 0 && method && attrs_bool(server, SET_NODE_PACK))
		rc = pack_agrees(p, method, err);
	if (rc == 0 && backfill)
		rc = backfill_alter(p, backfill, prioritized, err);
	if (attrs_is_set(server, SET_RESERVATION_DEPTH) && p->reserve > RESERVE_NONE && p->reserve < RESERVE_ALL) {
		int64_t depth = attrs_number(server, SET_RESERVATION_DEPTH);
		p->reserve = depth > 0 && depth < RESERVE_ALL ? (int)depth : RESERVE_ALL - 1;
	}
	return rc;
}

const struct policy *policy_find(const char *name)
{
	for (int i = 0; i < npolicies; i++)
		if (strcmp(policies[i].name, name) == 0)
			return &policies[i];
	return NULL;
}
