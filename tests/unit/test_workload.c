/*
 * test_workload.c - traces, workload files and generators: what is read, what is left out and why.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/lines.h"
#include "sim/metrics.h"
#include "sim/workload.h"
#include "support/paths.h"
#include "support/skip.h"

static struct workload *read_text(const char *text, enum rules rules, int64_t limit, struct err *err)
{
	struct lines *in = lines_over(text, strlen(text));
	struct workload *w = workload_create("test");
	int rc = workload_read_lines(in, rules, limit, w, err);

	lines_close(in);
	if (rc == 0)
		return w;
	assert_int_equal(rc, -EINVAL);
	workload_destroy(w);
	return NULL;
}

static struct workload *good(const char *text, enum rules rules)
{
	struct err err = {.text = ""};
	struct workload *w = read_text(text, rules, 0, &err);

	if (!w)
		fail_msg("%s", err.text);
	return w;
}

static void refused(const char *text, const char *why)
{
	struct err err = {.text = ""};

	assert_null(read_text(text, RULES_SITE, 0, &err));
	if (!strstr(err.text, why))
		fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

static const char trace[] =
	"; MaxNodes: 4 (batch)\n"
	";MaxProcs: 16\n"
	"\n"
	"  3  20 -1 100  8 1.5 -1  4  50 -1 1  7 -1 -1 -1 -1 -1 -1\n" /* asks for 4, runs over its estimate */
	"  1  10 -1  60  2  -1 -1 -1 100 -1 1 -1 -1 -1 -1 -1 -1 -1\n" /* asks for nothing: what it used */
	"  2  10 -1  30  1  -1 -1  1  -1 -1 1  7 -1 -1 -1 -1 -1 -1\n" /* no estimate */
	"  4  30 -1   0  1  -1 -1  1  10 -1 1  7 -1 -1 -1 -1 -1 -1\n"
	"  5  30 -1  10 -1  -1 -1 -1  10 -1 1  7 -1 -1 -1 -1 -1 -1\n"
	"  6  30 -1  10 17  -1 -1 17  10 -1 1  7 -1 -1 -1 -1 -1 -1\n"
	"  7  -1 -1  10  1  -1 -1  1  10 -1 1  7 -1 -1 -1 -1 -1 -1\n"
	"  8 here is no job\n";

static void swf_header_and_rules(void **state)
{
	(void)state;
	struct workload *w = good(trace, RULES_SC15);

	assert_int_equal(w->procs, 16);
	assert_int_equal(w->nodes, 4);
	assert_int_equal(w->jobs.n, 2);
	assert_int_equal(w->jobs.v[0].id, 1);
	assert_int_equal(w->jobs.v[0].procs, 2);
	assert_string_equal(names_get(&w->users, w->jobs.v[0].user), "unknown");
	assert_int_equal(w->jobs.v[1].id, 3);
	assert_int_equal(w->jobs.v[1].procs, 4);
	assert_int_equal(w->jobs.v[1].runtime, 50);
	assert_int_equal(w->jobs.v[1].walltime, 50);
	assert_string_equal(names_get(&w->users, w->jobs.v[1].user), "user7");
	assert_int_equal(w->dropped[DROP_SYNTAX], 1);
	assert_int_equal(w->dropped[DROP_PROCS], 2);
	assert_int_equal(w->dropped[DROP_RUNTIME], 1);
	assert_int_equal(w->dropped[DROP_ESTIMATE], 1);
	assert_int_equal(w->dropped[DROP_SUBMIT], 1);
	assert_int_equal(w->notes.n, 6);
	assert_string_equal(w->notes.v[0], "line 7: run time 0: skipped");
	workload_destroy(w);

	w = good(trace, RULES_SITE);
	assert_int_equal(w->jobs.n, 3);
	assert_int_equal(w->jobs.v[0].id, 1); /* the upper one of two submitted together comes first */
	assert_int_equal(w->jobs.v[1].id, 2);
	assert_int_equal(w->jobs.v[1].walltime, 30);
	assert_int_equal(w->jobs.v[2].runtime, 100); /* to be killed at 50 */
	workload_destroy(w);
}

