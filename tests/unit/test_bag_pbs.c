/*
 * test_bag_pbs.c - what PBS's commands and a Shunt server's plan look like, and what else may be
 * there.
 */
#include <errno.h>
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

#include "bag/batch.h"
#include "bag/files.h"
#include "base/file.h"
#include "base/timetext.h"
#include "support/closed.h"
#include "support/words.h"

static const char queue[] = "n1\n     state = free\n     np = 8\n\n"
			    "n2\n     state = down,offline\n     np = 8\n\n"
			    "n3\n     state = job-exclusive\n     resources_available.ncpus = 4\n\n"
			    "Job Id: 7.pine\n"
			    "    Job_Name = other\n"
			    "    resources_used.walltime = 00:10:00\n"
			    "    job_state = R\n"
			    "    Resource_List.ncpus = 1\n"
			    "    Resource_List.nodes = 2:ppn=2+n3:ppn=6:big\n"
			    "    Resource_List.walltime = 01:00:00\n"
			    "    submit_args = -l nodes=2:ppn=2\n\t Job_Name = sb12-9\n"
			    "\n"
			    "Job Id: 8.pine\n"
			    "    Job_Name = sb12-3\n"
			    "    job_state = Q\n"
			    "    Resource_List.ncpus = 4\n"
			    "    Resource_List.walltime = 600\n"
			    "Job Id: 9.pine\n"
			    "    Job_Name = sb12-4\n"
			    "    job_state = H\n"
			    "Job Id: [x]\n"
			    "    Job_Name = sb12-5\n"
			    "    job_state = Q\n"
			    "Job Id: 10.pine\n"
			    "    Job_Name = sb12-6\n"
			    "    job_state = C\n";

static void lines(void **state)
{
	(void)state;
	static const struct batch_line wanted[] = {{.job = "8.pine", 3, REQUEST_PENDING},
						   {.job = "9.pine", 4, REQUEST_PENDING},
						   {.job = "10.pine", 6, REQUEST_ENDED}};
	struct batch_line l;
	size_t at = 0, n = 0;

	for (; dialect_pbs.next("sb12", queue, sizeof queue - 1, &at, &l); n++) {
		assert_true(n < 3);
		assert_string_equal(l.job, wanted[n].job);
		assert_int_equal(l.number, wanted[n].number);
		assert_int_equal(l.state, wanted[n].state);
	}
	assert_int_equal(n, 3);
	/* one whose start has failed too often; one that exited, by itself or because of the server */
	static const char text[] = "Job Id: 8.pine\n    Job_Name = sb12-3\n    job_state = H\n"
				   "Job Id: 9.pine\n    Job_Name = sb12-4\n    job_state = C\n    exit_status = 255\n"
				   "Job Id: 10.pine\n    Job_Name = sb12-5\n    job_state = C\n    exit_status = 256\n"
				   "Job Id: 11.pine\n    Job_Name = sb12-6\n    job_state = C\n    exit_status = -3\n"
				   "Job Id: 12.pine\n    Job_Name = sb12-7\n    job_state = Q\n    exit_status = 1\n"
				   "    comment = not yet\n";
	static const enum request_fate fates[] = {FATE_OPEN, FATE_ENDED, FATE_TAKEN, FATE_TAKEN, FATE_OPEN};
	for (at = n = 0; dialect_pbs.next("sb12", text, sizeof text - 1, &at, &l); n++) {
		assert_int_equal(l.fate, fates[n]);
		assert_string_equal(l.never, n == 0 ? "it is held" : "");
	}
	assert_int_equal(n, 5);
}

/* Every letter of qstat(1B); only what is known to have ended counts as ended. */
static void states(void **state)
{
	(void)state;
	static const char *const of[] = {
		[REQUEST_PENDING] = "QHWT", [REQUEST_RUNNING] = "RSBUEMZ", [REQUEST_ENDED] = "CFX"};

	for (size_t s = 0; s < sizeof of / sizeof *of; s++)
		for (const char *letter = of[s]; *letter; letter++) {
			struct batch_line l;
			char text[80];
			size_t at = 0;
			snprintf(text, sizeof text, "Job Id: 8.pine\n    Job_Name = sb12-3\n    job_state = %c\n",
				 *letter);
			assert_true(dialect_pbs.next("sb12", text, strlen(text), &at, &l));
			if (l.state != s)
				fail_msg("%c is %d, not %zu", *letter, l.state, s);
		}
}

