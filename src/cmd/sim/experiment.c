/*
 * experiment.c - `shunt experiment ...`: repeats the project's published measurements on this
 * machine.
 */
#include <stddef.h>

#include "cmd/lib/commands.h"
#include "lab/experiment.h"
#include "station/place.h"

struct arguments {
	int64_t seeds, more, precision, tasks, limit, cores, jobs, unit, start, idle, period, late, warm, interval;
	bool json, quick, report, types, asleep, sizes;
	const char *chart, *results, *heuristics, *base, *traces, *k1, *k2;
};

#define AT(field) offsetof(struct arguments, field)
#define PRECISION 5.0 /* percent, as in the paper of the bag experiment */
#define SEEDS_ABOUT "Workloads of each kind."
#define JOBS_ABOUT "Jobs of each workload. Default: as many as docs/simulator.md says."
#define JSON_ABOUT "Print JSON instead of tables."
#define K1_ABOUT "weight of the owner's interactive processes in the two-level cost; otherwise 1"
#define K2_ABOUT "weight of the owner's batch processes in the two-level cost; otherwise 2"
#define CHART_ABOUT "Draw pictures into this directory, which is made if need be (needs gnuplot)."
#define CORES_ABOUT "Run at most this many simulations at a time. Default: the number of cores."

static const struct option push_options[] = {
	OPTION(NUMBER, 0, "seeds", seeds, "N", SEEDS_ABOUT, .initial = "30", .min = 1, .max = 10000),
	OPTION(NUMBER, 0, "jobs", jobs, "N", JOBS_ABOUT, .min = 1, .max = 1000000),
	FLAG(0, "json", json, JSON_ABOUT),
	OPTION(DIR, 0, "chart", chart, "DIR", CHART_ABOUT),
	OPTION(NUMBER, 0, "cores", cores, "N", CORES_ABOUT, .min = 1, .max = 4096),
	{0},
};

static const struct option owners_options[] = {
	OPTION(NUMBER, 0, "seeds", seeds, "N", SEEDS_ABOUT, .initial = "30", .min = 1, .max = 10000),
	OPTION(NUMBER, 0, "jobs", jobs, "N", JOBS_ABOUT, .min = 1, .max = 1000000),
	OPTION(TEXT, 0, "k1", k1, "K", K1_ABOUT),
	OPTION(TEXT, 0, "k2", k2, "K", K2_ABOUT),
	FLAG(0, "json", json, JSON_ABOUT),
	OPTION(DIR, 0, "chart", chart, "DIR", CHART_ABOUT),
	OPTION(NUMBER, 0, "cores", cores, "N", CORES_ABOUT, .min = 1, .max = 4096),
	{0},
};

/* The initial values are what bench/pool found on the machine of bench/RESULTS.md. */
static const struct option pool_options[] = {
	OPTION(NUMBER, 0, "seeds", seeds, "N", "rounds, each with daemons that have just started", .initial = "200",
	       .min = 1, .max = 10000),
	OPTION(NUMBER, 0, "jobs", jobs, "N", "jobs of each user in a round", .initial = "4", .min = 1, .max = 10000),
	OPTION(NUMBER, 0, "unit-us", unit, "US", "processor time of a task of size 1, microseconds", .initial = "53000",
	       .min = 1, .max = INT32_MAX),
	OPTION(NUMBER, 0, "start-us", start, "US", "processor time that starting and ending a task takes, microseconds",
	       .initial = "4700", .max = INT32_MAX),
	OPTION(NUMBER, 0, "idle-ppm", idle, "N", "processors that a station's daemon uses, in millionths",
	       .initial = "4400", .max = 20000),
	OPTION(NUMBER, 0, "period-ms", period, "MS", "period of the quotas of processor time", .initial = "100",
	       .min = 1, .max = 10000),
	OPTION(NUMBER, 0, "late-us", late, "US",
	       "processor time beyond its quota that a station uses until it is stopped, microseconds",
	       .initial = "1000", .max = INT32_MAX),
	OPTION(NUMBER, 0, "warm-ms", warm, "MS", "time from the start of the daemons until the users begin",
	       .initial = "8000", .max = 3600000),
	OPTION(NUMBER, 0, "interval-ms", interval, "MS", "time between reports of loads", .initial = "300", .min = 1,
	       .max = 3600000),
	OPTION(TEXT, 0, "k1", k1, "K", K1_ABOUT),
	OPTION(TEXT, 0, "k2", k2, "K", K2_ABOUT),
	FLAG(0, "asleep", asleep,
	     "let tasks sleep instead of using processors: there are no quotas, and --start-us is time"),
	FLAG(0, "sizes", sizes, "print the sizes of the tasks of all rounds as JSON, and simulate nothing"),
	FLAG(0, "json", json, JSON_ABOUT),
	{0},
};

static const struct option traces_options[] = {
	FLAG(0, "json", json, JSON_ABOUT),
	OPTION(DIR, 0, "chart", chart, "DIR", CHART_ABOUT),
	OPTION(NUMBER, 0, "cores", cores, "N", CORES_ABOUT, .min = 1, .max = 4096),
	{0},
};