static void swf_without_any_estimates(void **state)
{
	(void)state;
	struct workload *w = good("; MaxNodes: 256\n1 5 -1 12 16\n2 6 -1 3 1\n", RULES_SC15);

	assert_int_equal(w->procs, 256);
	assert_int_equal(w->jobs.n, 2);
	assert_int_equal(w->jobs.v[0].walltime, 12);
	workload_destroy(w);
}

static void swf_limit_counts_jobs_kept(void **state)
{
	(void)state;
	struct err err;
	struct workload *w = read_text(trace, RULES_SC15, 1, &err);

	assert_int_equal(w->jobs.n, 1);
	assert_int_equal(w->jobs.v[0].id, 3);
	workload_destroy(w);
}

static void swf_repeated_numbers(void **state)
{
	(void)state;
	struct workload *w = good("4 5 -1 12 16\n4 6 -1 3 1\n-1 7 -1 3 1\n", RULES_SITE);

	for (int i = 0; i < 3; i++)
		assert_int_equal(w->jobs.v[i].id, i + 1);
	workload_destroy(w);
}

static void neither_trace_nor_workload(void **state)
{
	(void)state;
	refused("", "empty");
	refused("\n \n", "empty");
	refused("root:x:0:0\n", "line 1 is \"root:x:0:0\"");
	refused("1 2 3 4 5\n1 2 x\n1 2\n", "2 of 3 lines are not jobs, first line 2: \"1 2 x\"");
	refused("; only a header\n", "no jobs");
	refused("job_id,submit,procs\n1,2\n", "line 2");
}

static void csv_of_an_earlier_run(void **state)
{
	(void)state;
	struct workload *w = good("job_id,submit,procs,runtime,estimate,start,end\n"
				  "4,399,5,100,200,399,499\n",
				  RULES_SITE);

	assert_int_equal(w->jobs.n, 1);
	assert_int_equal(w->jobs.v[0].id, 4);
	assert_int_equal(w->jobs.v[0].procs, 5);
	assert_int_equal(w->jobs.v[0].runtime, 100);
	assert_int_equal(w->jobs.v[0].walltime, 200);
	workload_destroy(w);
}

/* A job that never ran has no run time to be read: it is left out, and counted. */
static void csv_of_jobs_that_never_ran(void **state)
{
	(void)state;
	struct simulated o[] = {
		{.id = 1, .submit = 5, .procs = 2, .runtime = 10, .estimate = 20, .start = 6, .end = 16},
		{.id = 2, .submit = 5, .procs = 2, .estimate = 20, .start = -1, .end = -1},
		{.id = 3, .submit = 7, .estimate = 20, .start = -1, .end = -1},
		{.id = 4, .submit = 9, .procs = 1, .runtime = 30, .estimate = 30, .start = 9, .end = 39},
	};
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	outcomes_csv(o, 4, f);
	fclose(f);
	struct workload *w = good(text, RULES_SITE);
	free(text);
	assert_int_equal(w->jobs.n, 2);
	assert_int_equal(w->jobs.v[0].id, 1);
	assert_int_equal(w->jobs.v[1].id, 4);
	assert_int_equal(w->dropped[DROP_NOT_RUN], 2);
	assert_string_equal(w->notes.v[0], "line 3: job 2 never ran: skipped");
	workload_destroy(w);

	refused("job_id,submit,procs,runtime,estimate,start,end\n2,5,2,0,20,9,9\n", "line 2");
	refused("job_id,submit,procs,runtime,estimate,start,end\n2,5,x,0,20,-1,-1\n", "line 2");
}

static void shaking_moves_deadlines_along(void **state)
{
	(void)state;
	struct workload *w = good("#shunt-workload 1\n"
				  "at=0 procs=1 run=5\n"
				  "at=10 procs=1 run=5\n"
				  "at=1000 procs=1 run=5 type=Q deadline=+100\n",
				  RULES_SITE);
	workload_shake(w, 300, 7);
	for (size_t i = 0; i < 3; i++) {
		assert_true(w->jobs.v[i].submit >= (i == 2 ? 700 : 0) && w->jobs.v[i].submit <= (i == 2 ? 1300 : 310));
		assert_true(i == 0 || w->jobs.v[i].submit >= w->jobs.v[i - 1].submit);
	}
	assert_int_equal(w->jobs.v[2].deadline, w->jobs.v[2].submit + 100);
	workload_destroy(w);
}