/* OpenPBS: what `pbsnodes -a` and `qstat -f -t` print, shortened. */
static const char openpbs[] =
	"n1\n     Mom = n1.cluster.org\n     ntype = PBS\n     state = job-busy\n     pcpus = 16\n"
	"     resources_available.host = n1\n     resources_available.mem = 131072kb\n"
	"     resources_available.ncpus = 16\n     resources_assigned.ncpus = 16\n     sharing = default_shared\n\n"
	"n2\n     Mom = n2.cluster.org\n     state = free\n     pcpus = 16\n     resources_available.ncpus = 16\n\n"
	"n3\n     state = state-unknown,down\n     resources_available.ncpus = 16\n\n"
	"n4\n     state = maintenance\n     resources_available.ncpus = 16\n\n"
	"n5\n     state = Stale\n     resources_available.ncpus = 16\n\n"
	"Job Id: 101.pbs01\n    Job_Name = solve\n    Job_Owner = ann@login1\n"
	"    resources_used.cpupercent = 1599\n    resources_used.ncpus = 16\n    resources_used.walltime = 00:30:00\n"
	"    job_state = R\n    queue = workq\n    server = pbs01\n    exec_host = n1/0*16\n"
	"    exec_vnode = (n1:ncpus=16)\n    Resource_List.mpiprocs = 16\n    Resource_List.ncpus = 16\n"
	"    Resource_List.nodect = 1\n    Resource_List.place = pack\n"
	"    Resource_List.select = 1:ncpus=16:mpiprocs=16\n    Resource_List.walltime = 01:00:00\n"
	"    substate = 42\n    Variable_List = PBS_O_HOME=/home/ann,PBS_O_LANG=C,\n\tPBS_O_PATH=/usr/bin,job_state = Q\n"
	"    comment = Job run at Tue Nov 17 at 11:00 on (n1:ncpus=16)\n    eligible_time = 00:00:01\n\n"
	"Job Id: 102[].pbs01\n    Job_Name = many\n    job_state = B\n    Resource_List.ncpus = 2\n"
	"    Resource_List.walltime = 00:10:00\n    array = True\n    array_indices_submitted = 1-2\n\n"
	"Job Id: 102[1].pbs01\n    Job_Name = many\n    resources_used.walltime = 00:05:00\n    job_state = R\n"
	"    Resource_List.ncpus = 2\n    Resource_List.walltime = 00:10:00\n    array_id = 102[].pbs01\n\n"
	"Job Id: 102[2].pbs01\n    Job_Name = many\n    job_state = X\n    Resource_List.ncpus = 2\n\n"
	"Job Id: 103.pbs01\n    Job_Name = sb12-1\n    job_state = Q\n    Resource_List.ncpus = 32\n"
	"    Resource_List.nodect = 2\n    Resource_List.nodes = 2:ppn=16\n    Resource_List.select = 2:ncpus=16:mpiprocs=16\n"
	"    Resource_List.walltime = 00:20:00\n    estimated.exec_vnode = (n1:ncpus=16)+(n2:ncpus=16)\n"
	"    estimated.start_time = Fri Jan  2 00:00:00 1970\n    comment = Not Running: Insufficient amount of resource: ncpus\n\n"
	"Job Id: 104.pbs01\n    Job_Name = sb12-2\n    job_state = Q\n    Resource_List.ncpus = 64\n"
	"    comment = Can Never Run: Insufficient amount of resource: ncpus (R: 64 A: \n\t32 T: 32)\n\n"
	"Job Id: 105.pbs01\n    Job_Name = sb12-3\n    job_state = H\n    Hold_Types = s\n    Resource_List.ncpus = 1\n"
	"    comment = job held, too many failed attempts to run\n\n"
	"Job Id: 106.pbs01\n    Job_Name = sb12-4\n    job_state = F\n    Exit_status = 0\n    Resource_List.ncpus = 1\n\n"
	"Job Id: 107.pbs01\n    Job_Name = sb12-5\n    job_state = F\n    Exit_status = 271\n    Resource_List.ncpus = 1\n";

