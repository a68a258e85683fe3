/*
 * experiment_pool.c - the pool of workstations that bench/pool measures, simulated: the mean time
 * of a job under every policy of the daemon, and that of round robin over it (docs/simulator.md).
 *
 * bench/pool measures what processor time tasks and daemons take on its machine, and passes it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/table.h"
#include "lab/experiment_internal.h"
#include "sim/stations.h"

#define WIDTH 100

struct policy_result {
	double job;	/* mean time of a job, seconds */
	double half;	/* half of the 90% interval of the mean of one round, seconds */
	double *rounds; /* means of the rounds, seconds */
};

static struct policy_result policy_run(const struct pool_options *o, enum place_policy policy, double *rounds)
{
	double sum = 0, squares = 0, n = o->seeds;

	for (int seed = 1; seed <= o->seeds; seed++) {
		struct stations_result r = stations_run(&(struct stations_case){.rule = {policy, o->k1, o->k2},
										.discipline = DISCIPLINE_POOL_SHARED,
										.interval = o->interval,
										.seed = (uint64_t)seed,
										.jobs = BENCH_USERS * o->jobs,
										.bench = &o->bench});
		double job = r.response[CLASS_PARALLEL];
		rounds[seed - 1] = job;
		sum += job;
		squares += job * job;
	}
	return (struct policy_result){sum / n, n > 1 ? 1.645 * sqrt(fmax(0, squares - sum * sum / n) / (n - 1)) : 0,
				      rounds};
}

static void pool_print(const struct pool_options *o, const struct policy_result r[PLACE_POLICIES], FILE *out)
{
	static const char *const columns[] = {"policy", ">job, s", ">±", ">round robin over it"};
	struct table *t = table_create(columns, 4);

	for (int p = 0; p < PLACE_POLICIES; p++) {
		table_cell(t, "%s", place_name((enum place_policy)p));
		table_cell(t, "%.2f", r[p].job);
		table_cell(t, "%.2f", r[p].half);
		table_cell(t, "%.2f", r[PLACE_ROUND_ROBIN].job / r[p].job);
	}
	table_print(t, out, WIDTH);
	table_destroy(t);
	fprintf(out, "\njob: mean time of a job, over %d rounds; ±: half of the 90%% interval of one round\n",
		o->seeds);
}

static void doubles_write(struct json *j, const char *name, const double *v, int n)
{
	json_open_array(j, name);
	for (int i = 0; i < n; i++)
		json_double(j, NULL, v[i]);
	json_close_array(j);
}

static void pool_json(const struct pool_options *o, const struct policy_result r[PLACE_POLICIES], FILE *out)
{
	struct strbuf text = {0};
	struct json j;

	json_init(&j, &text, true);
	json_open_array(&j, NULL);
	for (int p = 0; p < PLACE_POLICIES; p++) {
		json_open_object(&j, NULL);
		json_text(&j, "policy", place_name((enum place_policy)p));
		json_double(&j, "job", r[p].job);
		json_double(&j, "half", r[p].half);
		json_double(&j, "against_round_robin", r[PLACE_ROUND_ROBIN].job / r[p].job);
		doubles_write(&j, "rounds", r[p].rounds, o->seeds);
		json_close_object(&j);
	}
	json_close_array(&j);
	fprintf(out, "%s\n", strbuf_text(&text));
	strbuf_fini(&text);
}

void experiment_pool(const struct pool_options *o, FILE *out)
{
	struct policy_result r[PLACE_POLICIES];

	for (int p = 0; p < PLACE_POLICIES; p++)
		r[p] = policy_run(o, (enum place_policy)p, mem_alloc((size_t)o->seeds * sizeof(double)));
	if (o->json)
		pool_json(o, r, out);
	else
		pool_print(o, r, out);
	for (int p = 0; p < PLACE_POLICIES; p++)
		free(r[p].rounds);
}

void experiment_pool_sizes(const struct pool_options *o, FILE *out)
{
	struct strbuf text = {0};
	struct json j;
	double size[BENCH_TASKS];

	json_init(&j, &text, true);
	json_open_array(&j, NULL);
	for (int seed = 1; seed <= o->seeds; seed++) {
		json_open_array(&j, NULL);
		for (int user = 0; user < BENCH_USERS; user++) {
			json_open_array(&j, NULL);
			for (int i = 0; i < o->jobs; i++) {
				stations_bench_sizes((uint64_t)seed, user, i, size);
				doubles_write(&j, NULL, size, BENCH_TASKS);
			}
			json_close_array(&j);
			fputs(strbuf_text(&text), out);
			strbuf_clear(&text);
		}
		json_close_array(&j);
	}
	json_close_array(&j);
	fprintf(out, "%s\n", strbuf_text(&text));
	strbuf_fini(&text);
}