/* Two processors for 100 s and, through a request, four for 50 s, within 200 s. */
static void stretched(void **state)
{
	(void)state;
	struct workload *w = good("#shunt-workload 1\n"
				  "at=100 procs=2 run=100\n"
				  "at=200 procs=1 run=1 type=Q deadline=+50\n"
				  "at=300 req=nodes=2:ppn=2 run=50\n",
				  RULES_SITE);

	assert_float_equal(workload_load(w, 4), 401.0 / 800, 1e-9);
	workload_stretch(w, 0.5);
	assert_int_equal(w->jobs.v[0].submit, 100);
	assert_int_equal(w->jobs.v[1].submit, 150);
	assert_int_equal(w->jobs.v[1].deadline, 200);
	assert_int_equal(w->jobs.v[2].submit, 200);
	assert_float_equal(workload_load(w, 4), 401.0 / 400, 1e-9);
	workload_stretch(w, 0);
	assert_float_equal(workload_load(w, 4), 0, 1e-9); /* all at once */
	workload_destroy(w);
}

static void walltimes_rounded(void **state)
{
	(void)state;
	struct workload *w = good("#shunt-workload 1\n"
				  "at=0 procs=1 run=1\n"
				  "at=0 procs=1 run=3600\n"
				  "at=0 procs=1 run=5d\n",
				  RULES_SITE);

	for (uint64_t seed = 1; seed <= 100; seed++) {
		workload_round(w, seed);
		assert_int_equal(w->jobs.v[0].walltime, 300);
		for (size_t i = 1; i < 3; i++) {
			const struct wjob *j = &w->jobs.v[i];
			assert_true(j->walltime >= j->runtime && j->walltime <= 6 * j->runtime);
			assert_int_equal(j->walltime % (i == 1 ? 3600 : 86400), 0);
		}
	}
	workload_destroy(w);
}

#define HEAD "#shunt-workload 1\n"

static void workfile_words(void **state)
{
	(void)state;
	struct workload *w = good(HEAD "# a comment\n"
				       "machine nodes:4x8 # and another\n"
				       "at=1:00 user=ana req=nodes=2:ppn=4,walltime=2:00 run=90 type=E deadline=1h "
				       "powers=c_exec,sc_alloc id=9 # end\n"
				       " at=0 procs=3 walltime=10\n"
				       "at=60 req=nodes=2:ppn=4 run=7 type=Q deadline=+7\n",
				  RULES_SITE);
	const struct wjob *j = w->jobs.v;

	assert_string_equal(w->machine, "nodes:4x8");
	assert_int_equal(w->nodes, 4);
	assert_int_equal(w->procs, 32);
	assert_int_equal(w->jobs.n, 3);
	assert_int_equal(j[0].id, 2);
	assert_int_equal(j[0].procs, 3);
	assert_int_equal(j[0].text, -1);
	assert_int_equal(j[0].runtime, 10);
	assert_true(j[0].deadline == TIME_NEVER);
	assert_int_equal(j[1].id, 9);
	assert_int_equal(j[1].submit, 60);
	assert_int_equal(j[1].walltime, 120);
	assert_int_equal(j[1].runtime, 90);
	assert_int_equal(j[1].kind, KIND_EMERGENCY);
	assert_int_equal(j[1].powers, POWER_SC_ALLOC | POWER_C_EXEC);
	assert_int_equal(j[1].deadline, 3600);
	assert_int_equal(j[2].text, j[1].text);
	assert_int_equal(j[2].deadline, 67);
	assert_int_equal(j[2].walltime, 7);
	assert_int_equal(w->texts.n, 1);
	assert_int_equal(w->texts.v[0].chunk[0].count, 2);
	workload_destroy(w);
}