static void openpbs_lines(void **state)
{
	(void)state;
	static const struct batch_line wanted[] = {
		{"103.pbs01", 1, REQUEST_PENDING, .never = ""},
		{"104.pbs01", 2, REQUEST_PENDING,
		 .never = "Can Never Run: Insufficient amount of resource: ncpus (R: 64 A:"},
		{"105.pbs01", 3, REQUEST_PENDING, .never = "job held, too many failed attempts to run"},
		{"106.pbs01", 4, REQUEST_ENDED, FATE_ENDED, "exit status 0", ""},
		{"107.pbs01", 5, REQUEST_ENDED, FATE_TAKEN, "exit status 271", ""}};
	struct batch_line l;
	size_t at = 0, n = 0;

	for (; dialect_pbs.next("sb12", openpbs, sizeof openpbs - 1, &at, &l); n++) {
		assert_true(n < 5);
		assert_int_equal(l.fate, wanted[n].fate);
		assert_string_equal(l.outcome, wanted[n].outcome);
		assert_string_equal(l.job, wanted[n].job);
		assert_int_equal(l.number, wanted[n].number);
		assert_int_equal(l.state, wanted[n].state);
		assert_string_equal(l.never, wanted[n].never);
	}
	assert_int_equal(n, 5);
}

static void check_free(const struct rebuild *r, const struct adapter_span *wanted, size_t n)
{
	assert_int_equal(r->free.n, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(r->free.v[i].start, wanted[i].start);
		assert_int_equal(r->free.v[i].end, wanted[i].end);
		assert_int_equal(r->free.v[i].procs, wanted[i].procs);
	}
}

/* 12 processors in service, 10 of them held for 50 minutes more; our request of 4 comes after
 * that. */
static void plan(void **state)
{
	(void)state;
	static const struct adapter_span wanted[] = {{1000, 4000, 2}, {4000, 4600, 8}, {4600, TIME_NEVER, 12}};
	struct rebuild r = {0};

	assert_int_equal(dialect_pbs.plan_parse("sb12", queue, sizeof queue - 1, 1000, &r), 0);
	rebuild_plan(&r, 1000, 0);
	assert_int_equal(r.processors, 12);
	check_free(&r, wanted, 3);
	assert_int_equal(r.jobs.v[1].number, 3);
	assert_int_equal(r.jobs.v[1].start, 4000);
	rebuild_fini(&r);
}

static void fillers(void **state)
{
	(void)state;
#define PIECE(name, job)                                                                                               \
	"{\"name\": \"" name "\", \"job\": \"" job                                                                     \
	"\", \"node\": \"n1\", \"cpus\": 1, \"start\": 900, \"end\": 2000, \"state\": \"running\"}"
	static const char text[] = "{\"nodes\": [{\"name\": \"n1\", \"cpus\": 8, \"up\": true}], \"pieces\": [" PIECE(
		"sf0123abcd-2", "1") ", " PIECE("sf89abcdef-1", "2") ", " PIECE("sb89abcdef-1",
										"3") ", " PIECE("sfx", "4") "]}";
	static const bool ours[] = {true, true, false, false}, own[] = {true, false, false, false};
	struct rebuild r = {0};

	assert_int_equal(dialect_shunt.plan_parse("sf0123abcd", text, sizeof text - 1, 1000, &r), 0);
	assert_int_equal(r.places.pieces.n, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(r.places.pieces.v[i].ours, ours[i]);
		assert_int_equal(r.places.pieces.v[i].own, own[i]);
	}
	rebuild_fini(&r);
}

