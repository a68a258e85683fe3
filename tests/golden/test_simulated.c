/*
 * test_simulated.c - simulated runs of small workloads on sites, and all that comes out of them:
 * events, outcomes, refusals, metrics, charts; and workstations.
 *
 * simulated.txt has a run for each line "= ...", made of its lines "$ ...", and what happened.
 * SHUNT_GOLDEN=write records it, charts.txt, generated.txt and stations.txt again.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "cmd/sim/simulate_site.h"
#include "golden/recorded.h"
#include "rules/amounts.h"
#include "sim/chart.h"
#include "sim/sim.h"
#include "sim/stations.h"

#define FOLDER SHUNT_ROOT "/tests/golden/"
#define RECORDED FOLDER "simulated.txt"
#define POLICIES_MOST 4

static struct {
	struct strbuf out, work, site, nodes, topology;
	char title[200], policy[POLICIES_MOST][40];
	int npolicies;
	struct sim_options o;
	const char *chart; /* the picture's name; NULL: none */
} run;

static char dir[] = "/tmp/shunt-test-XXXXXX";

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strbuf_vprintf(&run.out, fmt, ap);
	va_end(ap);
}

/* Appends what a function prints to a file. */
static void printed(struct strbuf *out, void (*print)(const void *context, FILE *f), const void *context)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	assert_non_null(f);
	print(context, f);
	assert_int_equal(fclose(f), 0);
	strbuf_puts(out, text);
	free(text);
}

static void event_say(void *context, const struct event *e)
{
	(void)context;
	say("%" PRId64 " %s %u", e->time, event_type_name(e->type), e->job + 1);
	for (uint32_t i = 0; i < e->nnodes; i++)
		say(" n%d", e->nodes[i] + 1);
	if (e->at)
		say(" %s %" PRId64, e->type == EVENT_START || e->type == EVENT_MIGRATE ? "until" : "at", e->at);
	if (e->by != JOB_NONE)
		say(" for %u", e->by + 1);
	say("\n");
}

static void blocked_say(void *context, const struct plan *p, uint32_t job, int64_t length)
{
	(void)context;
	(void)p;
	say("blocked %u for %" PRId64 " s\n", job + 1, length);
}

static void number_say(const char *name, int64_t n)
{
	if (n)
		say(", %s %" PRId64, name, n);
}

static void outcome_say(const struct simulated *o)
{
	say("job %" PRId64 ": %" PRId64 " %" PRId64 "-%" PRId64 ", ran %" PRId64 " of %" PRId64 ", procs %" PRId64,
	    o->id, o->submit, o->start, o->end, o->runtime, o->estimate, o->procs);
	number_say("over", o->over);
	if (o->deadline != TIME_NEVER)
		number_say("deadline", o->deadline);
	number_say("lost", o->lost);
	number_say("saved", o->saved);
	number_say("share", o->share);
	number_say("user", o->user);
	number_say("preemptions", o->preemptions);
	say("%s%s%s%s%s%s\n", (const char *[]){"", "", ", qos", ", emergency"}[o->kind], o->killed ? ", killed" : "",
	    o->kept ? ", kept" : "", o->guaranteed ? ", guaranteed" : "", o->broken ? ", broken" : "",
	    o->broken_by_power ? " by power" : "");
}

static void refusals_say(const char *what, const struct refusals *r)
{
	for (int i = 0; i < r->n; i++)
		say("%s: %" PRId64 " of %" PRId64 ", first %" PRId64 " in line %u: %s\n", what, r->reason[i].jobs,
		    r->jobs, r->reason[i].first, r->reason[i].line, r->reason[i].why);
}

static void result_say(const struct sim_result *r)
{
	for (int64_t i = 0; i < r->n; i++)
		outcome_say(&r->outcome[i]);
	refusals_say("unfit", &r->unfit);
	refusals_say("unruled", &r->unruled);
	say("%" PRId64 " jobs, %" PRId64 " procs, %" PRId64 " refused, %" PRId64 " unsure, %" PRIu64
	    " pushes of %" PRIu64 ", %" PRIu64 " rescued, %" PRIu64 " moved\n",
	    r->n, r->procs, r->refused, r->unsure, r->pushes, r->attempts, r->stats.rescued, r->stats.migrations);
	if (run.o.topology)
		say("switches %.4g, wait %.5g; apart %.4g, %.5g\n", r->near.switches, r->near.wait, r->apart.switches,
		    r->apart.wait);
}

