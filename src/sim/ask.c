/*
 * ask.c - see ask.h.
 */
#include "sim/ask.h"

#include <errno.h>
#include <stdlib.h>

#include "rules/partition.h"

/* In a partition. */
static int ask_parted(struct cluster *c, const struct workload *w, const struct wjob *j, struct partition_ask *ask,
		      struct ask *ret, struct err *err)
{
	struct partition_choice choice;
	int rc = 0;

	if (j->text >= 0) {
		rc = cluster_request(c, &w->texts.v[j->text], &ret->request, err);
		if (rc == 0)
			ask->procs = c->requests.v[ret->request].total.v[RES_CPU];
	}
	if (rc == 0)
		rc = partition_choose(c, ask, &choice, err);
	if (rc < 0)
		return rc;
	ret->allowed = choice.allowed;
	ret->request =
		j->text >= 0 ? cluster_request_whole(c, ret->request, WHOLE_HOST) : partition_request(c, &choice);
	return 0;
}

int ask_of(struct cluster *c, const struct workload *w, const struct wjob *j, struct ask *ret, struct err *err)
{
	struct partition_ask ask = {.any = j->partition == PARTITION_ANY, .procs = j->procs};

	if (j->partition && !ask.any)
		ask.name = names_get(&w->partitions, j->partition - 1);
	ret->allowed = NODES_ALL;
	if (partition_wanted(c, &ask))
		return ask_parted(c, w, j, &ask, ret, err);
	if (j->text >= 0)
		return cluster_request(c, &w->texts.v[j->text], &ret->request, err);
	if (j->procs == 0)
		return err_set(err, -EINVAL,
			       "the number of processors is missing: no partition of this machine says it");
	return cluster_request_procs(c, j->procs, &ret->request, err);
}

/* The nodes on which it would be: those of one partition that suits it, from the `next`-th on, or all that are shared. False: there is none any
 * more. */
static bool usable_next(const struct cluster *c, const struct ask *a, size_t *next, bool *usable)
{
	uint32_t in = PARTITION_NONE;

	if (a->allowed == NODES_ALL) {
		if ((*next)++)
			return false;
	} else {
		while (*next < c->partitions.n &&
		       !nodeset_has(&c->nodesets.v[a->allowed], (uint32_t)c->partitions.v[*next].first))
			(*next)++;
		if (*next == c->partitions.n)
			return false;
		in = (uint32_t)++(*next);
	}
	for (size_t i = 0; i < c->nodes.n; i++)
		usable[i] = c->nodes.v[i].partition == in;
	return true;
}

enum fit ask_fit(const struct cluster *c, const struct ask *a, bool scatter, struct err *err)
{
	const struct request *r = &c->requests.v[a->request];
	bool *usable = mem_zalloc((c->nodes.n + 1) * sizeof *usable);
	enum fit fit = FIT_NO;

	for (size_t next = 0; fit == FIT_NO && usable_next(c, a, &next, usable);) {
		fit = pack_empty(c, r, scatter, c->partitions.n ? usable : NULL);
		if (fit == FIT_NO)
			pack_refuse(c, r, scatter, c->partitions.n ? usable : NULL, err);
	}
	free(usable);
	return fit;
}