static void workfile_mistakes(void **state)
{
	(void)state;
	refused("#shunt-workload 2\n", "other versions");
	refused(HEAD "machine nodes:4x\n", "line 2: machine nodes:4x");
	refused(HEAD "machine flat:\n", "line 2: machine flat:");
	refused(HEAD "machine nodes\n", "line 2: machine nodes");
	refused(HEAD "machine nodes:100000000x2\n", "line 2: machine nodes:");
	refused(HEAD "machine nodes.txt\n", "line 2: machine nodes.txt: use nodes:NxC");
	refused(HEAD "machine flat:4\nmachine flat:4\n", "line 3: the machine is said twice");
	refused(HEAD "procs=1 run=1\n", "at= is missing");
	refused(HEAD "at=0 procs=1 run=1 priority=1024\n", "from -1024 to 1023");
	refused(HEAD "at=0 procs=1 run=1 groups=a,,b\n", "names with commas");
	refused(HEAD "at=0 procs=1 run=1 host=\n", "a name must follow");
	refused(HEAD "at=5 procs=1 run=1 type=Q deadline=5\n", "not after the submission");
	refused(HEAD "at=0 run=1\n", "either req=");
	refused(HEAD "at=0 procs=1 req=ncpus=1 run=1\n", "either req=");
	refused(HEAD "at=0 procs=1\n", "walltime= or run= is missing");
	refused(HEAD "at=0 procs=1 run=0\n", "run=0: must be at least a second");
	refused(HEAD "at=0 procs=0 run=1\n", "procs=0: must be a whole number");
	refused(HEAD "at=0 procs=1 run=25:61\n", "line 2: run=25:61: seconds must be 0-59");
	refused(HEAD "at=0 req=nodes=x: run=1\n", "line 2: req=nodes=x:");
	refused(HEAD "at=0 procs=1 run=1 run=1\n", "run= is said twice");
	refused(HEAD "deposit low\n", "line 2: deposit takes an account and hours");
	refused(HEAD "deposit low much\n", "line 2: ");
	refused(HEAD "deposit low 2 after=3\n", "after=3: unknown");
	refused(HEAD "deposit low 2 at=3 expires=3\n", "expires before it is made");
	refused(HEAD "at=0 procs=1 run=1 budget=2\n", "estimate= and budget= go together");
	refused(HEAD "at=0 procs=1 run=1 type=Q deadline=+9 estimate=1\n", "estimate= and budget= go together");
	refused(HEAD "at=0 procs=1 run=9 type=Q deadline=+9 estimate=9 walltime=8 budget=1\n", "leave walltime= out");
	refused(HEAD "at=0 procs=1 type=Q deadline=+9 estimate=9 budget=1 start=3\n", "may start at once");
	refused(HEAD "at=0 req=ncpus=1,budget=1 run=1\n", "words of the job");
	refused(HEAD "at=0 procs=1 run=1 colour=red\n",
		"colour=red: unknown; use at= user= req= procs= walltime= run= type= deadline= powers= id= queue= array= "
		"depend= start= hold= exit= priority= host= groups= partition= checkpoint= account= qos= reservation= "
		"estimate= budget=");
	refused(HEAD "at=0 procs=1 run=1 type=S\n", "type=S: must be C");
	refused(HEAD "at=0 procs=1 run=1 type=Q\n", "needs a deadline");
	refused(HEAD "at=9 procs=1 run=1 type=Q deadline=8\n", "not after the submission");
	refused(HEAD "at=0 procs=1 run=1 type=Q deadline=9 powers=q_exec\n", "type E only");
	refused(HEAD "at=0 procs=1 run=1 type=E deadline=9 powers=sudo\n", "must be a list of");
	refused(HEAD "at=0 procs=1 run=1 queue=\n", "a name must follow");
	refused(HEAD "at=0 procs=1 run=1 array=1-\n", "line 2: array=1-");
	refused(HEAD "at=0 procs=1 run=1 array=1-3 array=1\n", "array= is said twice");
	refused(HEAD "at=0 procs=1 run=1 depend=beforeok:1\n", "must be of after");
	refused(HEAD "at=0 procs=1 run=1 hold=maybe\n", "line 2: hold=maybe");
	refused(HEAD "at=0 procs=1 run=1 exit=256\n", "from 1 to 255");
	refused(HEAD "at=0 procs=1 run=1 partition=\n", "the name of a partition must follow");
	refused(HEAD "at=0 procs=1 run=1 type=priority\n", "needs a deadline");
	refused(HEAD "at=0 procs=1 run=1 type=nice\n", "a job of type nice needs a deadline");
	refused(HEAD "at=0 procs=1 run=1 type=interactive deadline=9\n", "an interactive job starts at once");
	refused(HEAD "machine nodes:2x4\nat=0 run=1\n", "either req=");
}