struct runs {
	const struct sim_result *r;
	const struct metrics *m;
	const char *const *names;
};

static void table_print_all(const void *context, FILE *f)
{
	const struct runs *x = context;

	metrics_print(x->names, x->m, run.npolicies, f);
}

static void csv_print(const void *context, FILE *f)
{
	const struct runs *x = context;

	outcomes_csv(x->r->outcome, x->r->n, f);
}

static void chart_print(const void *context, FILE *f)
{
	const struct runs *x = context;
	struct chart_run runs[POLICIES_MOST];

	for (int i = 0; i < run.npolicies; i++)
		runs[i] = (struct chart_run){x->names[i], x->r[i].outcome, x->r[i].n, x->r[i].procs};
	chart_run_script(f, run.chart, run.title, runs, run.npolicies);
}

static void workload_print(const void *w, FILE *f)
{
	workfile_write(w, f);
}

static void metrics_say(const struct metrics *m)
{
	struct json j;

	json_init(&j, &run.out, true);
	json_open_object(&j, NULL);
	metrics_json(&j, m);
	json_close_object(&j);
	say("\n");
}

/* Writes a file of the run. */
static void put(const char *name, const struct strbuf *text, char path[static 64])
{
	snprintf(path, 64, "%s/%s", dir, name);
	assert_int_equal(file_replace(path, 0600, text->text, text->n, 0), 0);
}

/* Runs the workload by each policy; the charts are added to `charts`. */
static void runs_make(struct strbuf *charts)
{
	struct sim_result r[POLICIES_MOST];
	struct metrics m[POLICIES_MOST];
	const char *names[POLICIES_MOST] = {NULL};
	char path[64];
	struct runs all = {r, m, names};
	struct simulate_site site;
	struct workload *w = NULL;
	int made = 0;
	struct err err;

	simulate_site_init(&site);
	put("work", &run.work, path);
	int rc = workload_read(path, RULES_SITE, 0, &w, &err);
	unlink(path);
	if (rc == 0 && run.site.n)
		rc = simulate_site_parse("site", run.site.text, run.site.n, &site, &err);
	if (rc == 0 && site.ruled) {
		run.o.site = &site.rules;
		run.o.shared = &site.shared;
		settings_of_server(&run.o.settings, &site.rules.attrs);
	}
	if (run.topology.n) {
		put("topology", &run.topology, path);
		run.o.topology = path;
	}
	if (rc == 0) {
		free(w->name);
		w->name = mem_strdup("written");
		printed(&run.out, workload_print, w);
		run.o.machine = run.nodes.n ? run.nodes.text : w->machine;
	}
	for (; made < run.npolicies && rc == 0; made++) {
		const struct policy *p = policy_find(run.policy[made]);
		assert_non_null(p);
		say("policy %s\n", p->name);
		names[made] = p->name;
		rc = sim_run(w, p, &run.o, &r[made], &err);
		if (rc < 0)
			break;
		result_say(&r[made]);
		metrics_compute(&m[made], r[made].outcome, r[made].n, r[made].procs);
	}
	if (run.o.topology)
		unlink(path);
	if (rc < 0) {
		size_t n = strlen(dir);
		say("error %d: %s\n", -rc, err.text + (strncmp(err.text, dir, n) == 0 ? n + 1 : 0));
	} else {
		metrics_say(&m[0]);
		printed(&run.out, table_print_all, &all);
		printed(&run.out, csv_print, &all);
		if (run.chart) {
			strbuf_printf(charts, "# %s\n", run.title);
			printed(charts, chart_print, &all);
		}
	}
	while (made > 0)
		sim_result_fini(&r[--made]);
	if (w)
		workload_destroy(w);
	simulate_site_fini(&site);
}