static void own_plan(void **state)
{
	(void)state;
	static const char text[] =
		"{\"nodes\": [{\"name\": \"n1\", \"cpus\": 4, \"up\": true}, {\"name\": \"n2\", \"cpus\": 4, \"up\": false}],"
		"\"pieces\": [{\"name\": \"a\", \"cpus\": 3, \"start\": 900, \"end\": 2000, \"state\": \"running\"},"
		"{\"name\": \"sb12-2\", \"cpus\": 4, \"start\": 2500, \"end\": 3000, \"state\": \"planned\"},"
		"{\"name\": \"b\", \"cpus\": -4, \"start\": 2500, \"end\": 3000}, 7]}";
	static const struct adapter_span wanted[] = {
		{1000, 2000, 1}, {2000, 2500, 4}, {2500, 3000, 0}, {3000, TIME_NEVER, 4}};
	struct rebuild r = {0};

	assert_int_equal(dialect_shunt.plan_parse("sb12", text, sizeof text - 1, 1000, &r), 0);
	rebuild_plan(&r, 1000, 0);
	assert_int_equal(r.queued, 1);
	assert_int_equal(r.jobs.v[1].number, 2);
	check_free(&r, wanted, 4);
	rebuild_clear(&r);
	assert_int_equal(r.places.nodes.n, 0);
	assert_int_equal(dialect_shunt.plan_parse("sb12", "no plan", 7, 1000, &r), -22);
	rebuild_fini(&r);
}

/* Two nodes of five are in service; elements of arrays count, and the expected start of a job is
 * its place. */
static void openpbs_plan(void **state)
{
	(void)state;
	static const struct rebuild_job wanted[] = {{.processors = 16, .end = 1000 + 1800, .running = true},
						    {.processors = 2, .end = 1000 + 300, .running = true},
						    {.processors = 32, .seconds = 1200, .start = 86400, .number = 1}};
	struct rebuild r = {0};

	setenv("TZ", "UTC", 1);
	tzset();
	assert_int_equal(dialect_pbs.plan_parse("sb12", openpbs, sizeof openpbs - 1, 1000, &r), 0);
	assert_int_equal(r.processors, 32);
	assert_int_equal(r.jobs.n, 4);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(r.jobs.v[i].processors, wanted[i].processors);
		assert_int_equal(r.jobs.v[i].running, wanted[i].running);
		assert_int_equal(r.jobs.v[i].start, wanted[i].start);
		assert_int_equal(r.jobs.v[i].number, wanted[i].number);
		if (wanted[i].running)
			assert_int_equal(r.jobs.v[i].end, wanted[i].end);
		else
			assert_int_equal(r.jobs.v[i].seconds, wanted[i].seconds);
	}
	rebuild_fini(&r);
}

/* Which nodes jobs are on, for fillers. */
static void own_places(void **state)
{
	(void)state;
	static const char text[] =
		"{\"now\": 1000, \"foreseen\": 995, \"nodes\": [{\"name\": \"n1\", \"cpus\": 4, \"up\": true, \"drain_at\": 9000},"
		"{\"name\": \"n2\", \"cpus\": 4, \"up\": false}, {\"name\": \"n3\", \"cpus\": 8, \"up\": true,"
		"\"reservations\": [{\"name\": \"r\", \"start\": 5000, \"end\": null}]}],"
		"\"pieces\": [{\"job\": \"7.a\", \"name\": \"x\", \"node\": \"n3\", \"cpus\": 3, \"start\": 900, \"end\": 2000, \"state\": \"running\"},"
		"{\"job\": \"8.a\", \"node\": \"n1\", \"cpus\": 2, \"start\": 2500, \"end\": 3000, \"state\": \"expected\"},"
		"{\"job\": \"8.a\", \"node\": \"n3\", \"cpus\": 2, \"start\": 2500, \"end\": 3000, \"state\": \"expected\"},"
		"{\"job\": \"9.a\", \"name\": \"sb12-2\", \"node\": \"n3\", \"cpus\": 1, \"start\": 950, \"end\": 3000, \"state\": \"running\"},"
		"{\"job\": \"6.a\", \"node\": \"n3\", \"cpus\": 1, \"start\": 950, \"end\": 1000, \"state\": \"running\"},"
		"{\"job\": \"5.a\", \"node\": \"n9\", \"cpus\": 1, \"start\": 950, \"end\": 3000, \"state\": \"running\"}]}";
	struct rebuild r = {0};
	const struct filler_plan *p = &r.places;

	assert_int_equal(dialect_shunt.plan_parse("sb12", text, sizeof text - 1, 1000, &r), 0);
	assert_int_equal(p->nodes.n, 3);
	assert_int_equal(p->nodes.v[0].until, 9000);
	assert_int_equal(p->nodes.v[1].cpus, 0);
	assert_int_equal(p->nodes.v[2].until, 5000);
	assert_int_equal(p->pieces.n, 4);
	assert_true(p->pieces.v[0].running && !p->pieces.v[0].ours);
	assert_true(!p->pieces.v[1].running && p->pieces.v[1].job == p->pieces.v[2].job && p->pieces.v[2].node == 2);
	assert_true(p->pieces.v[3].ours && p->pieces.v[3].running);
	assert_true(p->whole);
	rebuild_fini(&r);
}