static void identical(const struct workload *a, const struct workload *b)
{
	assert_int_equal(a->jobs.n, b->jobs.n);
	assert_int_equal(a->users.n, b->users.n);
	assert_int_equal(a->texts.n, b->texts.n);
	assert_string_equal(a->machine, b->machine);
	for (size_t i = 0; i < a->users.n; i++)
		assert_string_equal(a->users.name[i], b->users.name[i]);
	for (size_t i = 0; i < a->texts.n; i++)
		assert_string_equal(a->requests.name[i], b->requests.name[i]);
	for (size_t i = 0; i < a->jobs.n; i++) {
		const struct wjob *x = &a->jobs.v[i], *y = &b->jobs.v[i];
		assert_true(x->id == y->id && x->submit == y->submit && x->runtime == y->runtime);
		assert_true(x->walltime == y->walltime && x->deadline == y->deadline && x->procs == y->procs);
		assert_true(x->text == y->text && x->user == y->user && x->kind == y->kind && x->powers == y->powers);
		assert_true(x->partition == y->partition && x->nice == y->nice && x->interactive == y->interactive);
	}
}

static struct workload *written_and_read(const struct workload *w)
{
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	workfile_write(w, f);
	fclose(f);
	struct workload *again = good(text, RULES_SITE);
	free(text);
	return again;
}

/* Credits, and jobs with a price. */
static void workfile_credits(void **state)
{
	(void)state;
	struct workload *w = good(HEAD "machine flat:4\ndeposit low 2:30 at=1:00 expires=2:00 # a grant\n"
				       "deposit top 1000\n"
				       "at=5 procs=2 type=Q deadline=+2h estimate=1:00:00 budget=3:00:07 account=low\n"
				       "at=6 procs=1 run=9 id=70\n",
				  RULES_SITE),
			*again = written_and_read(w);

	assert_int_equal(w->deposits.n, 2);
	assert_string_equal(w->deposits.v[0].account, "top");
	assert_true(w->deposits.v[0].amount == 3600000 && w->deposits.v[0].expires == TIME_NEVER);
	assert_int_equal(w->jobs.v[0].walltime, 3600);
	assert_int_equal(w->jobs.v[1].id, 70);
	identical(w, again);
	for (size_t i = 0; i < 2; i++) {
		const struct wdeposit *x = &w->deposits.v[i], *y = &again->deposits.v[i];
		assert_true(x->at == y->at && x->amount == y->amount && x->expires == y->expires);
		assert_string_equal(x->account, y->account);
	}
	assert_int_equal(again->terms.v[0].estimate, 3600);
	assert_int_equal(again->terms.v[0].budget, 10807);
	workload_destroy(w);
	workload_destroy(again);
}

/* Partitions and types of jobs. */
static void workfile_types(void **state)
{
	(void)state;
	struct workload *w = good(HEAD "machine parts:2,4\n"
				       "at=5 walltime=10 type=normal\n"
				       "at=5 partition=B walltime=10 type=priority deadline=+20\n"
				       "at=5 partition=any procs=2 walltime=10 type=interactive\n"
				       "at=5 partition=A req=nodes=2 walltime=10 type=nice deadline=1:00\n",
				  RULES_SITE),
			*again = written_and_read(w);
	const struct wjob *j = w->jobs.v;

	assert_int_equal(w->procs, 6);
	assert_int_equal(w->nodes, 6);
	assert_int_equal(j[0].procs, 0);
	assert_int_equal(j[0].partition, 0);
	assert_int_equal(j[1].kind, KIND_QOS);
	assert_int_equal(j[1].deadline, 25);
	assert_string_equal(names_get(&w->partitions, j[1].partition - 1), "B");
	assert_true(j[2].interactive && j[2].partition == PARTITION_ANY);
	assert_int_equal(j[2].kind, KIND_EMERGENCY);
	assert_int_equal(j[2].deadline, 15);
	assert_int_equal(j[3].kind, KIND_COMMON);
	assert_int_equal(j[3].nice, 60);
	assert_true(j[3].deadline == TIME_NEVER);
	identical(w, again);
	workload_destroy(w);
	workload_destroy(again);
}

/* Queues, arrays, dependencies, holds: an array's line is as many jobs, and comes back as one
 * line. */