static void run_begin(const char *title)
{
	struct strbuf out = run.out;

	strbuf_fini(&run.work);
	strbuf_fini(&run.site);
	strbuf_fini(&run.nodes);
	strbuf_fini(&run.topology);
	memset(&run, 0, sizeof run);
	run.out = out;
	snprintf(run.title, sizeof run.title, "%s", title);
	sim_options_init(&run.o);
	run.o.check = true;
	run.o.listener = event_say;
	run.o.blocked = blocked_say;
	strbuf_puts(&run.work, "#shunt-workload 1\n");
}

/* Takes a line "$ ..." of a run: one of those below, or a line of the workload. */
static void command_take(const char *line)
{
	const char *rest = line + strcspn(line, " ");
	size_t n = (size_t)(rest - line);
	const struct {
		const char *name;
		struct strbuf *text;
	} texts[] = {{"site", &run.site}, {"switch", &run.topology}, {"node", &run.nodes}};
	const struct {
		const char *name;
		int64_t *number;
	} numbers[] = {{"tolerance", &run.o.settings.tolerance},
		       {"starve", &run.o.settings.starve_after},
		       {"migrate", &run.o.settings.migrate_cost},
		       {"overrun", &run.o.overrun}};

	rest += *rest == ' ';
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (strncmp(texts[i].name, line, n) == 0 && strlen(texts[i].name) == n) {
			/* nodes are lines of a machine, which begins with the first one */
			strbuf_printf(texts[i].text, i < 2 ? "%s\n" : texts[i].text->n ? "\nnode %s" : "node %s", rest);
			return;
		}
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (strncmp(numbers[i].name, line, n) == 0 && strlen(numbers[i].name) == n) {
			*numbers[i].number = strcmp(rest, "never") == 0 ? TIME_NEVER : strtoll(rest, NULL, 10);
			return;
		}
	if (strncmp(line, "policy ", 7) == 0)
		run.npolicies =
			sscanf(rest, "%39s%39s%39s%39s", run.policy[0], run.policy[1], run.policy[2], run.policy[3]);
	else if (strncmp(line, "allocation ", 11) == 0)
		run.o.allocation = rest;
	else if (strncmp(line, "push ", 5) == 0)
		run.o.push_depth = atoi(rest);
	else if (strncmp(line, "chart ", 6) == 0)
		run.chart = rest;
	else
		strbuf_printf(&run.work, "%s\n", line);
}

static void bars_draw(const void *bars, FILE *f)
{
	chart_bars_script(f, "it's.png", bars);
}

/* Means with their deviations, ratios below an eighth, and ratios that need few tics. */
static void bars_print(struct strbuf *out)
{
	const char *group[] = {"a", "b"}, *series[] = {"x", "it's", "z", "u"};
	const double means[] = {1, 2, 3, 4}, deviation[] = {.1, .2, .3, .4}, wide[] = {0.1, 3, 1, 15, 0.5, 1, 2, 4},
		     narrow[] = {0.9, 1, 1.2, 2};
	const struct chart_bars bars[] = {
		{"means", "s", group, series, 2, 2, means, deviation, false, 0},
		{"wide", "times", group, series, 2, 4, wide, NULL, true, 2},
		{"narrow", "times", group, series, 1, 4, narrow, NULL, true, 3},
	};

	for (size_t i = 0; i < sizeof bars / sizeof *bars; i++) {
		strbuf_printf(out, "# bars: %s\n", bars[i].title);
		printed(out, bars_draw, &bars[i]);
	}
}

static void simulated(void **state)
{
	struct strbuf text = {0}, charts = {0};
	bool begun = false;

	(void)state;
	setenv("TZ", "UTC", 1); /* hours of reservations and nights are local */
	tzset();
	assert_non_null(mkdtemp(dir));
	assert_int_equal(file_read(RECORDED, 0, 4 << 20, &text), 0);
	char *rest = text.text, *line;
	while ((line = strsep(&rest, "\n")) != NULL || begun) {
		if (begun && (!line || *line == '=')) {
			runs_make(&charts);
			begun = false;
		}
		if (!line)
			break;
		if (*line == '=') {
			run_begin(line + 2);
			begun = true;
			say("%s%s\n", run.out.n ? "\n" : "", line);
		} else if (*line == '$') {
			say("%s\n", line);
			command_take(line + 2);
		}
	}
	assert_int_equal(rmdir(dir), 0);
	recorded_compare(RECORDED, "=", &run.out);
	bars_print(&charts);
	recorded_compare(FOLDER "charts.txt", "#", &charts);
	run_begin("");
	strbuf_fini(&run.work);
	strbuf_fini(&run.out);
	strbuf_fini(&charts);
	strbuf_fini(&text);
}

