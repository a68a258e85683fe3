/*
 * simulate.c - `shunt simulate`: runs a workload through one or several policies.
 */
#include "cmd/sim/simulate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"
#include "cmd/lib/when.h"
#include "cmd/sim/simulate_history.h"
#include "cmd/sim/simulate_site.h"
#include "cmd/sim/site_live.h"
#include "sim/machine.h"

#define LUBLIN_MACHINE "flat:256"
#define LUBLIN_JOBS 10000
#define OSCAR_JOBS 318
#define OSCAR_GAP 60 /* seconds between arrivals, on average */

#define AT(field) offsetof(struct simulate_arguments, field)
static const struct option options[] = {
	OPTION(POLICIES, 0, "policy", policy, "P[,P...]",
	       "policies to run, side by side; 'shunt policies' lists them, 'all' is every one; otherwise the site's (--config), else shunt"),
	OPTION(FILE, 0, "machine", machine, "flat:N|nodes:NxC[+...]|parts:N,...|FILE",
	       "one pool of N processors, N nodes of C CPUs (n1, n2, ...; nodes:40x8+2x64 has two kinds), partitions of N nodes of one CPU, or a file of lines like 'node n[1-40] cpus=8 mem=16gb partition=A'; otherwise the nodes of the site (--config), else what the workload says; of a trace that is one pool"),
	OPTION(FILE, 0, "config", config, "FILE[,FILE]",
	       "a site: its queues, limits and settings as 'qmgr -c \"print server\"' prints them, or its nodes and policy from the server's configuration file, or both; without it queues have no attributes"),
	OPTION(WORD, 0, "rules", rules, "site|sc15",
	       "how traces are read; site: as the server would take them, a missing estimate is the run time; sc15: as in published comparisons, jobs without an estimate are left out and run times are cut at it",
	       .initial = "site", .words = "site sc15"),
	OPTION(NUMBER, 0, "limit", limit, "JOBS", "read at most JOBS jobs", .min = 1, .max = INT64_C(1000000000)),
	OPTION(FILE, 0, "starts", starts, "FILE.csv",
	       "write every job's submission, start and end; with several policies each has its own file: FILE.POLICY.csv"),
	FLAG(0, "json", json, "print JSON instead of tables"),
	OPTION(FILE, 0, "chart", chart, "FILE.svg|png",
	       "draw use, queue, waits, and a part of the schedule (needs gnuplot)"),
	OPTION(NUMBER, 0, "shake", shake, "K",
	       "run also K copies with every submission moved by up to 300 s, and print ratios to easy (if it is among the policies or there is only one; else to the first): is the result more than luck?",
	       .min = 1, .max = 10000),
	OPTION(NUMBER, 0, "seed", seed, "S", "seed of --shake and --generate", .initial = "1", .max = INT32_MAX),
	OPTION(TEXT, 0, "node-allocation", allocation, "METHOD",
	       "which of the nodes that fit a job gets, as the server's node_allocation; otherwise as the site has it (--config), else as the policy has it",
	       .words = "first_available min_resource load fastest spread contiguous push cover"),
	OPTION(FILE, 0, "topology", topology, "FILE",
	       "keep the nodes of each job close together in this tree of switches (Slurm's topology.conf), and show what that costs"),
	OPTION(NUMBER, 0, "push", push, "DEPTH",
	       "how deep planned parts of jobs may be pushed to other nodes to make room, instead of what the policy says; 0: never",
	       .max = 8),
	OPTION(SECONDS, 0, "migrate", migrate, "SECONDS",
	       "let a blocked job move one running job to another node, which costs that job this much time; otherwise running jobs stay"),
	OPTION(TEXT, 0, "starve-after", starve_after, "DURATION|never|auto",
	       "when a waiting job begins to starve and gets what its policy grants then; auto: by the policy's own due dates, where it has them; otherwise as the site has it (--config), else auto",
	       .words = "auto never"),
	OPTION(SECONDS, 0, "tolerance", tolerance, "SECONDS",
	       "how long a job may overrun its walltime before it is killed; the plan allows for it; otherwise as the site has it (--config), else 0"),
	OPTION(SECONDS, 0, "overrun", overrun, "SECONDS",
	       "let jobs that use up their walltime take up to this long to end, as with kill_delay on a server; the plan allows for it"),
	OPTION(TEXT, 0, "from-history", from_history, "WHEN",
	       "replay the jobs that ended since then (30d ago, or a date) on the server, as far as you may see them; without --machine they run on the server's nodes"),
	FLAG(0, "live", live,
	     "with --from-history: with the queues, limits, priorities and shares that the server has now, and, without --policy, its policy"),
	FLAG(0, "over-time", over_time,
	     "with --json: also the use of the machine, the waiting jobs, the distribution of waits and the waits of users"),
	OPTION(WORD, 0, "generate", generate, "lublin|oscar",
	       "make the workload instead of reading one; lublin: Lublin and Feitelson's model (10,000 jobs on flat:256); oscar: the bursts of OscarPBS (318 jobs on nodes:40x8)",
	       .words = "lublin oscar"),
	OPTION(NUMBER, 0, "load", load, "PERCENT",
	       "stretch or squeeze the submissions so that they bring this much of the work that the machine can do; otherwise as they are",
	       .min = 1, .max = 1000),
	OPTION(WORD, 0, "walltimes", walltimes, "given|round",
	       "round: instead of those of the workload, round ones as people state them, after 1 to 5 times the run time",
	       .initial = "given", .words = "given round"),
	OPTION(NUMBER, 0, "jobs", jobs, "N", "how many jobs --generate makes", .min = 1, .max = 10000000),
	OPTION(WORD, 0, "model", model, "A|C",
	       "of --generate oscar; A: small jobs, some of them bound to nodes; C: larger jobs, none bound",
	       .initial = "C", .words = "A C"),
	OPTION(FILE, 0, "save", save, "FILE", "write the generated workload, to be read again"),
	OPTION(NUMBER, 0, "cores", cores, "N",
	       "run at most N policies or copies at a time; default: the number of cores", .min = 1, .max = 4096),
	{0},
};