/* Useless pieces are left out; a plan counts as whole only if it is recent, and if all that
 * waits is in it. */
static void own_pieces(void **state)
{
	static const char all[] =
		"{\"now\": 1000, \"foreseen\": %d, \"nodes\": [{\"name\": \"n1\", \"cpus\": 1000001, \"up\": true},"
		"{\"name\": \"n2\", \"cpus\": 4, \"up\": true, \"reservations\": [{\"start\": 7000}, {\"start\": 6000}]}],"
		"\"pieces\": [%s]}";
	static const struct {
		const char *piece;
		int jobs, pieces;
	} of[] = {
		{"\"cpus\": 1, \"start\": 900, \"end\": 1001, \"state\": \"running\"", 1, 1},
		{"\"cpus\": 1000000, \"start\": 900, \"end\": 1001, \"state\": \"running\"", 1, 1},
		{"\"cpus\": 0, \"start\": 900, \"end\": 1001, \"state\": \"running\"", 0, 0},
		{"\"cpus\": 1000001, \"start\": 900, \"end\": 1001, \"state\": \"running\"", 0, 0},
		{"\"cpus\": 1, \"start\": 900, \"end\": 1000, \"state\": \"running\"", 0, 0},
		{"\"cpus\": 1, \"start\": 2000, \"end\": 2000, \"state\": \"planned\"", 0, 0},
		{"\"cpus\": 1, \"start\": 1001, \"end\": 2000", 1, 0},
	};
	char piece[256], text[800];
	struct rebuild r = {0};

	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		snprintf(piece, sizeof piece, "{\"job\": \"1.a\", \"node\": \"n2\", %s}", of[i].piece);
		int n = snprintf(text, sizeof text, all, 1000, piece);
		assert_int_equal(dialect_shunt.plan_parse("sb12", text, (size_t)n, 1000, &r), 0);
		assert_int_equal(r.jobs.n, of[i].jobs);
		assert_int_equal(r.places.pieces.n, of[i].pieces);
		assert_true(!r.jobs.n || r.jobs.v[0].running == (r.jobs.v[0].start <= 1000));
		assert_int_equal(r.places.nodes.v[0].cpus, 0); /* so large is none */
		assert_int_equal(r.places.nodes.v[1].until, 6000);
		rebuild_clear(&r);
	}
	for (int foreseen = 988; foreseen <= 1002; foreseen++) {
		int n = snprintf(text, sizeof text, all, foreseen, "");
		assert_int_equal(dialect_shunt.plan_parse("sb12", text, (size_t)n, 1000, &r), 0);
		assert_int_equal(r.places.whole, foreseen > 990);
		rebuild_clear(&r);
	}
	for (int jobs = 499; jobs <= 500; jobs++) {
		struct strbuf long_text = {0};
		strbuf_puts(
			&long_text,
			"{\"now\": 1, \"foreseen\": 1, \"nodes\": [{\"name\": \"n1\", \"cpus\": 1, \"up\": true}], \"pieces\": [");
		for (int i = 0; i < 2 * jobs; i++) /* each has two pieces */
			strbuf_printf(
				&long_text,
				"%s{\"job\": \"%d.a\", \"node\": \"n1\", \"cpus\": 1, \"start\": 9, \"end\": 10, \"state\": \"expected\"}",
				i ? "," : "", i / 2);
		strbuf_puts(&long_text, "]}");
		assert_int_equal(dialect_shunt.plan_parse("sb12", long_text.text, long_text.n, 1, &r), 0);
		assert_int_equal(r.places.whole, jobs < 500); /* a server shows the starts of no more jobs */
		rebuild_clear(&r);
		strbuf_fini(&long_text);
	}
	assert_int_equal(dialect_shunt.plan_parse("sb12", "{}", 2, 1, &r), -EINVAL);
	assert_int_equal(dialect_shunt.plan_parse("sb12", "no JSON", 7, 1, &r), -EINVAL);
	rebuild_fini(&r);
}

