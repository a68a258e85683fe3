/*
 * same_sim.c - see same_sim.h.
 */
#include "property/same_sim.h"

#include <errno.h>

#include "sim/sim.h"

int same_simulate(const char *path, const char *policy, const char *machine, const struct ruleset *site,
		  const struct settings *settings, int64_t overrun, struct same_job *ret, int64_t n, struct err *err)
{
	struct sim_options o;
	struct sim_result r = {0};
	struct workload *w;
	int rc = workload_read(path, RULES_SITE, 0, &w, err);

	if (rc < 0)
		return rc;
	sim_options_init(&o);
	o.machine = machine;
	o.site = site;
	o.settings = *settings;
	o.overrun = overrun;
	o.check = true;
	rc = sim_run(w, policy_find(policy), &o, &r, err);
	if (rc == 0 && r.n != n)
		rc = err_set(err, -EINVAL, "%lld jobs instead of %lld", (long long)r.n, (long long)n);
	for (int64_t i = 0; i < n && rc == 0; i++)
		ret[i] = (struct same_job){.start = r.outcome[i].start,
					   .refused = r.outcome[i].procs == 0,
					   .guaranteed = r.outcome[i].guaranteed,
					   .broken = r.outcome[i].broken && !r.outcome[i].broken_by_power};
	sim_result_fini(&r);
	workload_destroy(w);
	return rc;
}

int64_t same_overrun(int64_t id, int64_t most)
{
	return sim_overrun(id, most);
}
