/*
 * ask.c - see ask.h.
 */
#include "sim/ask.h"

#include <errno.h>
#include <stdlib.h>

#include "rules/partition.h"

/* Resolves a request given as text, which may name the partition itself. */
static int ask_text(struct cluster *c, const struct workload *w, const struct wjob *j, struct ask *ret, struct err *err)
{
	struct reqtext text = w->texts.v[j->text];

	text.estimate = workload_estimate(w, j);
	if (j->partition)
		text.partition = j->partition == PARTITION_ANY ? PARTITION_WORD_ANY
							       : names_get(&w->partitions, j->partition - 1);
	int rc = partition_resolve(c, &text, &ret->request, &ret->allowed, err);

	ret->parted = ret->allowed != NODES_ALL;
	return rc;
}

int ask_of(struct cluster *c, const struct workload *w, const struct wjob *j, struct ask *ret, struct err *err)
{
	struct partition_ask ask = {.any = j->partition == PARTITION_ANY, .procs = j->procs};
	struct partition_choice choice;
	int rc;

	if (j->text >= 0)
		return ask_text(c, w, j, ret, err);
	if (j->partition && !ask.any)
		ask.name = names_get(&w->partitions, j->partition - 1);
	ret->allowed = NODES_ALL;
	ret->parted = false;
	if (!partition_wanted(c, &ask) && j->procs == 0)
		return err_set(err, -EINVAL,
			       "the number of processors is missing: no partition of this machine says it");
	if (!partition_wanted(c, &ask))
		return cluster_request_procs(c, j->procs, &ret->request, err);
	rc = partition_choose(c, &ask, &choice, err);
	if (rc == 0) {
		ret->allowed = choice.allowed;
		ret->parted = choice.allowed != NODES_ALL;
		ret->request = partition_request(c, &choice);
	}
	return rc;
}

enum fit ask_fit(const struct cluster *c, const struct ask *a, bool scatter, struct err *err)
{
	bool some = a->allowed != NODES_ALL;
	bool *usable = some ? mem_zalloc((c->nodes.n + 1) * sizeof *usable) : NULL;
	enum fit fit;

	for (uint32_t i = 0; some && i < c->nodes.n; i++)
		usable[i] = nodeset_has(&c->nodesets.v[a->allowed], i);
	fit = pack_apart(c, &c->requests.v[a->request], a->parted, scatter, usable, err);
	free(usable);
	return fit;
}