/* The commands, with and without optional words; for a Shunt server, of this program. */
static void commands(void **state)
{
	struct batch_request r = {.name = "sb12", .id = 3, .chunks = 2, .each = 4, .seconds = 600, .output = "/o"};
	char self[4096], text[4300];
	name_list w = {0};

	(void)state;
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	assert_true(n > 0);
	self[n] = '\0';
	dialect_pbs.submit_words(&r, &w);
	words_check(&w, "qsub -N sb12-3 -r n -j oe -o /o -l nodes=2:ppn=4,walltime=600");
	r.gpus = 1;
	r.memory = 1000;
	r.last = true;
	dialect_pbs.submit_words(&r, &w);
	words_check(&w, "qsub -N sb12-3 -r n -j oe -o /o -l nodes=2:ppn=4:gpus=1,walltime=600 -l mem=8000kb");
	dialect_shunt.submit_words(&r, &w);
	snprintf(text, sizeof text,
		 "%s qsub -N sb12-3 -r n -j oe -o /o -l nodes=2:ppn=4:gpus=1,walltime=600 -l mem=8000kb -p -1024",
		 self);
	words_check(&w, text);
	r.last = false;
	r.gpus = r.memory = 0;
	dialect_shunt.submit_words(&r, &w);
	snprintf(text, sizeof text, "%s qsub -N sb12-3 -r n -j oe -o /o -l nodes=2:ppn=4,walltime=600", self);
	words_check(&w, text);
	dialect_pbs.shrink_words(&r, "12.pine", &w);
	words_check(&w, "qalter -l nodes=2:ppn=4 12.pine");
	dialect_shunt.shrink_words(&r, "12.pine", &w);
	snprintf(text, sizeof text, "%s qalter -l nodes=2:ppn=4 12.pine", self);
	words_check(&w, text);
	dialect_shunt.label_words("12.pine", "3 of 4", &w);
	snprintf(text, sizeof text, "%s qalter -W label=3 of 4 12.pine", self);
	words_check(&w, text);
	dialect_pbs.cancel_words(&w);
	words_check(&w, "qdel");
	dialect_shunt.cancel_words(&w);
	snprintf(text, sizeof text, "%s qdel", self);
	words_check(&w, text);
	dialect_pbs.list_words("sb12", &w);
	words_check(&w, "sh -c sh  sb12");
	dialect_shunt.list_words("sb12", &w);
	snprintf(text, sizeof text, "sh -c sh %s sb12", self);
	words_check(&w, text);
	dialect_pbs.clear_words("sb12", &w);
	words_check(&w, "sh -c sh  sb12");
	dialect_shunt.clear_words("sb12", &w);
	words_check(&w, text);
	dialect_shunt.plan_words(NULL, &w);
	snprintf(text, sizeof text, "%s plan --json", self);
	words_check(&w, text);
	vec_free(&w);
}