static int starve_parse(const char *text, int64_t *ret, struct err *err)
{
	if (strcmp(text, "never") == 0) {
		*ret = TIME_NEVER;
		return 0;
	}
	if (strcmp(text, "auto") == 0) {
		*ret = STARVE_AUTO;
		return 0;
	}
	if (duration_parse(text, ret, err) < 0)
		return err_set(err, -EINVAL, "\"%.60s\" must be a time such as 1800, 30:00 or 12h, or never, or auto",
			       text);
	return 0;
}

static int rules_of(const struct simulate_arguments *a)
{
	return strcmp(a->rules, "sc15") == 0 ? RULES_SC15 : RULES_SITE;
}

/* Counts the machine's processors, or says why there is no such machine. */
static int machine_measure(const char *text, int64_t *ret_procs, struct err *err)
{
	struct cluster *c = cluster_create();
	int rc = machine_build(c, text, err);

	*ret_procs = c->total.v[RES_CPU];
	cluster_destroy(c);
	return rc;
}

static int workload_generate(const struct simulate_arguments *a, struct workload **ret, struct err *err)
{
	if (strcmp(a->generate, "oscar") == 0) {
		struct oscar_model m = {
			.model = a->model[0],
			.jobs = a->jobs < 0 ? OSCAR_JOBS : (int)a->jobs,
			.mean_gap = OSCAR_GAP,
			.seed = (uint64_t)a->seed,
		};
		*ret = generate_oscar(&m);
		return 0;
	}
	int64_t procs;
	int rc = machine_measure(a->machine ? a->machine : LUBLIN_MACHINE, &procs, err);
	if (rc == 0)
		*ret = generate_lublin(procs, a->jobs < 0 ? LUBLIN_JOBS : a->jobs, (uint64_t)a->seed);
	return rc;
}

static void workload_save(const void *workload, FILE *out)
{
	workfile_write(workload, out);
}

static int workload_get(struct simulation *s, const struct operands *operands, struct err *err)
{
	const struct simulate_arguments *a = s->a;
	int rc;

	if (s->workload) /* loaded from the history */
		return 0;
	if (!a->generate) {
		rc = workload_read(operands->v[0], rules_of(a), a->limit < 0 ? 0 : a->limit, &s->workload, err);
		if (rc == 0 && strcmp(operands->v[0], "-") == 0) {
			free(s->workload->name);
			s->workload->name = mem_strdup("standard input");
		}
		/* one pool holds only the CPUs of jobs that ran, as with --from-history */
		if (rc == 0 && s->workload->begin && a->machine && strncmp(a->machine, "flat:", 5) == 0)
			workload_flatten(s->workload);
		return rc;
	}
	return workload_generate(a, &s->workload, err);
}

/* Selects the named machine, else the workload's, else a pool as large as the trace's. */
static int machine_get(struct simulation *s, struct err *err)
{
	const struct workload *w = s->workload;
	char pool[40];

	snprintf(pool, sizeof pool, "flat:%lld", (long long)w->procs);
	const char *text = s->a->machine     ? s->a->machine
			   : s->site.machine ? s->site.machine
			   : w->machine	     ? w->machine
			   : w->procs > 0    ? pool
					     : NULL;
	if (!text && s->site.unknown)
		return err_set(err, -EINVAL, "%.100s: %s: add --machine nodes:NxC", s->a->config, s->site.unknown);
	if (!text)
		return err_set(err, -EINVAL,
			       "%s does not say how large its machine is: add --machine flat:N or nodes:NxC", w->name);
	s->machine = mem_strdup(text);
	s->machine_name = mem_strdup(text == s->site.machine		    ? "the site's nodes"
				     : s->a->from_history && !s->a->machine ? "the server's nodes"
									    : text);
	int rc = machine_measure(text, &s->procs, err);
	return rc < 0 && s->a->machine ? err_prefix(err, rc, "--machine") : rc;
}