static void workfile_terms(void **state)
{
	static const char text[] = "#shunt-workload 1\nmachine nodes:2x4\n"
				   "at=5 req=ncpus=1 run=9 array=2,4,6%2 queue=fast\n"
				   "at=7 req=ncpus=1 run=9 depend=afterok:1[],after:1[4] start=+10 hold=60 exit=3\n"
				   "at=8 req=ncpus=1 run=9 hold=forever priority=-7 host=pine groups=users,physics\n";
	struct workload *w = good(text, RULES_SITE), *again;
	char *first, *second;
	size_t n;
	FILE *f;

	(void)state;
	assert_int_equal(w->jobs.n, 5);
	assert_int_equal(w->terms.n, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(w->jobs.v[i].id, i + 1);
		assert_int_equal(w->jobs.v[i].element, i);
		assert_int_equal(w->jobs.v[i].terms, 1);
	}
	assert_string_equal(w->terms.v[0].queue, "fast");
	assert_int_equal(w->terms.v[0].array.limit, 2);
	assert_int_equal(w->jobs.v[3].id, 4);
	assert_string_equal(w->terms.v[1].depend, "afterok:1[],after:1[4]");
	assert_int_equal(w->terms.v[1].start, 17);
	assert_int_equal(w->terms.v[1].release, 60);
	assert_int_equal(w->terms.v[1].exit, 3);
	assert_true(w->terms.v[2].release == TIME_NEVER);
	assert_int_equal(w->terms.v[2].priority, -7);
	assert_string_equal(w->terms.v[2].host, "pine");
	assert_string_equal(w->terms.v[2].groups[1], "physics");
	assert_null(w->terms.v[2].groups[2]);
	assert_true(w->jobs.v[4].assumed); /* no walltime is said */
	f = open_memstream(&first, &n);
	workfile_write(w, f);
	fclose(f);
	again = good(first, RULES_SITE);
	f = open_memstream(&second, &n);
	workfile_write(again, f);
	fclose(f);
	assert_string_equal(strchr(first, 'm'), strchr(second, 'm'));
	assert_int_equal(again->jobs.n, 5);
	free(first);
	free(second);
	workload_destroy(again);
	workload_destroy(w);
}

static int64_t cpus(const struct workload *w, const struct wjob *j)
{
	const struct reqtext *r = &w->texts.v[j->text];
	int64_t sum = 0;

	for (int i = 0; i < r->nchunks; i++)
		sum += r->chunk[i].count * r->chunk[i].need.v[RES_CPU];
	return sum;
}

static void oscar_models(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++)
		for (char model = 'A'; model <= 'C'; model += 2) {
			struct oscar_model m = {model, 318, .mean_gap = 60, .qos = 64, .emergency = 16, .seed = seed};
			struct workload *w = generate_oscar(&m), *again = written_and_read(w);
			double work = 0, time = 0, wanted = model == 'A' ? 7 : 18;
			int qos = 0, emergency = 0, named = 0;
			for (size_t i = 0; i < w->jobs.n; i++) {
				const struct wjob *j = &w->jobs.v[i];
				work += (double)(j->runtime * cpus(w, j));
				time += (double)j->runtime;
				named += w->texts.v[j->text].chunk[0].node != NULL;
				qos += j->kind == KIND_QOS && j->deadline == j->submit + 3 * j->walltime;
				emergency += j->kind == KIND_EMERGENCY && !(j->powers & (POWER_E_ALLOC | POWER_E_EXEC));
			}
			assert_int_equal(w->jobs.n, 318);
			assert_true(w->users.n <= 8);
			assert_true(fabs(time / 318 - 3410) < 1);
			assert_true(fabs(work / time - wanted) < 0.071 * wanted);
			assert_int_equal(qos, 64);
			assert_int_equal(emergency, 16);
			assert_true(model == 'A' ? named > 0 : named == 0);
			identical(w, again);
			workload_destroy(w);
			workload_destroy(again);
		}
}

static void oscar_experiments_share_their_jobs(void **state)
{
	(void)state;
	struct oscar_model plain = {'A', .jobs = 318, .mean_gap = 60, .fixed_gap = 1, .seed = 3}, other = plain;
	struct workload *a, *b;

	other.fixed_gap = 0;
	other.qos = 64;
	a = generate_oscar(&plain);
	b = generate_oscar(&other);
	for (size_t i = 0; i < 318; i++) {
		assert_int_equal(a->jobs.v[i].submit, 60 * i);
		assert_int_equal(a->jobs.v[i].runtime, b->jobs.v[i].runtime);
		assert_int_equal(a->jobs.v[i].text, b->jobs.v[i].text);
	}
	workload_destroy(a);
	workload_destroy(b);
}