/* What qsub prints, names of jobs, and requests in all their forms. */
static void forms(void **state)
{
	static const struct {
		const char *key, *value;
		int64_t processors, seconds, start;
	} of[] = {
		{"Resource_List.nodes", "3", 3, INT32_MAX, 0},
		{"Resource_List.nodes", "n1+n2:ppn=4+2:big:ppn=3", 11, INT32_MAX, 0},
		{"Resource_List.nodes", "1234567:ppn=2", 2, INT32_MAX, 0},
		{"Resource_List.nodes", "2:ppn=0", 2, INT32_MAX, 0},
		{"Resource_List.procs", "7", 7, INT32_MAX, 0},
		{"Resource_List.ncpus", "123456789", 1, INT32_MAX, 0},
		{"Resource_List.walltime", "1:2:3", 1, 3723, 0},
		{"Resource_List.walltime", "90", 1, 90, 0},
		{"Resource_List.walltime", "01:30", 1, 90, 0},
		{"Resource_List.walltime", "999999999", 1, 999999999, 0},
		{"Resource_List.walltime", "99999999:00:00", 1, INT32_MAX, 0},
		{"Resource_List.walltime", "long", 1, INT32_MAX, 0},
		{"estimated.start_time", "Fri Jan  2 00:00:00 1970", 1, INT32_MAX, 86400},
		{"estimated.start_time", "Fri Jan  2 00:00:00 1970 or so", 1, INT32_MAX, 0},
		{"estimated.start_time", "soon", 1, INT32_MAX, 0},
	};
	char id[64], text[256];

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	assert_true(dialect_pbs.submit_parse("12.pine-1.my_site", id));
	assert_string_equal(id, "12.pine-1.my_site");
	static const char *const bad[] = {
		"",	    "12[1].pine",
		"qsub: 12", "12.pine is in",
		"12.p;ls",  "1234567890123456789012345678901234567890123456789012345678901234"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(dialect_pbs.submit_parse(bad[i], id));
	assert_true(dialect_pbs.submit_parse(bad[5] + 1, id));
	assert_int_equal(tag_number("sb1", "sb1-12"), 12);
	assert_int_equal(tag_number("sb1", "sb1-1234567"), 1234567);
	static const char *const other[] = {"sb1-12345678", "sb1-", "sb1", "sb12-1", "sb2-1", "sb1-1x"};
	for (size_t i = 0; i < sizeof other / sizeof *other; i++)
		assert_int_equal(tag_number("sb1", other[i]), 0);
	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		struct rebuild r = {0};
		snprintf(text, sizeof text,
			 "n1\n     np = 8\nJob Id: 12.pine\n    Job_Name = a\n    job_state = Q\n    %s = %s\n",
			 of[i].key, of[i].value);
		assert_int_equal(dialect_pbs.plan_parse("sb1", text, strlen(text), 1000, &r), 0);
		assert_int_equal(r.jobs.n, 1);
		if (r.jobs.v[0].processors != of[i].processors || r.jobs.v[0].seconds != of[i].seconds ||
		    r.jobs.v[0].start != of[i].start)
			fail_msg("%s: %d processors, %d s, from %d", of[i].value, (int)r.jobs.v[0].processors,
				 (int)r.jobs.v[0].seconds, (int)r.jobs.v[0].start);
		rebuild_fini(&r);
	}
}

/* ---- a Shunt server that this program stands in for ---- */

/* Notes how it was called, and answers as the server's commands would: one job, which runs. */
static int stand_in(int argc, char **argv)
{
	FILE *f = fopen(getenv("RECORD"), "a");

	fprintf(f, "%s %s:", getenv("SHUNT_HOME") ? getenv("SHUNT_HOME") : "-",
		getenv("SHUNT_CLUSTER") ? getenv("SHUNT_CLUSTER") : "-");
	for (int i = 1; i < argc; i++)
		fprintf(f, " %s", argv[i]);
	fprintf(f, "\n");
	fclose(f);
	if (strcmp(argv[1], "qsub") == 0)
		puts("12.east");
	else if (strcmp(argv[1], "qselect") == 0)
		puts("12.east");
	else if (strcmp(argv[1], "qstat") == 0)
		puts("Job Id: 12.east\n    Job_Name = sb12-1\n    job_state = R\n");
	return 0;
}