/* Applies --load and --walltimes; --save keeps the result. */
static int workload_alter(struct simulation *s, struct err *err)
{
	double load = workload_load(s->workload, s->procs);

	if (s->a->load > 0 && load <= 0)
		return err_set(err, -EINVAL, "--load: all jobs of %s are submitted at once", s->workload->name);
	if (s->a->load > 0)
		workload_stretch(s->workload, load / ((double)s->a->load / 100));
	if (strcmp(s->a->walltimes, "round") == 0)
		workload_round(s->workload, (uint64_t)s->a->seed);
	return s->a->save ? file_write(s->a->save, workload_save, s->workload, err) : 0;
}

static void policies_add(struct simulation *s, const struct policy *p)
{
	for (int i = 0; i < s->npolicies; i++)
		if (s->policy[i] == p)
			return;
	s->policy[s->npolicies++] = p;
}

/* Selects the policies; the list was checked by the parser. A single policy that is to be shaken
 * gets another to compare with. */
static void policies_get(struct simulation *s)
{
	s->policy = mem_zalloc((size_t)npolicies * sizeof *s->policy);
	for (const char *p = s->a->policy     ? s->a->policy
			     : s->site.policy ? s->site.policy
					      : "shunt";
	     *p; p += strspn(p, ",")) {
		size_t n = strcspn(p, ",");
		bool all = n == 3 && strncmp(p, "all", n) == 0;
		for (int i = 0; i < npolicies; i++)
			if (all || (strlen(policies[i].name) == n && strncmp(p, policies[i].name, n) == 0))
				policies_add(s, &policies[i]);
		p += n;
	}
	if (s->a->shake > 0 && s->npolicies == 1)
		policies_add(s, policy_find("easy"));
	if (s->a->shake > 0 && s->npolicies == 1)
		policies_add(s, policy_find("shunt"));
}

static int options_get(const struct simulation *s, struct sim_options *o, struct err *err)
{
	const struct simulate_arguments *a = s->a;

	sim_options_init(o);
	o->machine = s->machine;
	o->push_depth = (int)a->push;
	o->allocation = a->allocation;
	o->topology = a->topology;
	if (s->site.ruled) {
		o->site = &s->site.rules;
		o->shared = &s->site.shared;
		settings_of_server(&o->settings, &s->site.rules.attrs);
	}
	if (a->overrun > 0)
		o->overrun = a->overrun;
	if (a->tolerance >= 0)
		o->settings.tolerance = a->tolerance;
	o->settings.migrate_cost = a->migrate;
	return a->starve_after ? starve_parse(a->starve_after, &o->settings.starve_after, err) : 0;
}

/* Checked early rather than after a long run. */
static bool is_picture(const char *path)
{
	const char *ending = strrchr(path, '.');

	return ending && (strcmp(ending, ".svg") == 0 || strcmp(ending, ".png") == 0);
}

/* Checks combinations of options. */
static int arguments_check(const struct command *c, const struct simulate_arguments *a, const struct operands *operands)
{
	struct err err;

	if (a->from_history && (a->generate || operands->n > 0))
		return command_misused(c, "either %s or --from-history, not both",
				       a->generate ? "--generate" : operands->v[0]);
	if (a->live && (!a->from_history || a->config))
		return command_misused(c, a->config ? "either --config or --live, not both"
						    : "--live goes with --from-history");
	if (a->over_time && !a->json)
		return command_misused(c, "--over-time goes with --json");
	if (!a->generate && !a->from_history && operands->n == 0)
		return command_misused(
			c,
			"name a workload (a trace or a workload file; - is standard input), --generate or --from-history");
	if (a->generate && operands->n > 0)
		return command_misused(c, "either %s or --generate, not both", operands->v[0]);
	if (!a->generate && (a->jobs >= 0 || a->save))
		return command_misused(c, "--%s goes with --generate%s", a->save ? "save" : "jobs",
				       a->save ? "" : "; to read fewer jobs use --limit");
	if (a->starve_after && starve_parse(a->starve_after, &(int64_t){0}, &err) < 0)
		return command_misused(c, "--starve-after: %s", err.text);
	if (a->chart && !is_picture(a->chart))
		return command_misused(c, "--chart: %s must end in .svg or .png", a->chart);
	if (a->generate && a->limit >= 0)
		return command_misused(c, "--limit is for workloads that are read; use --jobs");
	return EXIT_OK;
}