static void mixes_have_their_sizes(void **state)
{
	(void)state;
	struct oscar_model m = {'A', .jobs = 318, .mean_gap = 60, .seed = 3};

	for (m.mix = MIX_POWERS; m.mix < MIXES; m.mix++) {
		struct workload *w = generate_oscar(&m);
		double work = 0;
		for (size_t i = 0; i < w->texts.n; i++) {
			int64_t cpus = w->texts.v[i].chunk[0].need.v[RES_CPU];
			assert_int_equal(w->texts.v[i].nchunks, 1);
			assert_int_equal(w->texts.v[i].chunk[0].count, 1);
			assert_int_equal((cpus & (cpus - 1)) == 0, m.mix == MIX_POWERS);
		}
		workload_flatten(w);
		for (size_t i = 0; i < w->jobs.n; i++)
			work += (double)(w->jobs.v[i].procs * w->jobs.v[i].runtime) / 318;
		assert_true(work > 0.9 * generate_work(m.mix) && work < 1.1 * generate_work(m.mix));
		workload_destroy(w);
	}
}

static void oscar_of_one_job_ends(void **state)
{
	(void)state;
	struct oscar_model m = {.model = 'C', .jobs = 1, .mean_gap = 60, .qos = 5, .seed = 1};
	struct workload *w = generate_oscar(&m);

	assert_int_equal(w->jobs.n, 1);
	workload_destroy(w);
}

/* The shares are those of the paper; with 20,000 jobs they are met within two per cent. */
static void lublin_model(void **state)
{
	(void)state;
	struct workload *w = generate_lublin(256, 20000, 1), *again = written_and_read(w);
	int serial = 0, power = 0, night = 0, noon = 0;

	for (size_t i = 0; i < w->jobs.n; i++) {
		int32_t q = w->jobs.v[i].procs;
		int64_t hour = w->jobs.v[i].submit / 3600 % 24;
		assert_true(q >= 1 && q <= 256 && w->jobs.v[i].runtime <= 162755);
		serial += q == 1;
		power += (q & (q - 1)) == 0;
		night += hour == 4;
		noon += hour == 13;
	}
	assert_true(fabs(serial / 20000.0 - 0.2927) < 0.02);
	assert_true(fabs(power / 20000.0 - 0.9613) < 0.02);
	assert_true(noon > 3 * night);
	identical(w, again);
	workload_destroy(w);
	workload_destroy(again);
	w = generate_lublin(1, 10, 1);
	assert_int_equal(w->jobs.v[9].procs, 1);
	workload_destroy(w);
}

/* Jobs that ended, from our own accounting, by submission; one that was deleted before it started
 * and one that still runs are not among them. */