static const struct option bag_options[] = {
	OPTION(FILE, 0, "results", results, "FILE",
	       "keep results in this file; what is there already is not simulated again, so an interrupted experiment continues"),
	FLAG(0, "quick", quick,
	     "run a part: tasks of spread 2, one, three and six requests at a time, on the first three traces, 8 instants and 32 more for small bags"),
	OPTION(NUMBER, 0, "seeds", seeds, "N", "instants at which each bag is submitted; otherwise 100", .min = 2,
	       .max = 10000),
	OPTION(NUMBER, 0, "more", more, "N", "further instants for small bags, whose times vary most; otherwise 300",
	       .max = 100000),
	OPTION(NUMBER, 0, "precision", precision, "PERCENT",
	       "simulate a type of bag with a number of requests no further once its mean times are known to this many percent (95% intervals, at least 10 instants); otherwise 5; 0: at all instants",
	       .max = 100),
	OPTION(TEXT, 0, "heuristics", heuristics, "H[,H...]",
	       "heuristics to compare: static, static-max, initial, adaptive-as-printed, adaptive, mixed, mixed-max, ours; otherwise all"),
	OPTION(TEXT, 0, "base", base, "H",
	       "compare the others with this heuristic; otherwise static; static-max is what the source's users did before"),
	OPTION(TEXT, 0, "traces", traces, "T[,T...]",
	       "traces to run: SDSC-SP2, SDSC-BLUE, CTC-SP2, CTC-512 (on 512 processors, as the source), CTC-512-0.9 and CTC-512-0.7 (submission times multiplied), SDSC-SP2-source and SDSC-BLUE-source (submission times scaled to the source's loads); otherwise all"),
	OPTION(NUMBER, 0, "tasks", tasks, "N", "leave out bags of more tasks", .min = 100, .max = 100000),
	OPTION(NUMBER, 0, "limit", limit, "JOBS", "read at most JOBS jobs of a trace", .min = 1, .max = INT32_MAX),
	FLAG(0, "report", report, "simulate nothing: report what is in --results"),
	FLAG(0, "types", types, "also print a table of every type of bag"),
	FLAG(0, "json", json, JSON_ABOUT),
	OPTION(DIR, 0, "chart", chart, "DIR", CHART_ABOUT),
	OPTION(NUMBER, 0, "cores", cores, "N", CORES_ABOUT, .min = 1, .max = 4096),
	{0},
};

static int generated(const struct command *c, const struct arguments *a,
		     int (*run)(const struct push_options *, FILE *, bool *, struct err *))
{
	struct push_options o;
	struct err err;

	push_options_init(&o);
	o.seeds = (int)a->seeds;
	o.jobs = a->jobs < 0 ? 0 : (int)a->jobs;
	o.workers = a->cores < 0 ? 0 : (int)a->cores;
	o.json = a->json;
	o.progress = true;
	o.charts = a->chart;
	if (place_weight_read("k1", a->k1, &o.k1, &err) < 0 || place_weight_read("k2", a->k2, &o.k2, &err) < 0 ||
	    run(&o, stdout, NULL, &err) < 0)
		return command_fail(c, "%s", err.text);
	return EXIT_OK;
}

static int push(const struct command *c, const void *arguments, const struct operands *operands)
{
	return generated(c, arguments, experiment_push);
}

static int move(const struct command *c, const void *arguments, const struct operands *operands)
{
	return generated(c, arguments, experiment_move);
}

static int cover(const struct command *c, const void *arguments, const struct operands *operands)
{
	return generated(c, arguments, experiment_cover);
}

static int owners(const struct command *c, const void *arguments, const struct operands *operands)
{
	return generated(c, arguments, experiment_owners);
}

static int pool(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	struct pool_options o = {
		.seeds = (int)a->seeds,
		.jobs = (int)a->jobs,
		.bench = {.unit = (double)a->unit / 1e6,
			  .start = (double)a->start / 1e6,
			  .idle = (double)a->idle / 1e6,
			  .period = (double)a->period / 1e3,
			  .late = (double)a->late / 1e6,
			  .warm = (double)a->warm / 1e3,
			  .asleep = a->asleep},
		.interval = (double)a->interval / 1e3,
		.k1 = PLACE_K1,
		.k2 = PLACE_K2,
		.json = a->json,
	};
	struct err err;

	if (place_weight_read("k1", a->k1, &o.k1, &err) < 0 || place_weight_read("k2", a->k2, &o.k2, &err) < 0)
		return command_fail(c, "%s", err.text);
	if (a->sizes)
		experiment_pool_sizes(&o, stdout);
	else
		experiment_pool(&o, stdout);
	return EXIT_OK;
}

static int traces(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	struct traces_options o = {
		.dir = operands->n > 0 ? operands->v[0] : "traces",
		.workers = a->cores < 0 ? 0 : (int)a->cores,
		.json = a->json,
		.progress = true,
		.charts = a->chart,
	};
	struct err err;

	if (experiment_traces(&o, stdout, &err) < 0)
		return command_fail(c, "%s", err.text);
	return EXIT_OK;
}