static int prepared(void *arg, const struct provider_request *r, int64_t nodes, const char *key, struct strbuf *command,
		    struct err *err)
{
	(void)arg, (void)r, (void)key, (void)err;
	strbuf_printf(command, "exec worker --nodes %d", (int)nodes);
	return 0;
}

static void over(void *arg, int id)
{
	*(int *)arg = id;
}

static void progress(void *arg, char ret[PROGRESS_SIZE])
{
	(void)arg;
	strcpy(ret, "3 of 4");
}

static void warn(void *arg, const char *text)
{
	(void)arg;
	fail_msg("%s", text);
}

static bool file_has(const char *path, const char *text)
{
	struct strbuf all = {0};
	bool found = file_read(path, 0, 1 << 20, &all) == 0 && strstr(strbuf_text(&all), text);

	strbuf_fini(&all);
	return found;
}

/* Lets the provider work until a file has a text. */
static void poll_until(struct provider *p, const char *path, const char *text)
{
	for (; !file_has(path, text); usleep(1000))
		p->kind->poll(p, 1000);
}

/* A request to a server of one's own, which is named by its directory, from its submission to its
 * cancellation: the commands, and what its script runs. */
static void requests_of_a_server(void **state)
{
	char dir[] = "/tmp/shunt-test-XXXXXX", record[64], script[64], wanted[512];
	int last = 0;
	struct provider_user user = {.dir = dir,
				     .tag = "shunt@/srv/own:sb12",
				     .pace = 600,
				     .prepare = prepared,
				     .over = over,
				     .progress = progress,
				     .warn = warn,
				     .arg = &last};
	struct provider_options options = {.words = "-q fast",
					   .requests = 1,
					   .processors = 8,
					   .seconds = 3600,
					   .shape = {.each = 4, .memory = 500}};
	struct err err;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(record, sizeof record, "%s/record", dir);
	snprintf(script, sizeof script, "%s/sb12-1.sh", dir);
	setenv("RECORD", record, 1);
	setenv("SHUNT_CLUSTER", "other", 1);
	struct provider *p = provider_create("shunt", &user, &options, &err);
	assert_int_equal(p->kind->request(p, 8, 60, &err), 1);
	poll_until(p, record, "qsub");
	snprintf(wanted, sizeof wanted,
		 "/srv/own -: qsub -N sb12-1 -r n -j oe -o %.*sout -l nodes=2:ppn=4,walltime=60 "
		 "-l mem=4000kb -q fast %s\n",
		 (int)strlen(script) - 2, script, script);
	assert_true(file_has(record, wanted));
	assert_true(file_has(script, "\nexec worker --nodes 2\n"));
	poll_until(p, record, "/srv/own -: qalter -W label=3 of 4 12.east\n");
	assert_true(file_has(record, "/srv/own -: qstat -f 12.east\n"));
	p->kind->cancel(p, 1);
	assert_int_equal(last, 1);
	poll_until(p, record, "/srv/own -: qdel 12.east\n");
	p->kind->destroy(p);
	files_remove(dir);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return stand_in(argc, argv);

	const struct CMUnitTest tests[] = {cmocka_unit_test(lines),
					   cmocka_unit_test(states),
					   cmocka_unit_test(openpbs_lines),
					   cmocka_unit_test(openpbs_plan),
					   cmocka_unit_test(plan),
					   cmocka_unit_test(fillers),
					   cmocka_unit_test(commands),
					   cmocka_unit_test(forms),
					   cmocka_unit_test(own_plan),
					   cmocka_unit_test(own_places),
					   cmocka_unit_test(own_pieces),
					   cmocka_unit_test(requests_of_a_server),
					   CLOSED_TEST};

	return cmocka_run_group_tests(tests, closed_begin, NULL);
}