static void accounting_file(void **state)
{
	static const char text[] =
		"11/15/2026 07:51:40;Q;1.pine;queue=batch\n"
		"11/15/2026 07:52:50;E;2.pine;user=bo group=staff queue=batch ctime=1118 start=1120 "
		"exec_host=n1/0-3 Resource_List.ncpus=4 Resource_List.nodect=1 Resource_List.mem=1gb end=1170 Exit_status=0\n"
		"11/15/2026 07:52:59;E;1.pine;user=ana group=staff account=phys queue=batch ctime=1108 start=1110 "
		"exec_host=n1/0-3+n2/0-3 Resource_List.ncpus=8 Resource_List.nodect=2 Resource_List.nodes=2:ppn=4 "
		"Resource_List.walltime=00:10:00 end=1180 Exit_status=0 resources_used.walltime=00:01:05\n"
		"torn li\n"
		"11/15/2026 07:53:00;E;5.pine;user=\"a b\" queue=batch ctime=1118 start=1120 end=1170 Exit_status=0\n"
		"11/15/2026 07:53:01;Q;3.pine;queue=batch\n"
		"11/15/2026 07:53:02;D;3.pine;requestor=bo@pine\n"
		"11/15/2026 07:53:03;Q;4.pine;queue=batch\n"
		"11/15/2026 07:53:03;S;4.pine;user=bo\n";
	struct err err = {.text = ""};
	struct workload *w = read_text(text, RULES_SITE, 0, &err), *again;

	(void)state;
	if (!w)
		fail_msg("%s", err.text);
	assert_int_equal(w->jobs.n, 2);
	assert_int_equal(w->begin, 1108);
	assert_int_equal(w->dropped[DROP_SYNTAX], 2);
	assert_int_equal(w->dropped[DROP_NOT_RUN], 2);
	const struct wjob *a = &w->jobs.v[0], *b = &w->jobs.v[1];
	assert_true(a->id == 1 && a->submit == 0 && a->runtime == 65 && a->walltime == 600 && !a->assumed);
	assert_string_equal(names_get(&w->users, a->user), "ana");
	assert_string_equal(names_get(&w->requests, (uint32_t)a->text), "nodes=2:ppn=4");
	assert_string_equal(w->terms.v[a->terms - 1].account, "phys");
	assert_true(b->id == 2 && b->submit == 10 && b->runtime == 50 && b->walltime == 50 && b->assumed);
	assert_string_equal(names_get(&w->requests, (uint32_t)b->text), "nodes=1:ppn=4,mem=1gb");
	again = written_and_read(w);
	assert_true(again->jobs.n == 2 && again->jobs.v[1].submit == 10 && again->jobs.v[1].runtime == 50);
	workload_destroy(again);
	workload_flatten(w);
	assert_true(w->jobs.v[0].procs == 8 && w->jobs.v[1].procs == 4);
	workload_destroy(w);
	w = read_text(text, RULES_SITE, 1, &err);
	assert_int_equal(w->jobs.n, 1);
	workload_destroy(w);
}

static void example_file(void **state)
{
	(void)state;
	struct workload *w;
	struct err err;

	if (workload_read(SHUNT_ROOT "/examples/first.work", RULES_SITE, 0, &w, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(w->name, "first");
	assert_int_equal(w->procs, 32);
	assert_true(w->jobs.n > 50);
	workload_destroy(w);
}

/* Counts of the versions that are given: 4.2 of the SDSC logs lacks the first jobs (7 and 6) of
 * those published. */
static void traces_by_rules_sc15(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		size_t jobs;
	} traces[] = {
		{"CTC-SP2-1996-3.1-cln", 77199},	{"SDSC-SP2-1998-4.2-cln", 54006 - 7}, {"RICC-2010-2", 447782},
		{"SDSC-BLUE-2000-4.2-cln", 232542 - 6}, {"CEA-Curie-2011-2.1-cln", 295540},   {"lublin_256", 10000},
	};
	char name[100], path[500];

	for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
		struct workload *w;
		struct err err;
		snprintf(name, sizeof name, "traces/%s.swf.gz", traces[i].name);
		if (access(shared_path(path, sizeof path, name), R_OK) != 0) {
			skip_because("%s is not there: set SHUNT_SHARED to a folder with traces/", path);
		}
		if (workload_read(path, RULES_SC15, 0, &w, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(w->jobs.n, traces[i].jobs);
		assert_int_equal(w->dropped[DROP_SYNTAX], 0);
		workload_destroy(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(swf_header_and_rules),
		cmocka_unit_test(swf_without_any_estimates),
		cmocka_unit_test(swf_limit_counts_jobs_kept),
		cmocka_unit_test(swf_repeated_numbers),
		cmocka_unit_test(neither_trace_nor_workload),
		cmocka_unit_test(csv_of_an_earlier_run),
		cmocka_unit_test(csv_of_jobs_that_never_ran),
		cmocka_unit_test(shaking_moves_deadlines_along),
		cmocka_unit_test(workfile_words),
		cmocka_unit_test(workfile_mistakes),
		cmocka_unit_test(workfile_types),
		cmocka_unit_test(workfile_credits),
		cmocka_unit_test(workfile_terms),
		cmocka_unit_test(oscar_models),
		cmocka_unit_test(oscar_experiments_share_their_jobs),
		cmocka_unit_test(mixes_have_their_sizes),
		cmocka_unit_test(oscar_of_one_job_ends),
		cmocka_unit_test(stretched),
		cmocka_unit_test(walltimes_rounded),
		cmocka_unit_test(lublin_model),
		cmocka_unit_test(accounting_file),
		cmocka_unit_test(example_file),
		cmocka_unit_test(traces_by_rules_sc15),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