static int bag(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	int64_t seeds = a->quick ? 8 : 100, more = a->quick ? 32 : 300;
	struct bag_options o = {
		.dir = operands->n > 0 ? operands->v[0] : "traces",
		.results = a->results,
		.heuristics = a->heuristics,
		.base = a->base,
		.sites = a->traces,
		.repetitions = (int)(a->seeds > 0 ? a->seeds : seeds),
		.more = (int)(a->more >= 0 ? a->more : more),
		.precision = a->precision >= 0 ? (double)a->precision : PRECISION,
		.most_tasks = a->tasks > 0 ? a->tasks : 0,
		.limit = a->limit > 0 ? a->limit : 0,
		.workers = a->cores < 0 ? 0 : (int)a->cores,
		.quick = a->quick,
		.report_only = a->report,
		.types = a->types,
		.json = a->json,
		.progress = true,
		.charts = a->chart,
	};
	struct err err;

	if (o.report_only && !o.results)
		return command_fail(c, "%s", "--report needs --results FILE");
	if (experiment_bag(&o, stdout, &err) < 0)
		return command_fail(c, "%s", err.text);
	return EXIT_OK;
}

/* Common parts of the commands on generated workloads. */
#define GENERATED(run_) .options = push_options, .size = sizeof(struct arguments), .run = (run_), .alone = true

const struct command command_experiment_push = {
	.name = "experiment push",
	.about = "Measure what push gains, compared with its source's claims.",
	.details =
		"Generated workloads, as in the experiments with OscarPBS, under a model of TORQUE's default scheduler, under "
		"oscar and under shunt: the gains, which part of the method brings what, and what could still be had.",
	GENERATED(push),
};

const struct command command_experiment_move = {
	.name = "experiment move",
	.about = "Measure what would be gained by moving running jobs.",
	.details =
		"Generated workloads of jobs that fit on one node, in sizes that are powers of two and in odd ones: how much "
		"of the distance to perfect packing is recovered by moving one running job for each blocked one, at "
		"several costs of a move (checkpoint and restart).",
	GENERATED(move),
};

const struct command command_experiment_cover = {
	.name = "experiment cover",
	.about = "Compare the smallest cover with other methods of node allocation.",
	.details =
		"Generated workloads of jobs that fit on one node, under easy with node_allocation = cover, min_resource and first_available, on nodes of equal and of "
		"different speeds, at three arrival rates, and where jobs that need features of nodes all start when the night begins: mean waits, turnarounds and nodes in use, with 95% intervals of the differences.",
	GENERATED(cover),
};

const struct command command_experiment_owners = {
	.name = "experiment owners",
	.about = "Measure what owners of workstations notice of parallel jobs there.",
	.details =
		"20 workstations of different speeds, whose owners use them, and parallel jobs that are graphs of 20 tasks, at five loads: the source's ways, which are fim and its "
		"two-level cost, with the owner served as everybody or first; every policy of 'shunt pool', on stations as its daemon makes them; and the interval at which loads are exchanged. Mean responses as ratios, with 90% intervals.",
	OPTIONS(struct arguments, owners_options),
	.run = owners,
	.alone = true,
};

const struct command command_experiment_pool = {
	.name = "experiment pool",
	.about = "Simulate the pool of workstations that bench/pool measures.",
	.details =
		"12 stations of six speeds, a third of them with a batch process that never ends; three users, each with one graph of 16 tasks after another: the mean time of a job under every policy of "
		"'shunt pool', on stations as its daemon makes them. bench/pool calls it with what tasks and daemons take on its machine, and prints both.",
	OPTIONS(struct arguments, pool_options),
	.run = pool,
	.alone = true,
};

const struct command command_experiment_traces = {
	.name = "experiment traces",
	.operands = "[DIR]",
	.operand_kind = OPTION_DIR,
	.about = "Compare with published results on well-known traces.",
	.details = "DIR holds the traces, as the Parallel Workloads Archive names them (*.swf.gz); if not given: "
		   "traces. Those that are missing are named and left out.",
	OPTIONS(struct arguments, traces_options),
	.run = traces,
	.alone = true,
};

const struct command command_experiment_bag = {
	.name = "experiment bag",
	.operands = "[DIR]",
	.operand_kind = OPTION_DIR,
	.about = "Compare ways to request processors for a bag of tasks.",
	.details =
		"Bags of 100 to 100,000 tasks are submitted at random instants of traces under conservative backfilling, with one to six requests at a time: how long they "
		"take and what they waste under each heuristic of the adapter. DIR holds the traces, as the Parallel Workloads Archive names them (*.swf.gz); if not given: "
		"traces. Those that are missing are named and left out.",
	.examples = EXAMPLES({"shunt experiment bag traces --quick", "get an impression from a part of it"},
			     {"shunt experiment bag traces --results bags.txt --chart pictures",
			      "run everything, in several sittings if need be"}),
	OPTIONS(struct arguments, bag_options),
	.run = bag,
	.alone = true,
};