static int simulate(struct simulation *s, const struct operands *operands, struct err *err)
{
	struct sim_options o;
	int rc = workload_get(s, operands, err);

	if (rc == 0)
		simulation_tell_dropped(s);
	if (rc == 0 && s->workload->jobs.n == 0)
		rc = err_set(err, -EINVAL, "%s: there is no job in it to run", s->workload->name);
	if (rc == 0 && s->a->config)
		rc = simulate_site_read(s->a->config, &s->site, err);
	if (rc == 0 && s->site.hooks)
		fprintf(stderr, "%s: the site has hooks, which are not simulated: jobs are as they were submitted\n",
			s->a->config);
	if (rc == 0)
		rc = machine_get(s, err);
	if (rc == 0)
		rc = options_get(s, &o, err);
	if (rc < 0)
		return rc;

	rc = workload_alter(s, err);
	if (rc < 0)
		return rc;
	policies_get(s);
	rc = runs_make(&s->runs, s->policy, s->npolicies, s->a->shake < 0 ? 0 : (int)s->a->shake, s->workload, &o,
		       (uint64_t)s->a->seed, s->a->cores < 0 ? 0 : (int)s->a->cores, err);
	if (rc < 0)
		return rc;
	int fault = simulation_tell_refused(s, err);
	if (s->a->json)
		simulation_json(s, stdout);
	else
		simulation_print(s, stdout);
	if (s->a->starts)
		rc = simulation_starts(s, err);
	if (rc == 0 && s->a->chart)
		rc = simulation_chart(s, err);
	return rc == 0 ? fault : rc;
}

/* Reads the running server's current rules. */
static int live_get(struct simulation *s)
{
	struct client *client;
	int code;

	if (!show_open(s->command, &client))
		return EXIT_FAILED;
	code = site_live(s->command, client, &s->site.rules);
	client_close(client);
	if (code == EXIT_OK) {
		workload_fit(s->workload, &s->site.rules);
		s->site.ruled = true;
		s->site.policy = mem_strdup(attrs_text(&s->site.rules.attrs, SET_POLICY));
	}
	return code;
}

static int history_get(struct simulation *s)
{
	const struct simulate_arguments *a = s->a;
	bool flat = a->machine && strncmp(a->machine, "flat:", 5) == 0;
	int64_t since;
	int code = when_parse(s->command, "from-history", a->from_history, (int64_t)time(NULL), &since);

	if (code == EXIT_OK)
		code = simulate_history(s->command, since, a->limit < 0 ? 0 : a->limit, flat, a->live, &s->workload);
	return code == EXIT_OK && a->live ? live_get(s) : code;
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	struct simulation s = {.command = c, .a = arguments};
	struct err err;
	int code = arguments_check(c, s.a, operands);

	simulate_site_init(&s.site);

	if (code == EXIT_OK && s.a->from_history)
		code = history_get(&s);
	if (code == EXIT_OK && simulate(&s, operands, &err) < 0)
		code = command_fail(c, "%s", err.text);
	runs_fini(&s.runs);
	simulate_site_fini(&s.site);
	if (s.workload)
		workload_destroy(s.workload);
	free(s.policy);
	free(s.machine);
	free(s.machine_name);
	return code;
}

const struct command command_simulate = {
	.name = "simulate",
	.operands = "[WORKLOAD]",
	.operand_kind = OPTION_FILE,
	.about = "Run a workload through scheduling policies, and compare.",
	.details =
		"WORKLOAD is a trace in the Standard Workload Format, a workload file, the --starts of an earlier "
		"run, or an accounting file (Shunt's own, of any PBS, or of 'sacct -P'); gzip is fine, - is standard "
		"input.",
	.examples = EXAMPLES(
		{"shunt simulate examples/first.work --policy shunt,easy,oscar",
		 "Three policies on a small cluster, side by side."},
		{"shunt simulate CTC-SP2.swf.gz --policy shunt,easy --chart ctc.svg", "A trace, with a picture."},
		{"shunt simulate RICC.swf.gz --machine nodes:1024x8 --push 2 --limit 50000",
		 "The first 50,000 jobs of a trace on nodes, pushing up to two deep."},
		{"shunt simulate --generate lublin --jobs 50000 --machine flat:512 --save my.work",
		 "A generated workload, kept for later."},
		{"shunt simulate --from-history 30d --policy shunt,easy",
		 "What another policy would have done with the last 30 days."},
		{"shunt simulate --from-history 30d --live --policy shunt,easy",
		 "The same, with the server's own limits and priorities."}),
	OPTIONS(struct simulate_arguments, options),
	.run = run,
	.alone = true,
};