/* ---- generated workloads ---- */

static void generated_put(struct strbuf *out, struct workload *w)
{
	printed(out, workload_print, w);
	workload_destroy(w);
}

/* Workloads of every generator, and what is done to workloads before they are run. */
static void generated(void **state)
{
	static const struct oscar_model models[] = {
		{.model = 'A', .jobs = 25, .mean_gap = 60, .qos = 3, .emergency = 2, .seed = 1},
		{.model = 'C', .jobs = 40, .mean_gap = 90.5, .fixed_gap = 1, .qos = 1, .seed = 5},
		{.model = 'C', .jobs = 10, .mean_gap = 60, .emergency = 11, .seed = 3, .mix = MIX_POWERS},
		{.model = 'A', .jobs = 10, .mean_gap = 60, .seed = 4, .mix = MIX_ODD},
	};
	struct strbuf out = {0};
	struct workload *w;

	(void)state;
	for (size_t i = 0; i < sizeof models / sizeof *models; i++)
		generated_put(&out, generate_oscar(&models[i]));
	generated_put(&out, generate_lublin(1, 5, 1));
	w = generate_lublin(96, 40, 7);
	strbuf_printf(&out, "# load %.6g of %.6g\n", workload_load(w, 96), generate_work(MIX_ODD));
	workload_shake(w, 300, 5);
	workload_stretch(w, 0.25);
	workload_round(w, 6);
	generated_put(&out, w);
	w = generate_oscar(&models[0]);
	workload_flatten(w);
	generated_put(&out, w);
	recorded_compare(FOLDER "generated.txt", "# ", &out);
	strbuf_fini(&out);
}

/* ---- workstations ---- */

static void stations_say(struct strbuf *out, const char *name, const struct stations_case *c)
{
	struct stations_result r = stations_run(c);

	strbuf_printf(out, "%s, %s:", name, place_name(c->rule.policy));
	for (int k = 0; k < CLASSES; k++)
		strbuf_printf(out, " %.6g (%" PRId64 ")", r.response[k], r.ended[k]);
	strbuf_printf(out, ", %.5g reports\n", r.reports);
}

/* Every policy under every discipline, without parallel jobs, and on the stations of bench/pool. */
static void stations(void **state)
{
	static const struct stations_bench benches[] = {
		{.unit = 0.2, .period = 0.02},
		{.unit = 0.2, .period = 0.1, .start = 0.02, .idle = 0.01, .late = 0.002, .warm = 3},
		{.unit = 0.2, .start = 0.1, .asleep = true}};
	static const char *const name[] = {"shared", "quantum", "pool", "pool, shared"};
	struct strbuf out = {0};

	(void)state;
	for (int d = 0; d < 4; d++)
		for (int p = 0; p < PLACE_POLICIES; p++) {
			struct stations_case c = {.rule = {(enum place_policy)p, PLACE_K1, PLACE_K2},
						  .discipline = (enum discipline)d,
						  .load = 0.8,
						  .share = {0.02, 0.18, 0.8},
						  .quantum = 0.5,
						  .interval = 5,
						  .seed = 3,
						  .jobs = 20};
			stations_say(&out, name[d], &c);
			c.alone = true;
			if (p == 0)
				stations_say(&out, name[d], &c);
		}
	for (size_t b = 0; b < sizeof benches / sizeof *benches; b++)
		for (int p = 0; p < PLACE_POLICIES; p++)
			stations_say(&out, "bench",
				     &(struct stations_case){.rule = {(enum place_policy)p, PLACE_K1, PLACE_K2},
							     .discipline = DISCIPLINE_POOL_SHARED,
							     .interval = b ? 0.3 : 30,
							     .seed = 3,
							     .jobs = 12,
							     .bench = &benches[b]});
	recorded_compare(FOLDER "stations.txt", "", &out);
	strbuf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(simulated), cmocka_unit_test(generated),
					   cmocka_unit_test(stations)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("simulated", tests, NULL, NULL);
}
