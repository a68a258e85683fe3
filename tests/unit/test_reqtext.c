/*
 * test_reqtext.c - the text of requests: what it means, its canonical form, what is refused and
 * how.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/strbuf.h"
#include "core/reqtext.h"

static struct arena *arena;

static int setup(void **state)
{
	(void)state;
	arena = arena_create();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_destroy(arena);
	return 0;
}

static struct reqtext parsed(const char *text)
{
	struct reqtext r;
	struct err err = {.text = ""};

	reqtext_init(&r);
	if (reqtext_parse(&r, text, arena, &err) != 0)
		fail_msg("%s", err.text);
	return r;
}

static const char *formatted(const struct reqtext *r)
{
	struct strbuf b = {0};

	reqtext_format(r, &b);
	char *text = arena_strndup(arena, strbuf_text(&b), b.n);
	strbuf_fini(&b);
	return text;
}

static void test_canonical(void **state)
{
	static const struct {
		const char *text, *canonical;
	} form[] = {
		{"", ""},
		{"nodes=1:ppn=5+uff3:ppn=4:e", "nodes=1:ppn=5+uff3:ppn=4:e"},
		{"nodes=2", "nodes=2:ppn=1"},
		{"nodes=ppn=4", "nodes=1:ppn=4"},
		{"nodes=4n-a.b_c", "nodes=4n-a.b_c:ppn=1"},
		{"nodes=2:bigmem:ppn=4:gpus=1:10g:mem=2048mb", "nodes=2:ppn=4:mem=2gb:gpus=1:bigmem:10g"},
		{"nodes=2:lic=3:ppn=2:e:fast", "nodes=2:ppn=2:e:lic=3:fast"},
		{"select=2:ncpus=4:mem=8gb:ngpus=1", "select=2:ncpus=4:mem=8gb:ngpus=1"},
		{"select=ncpus=4", "select=1:ncpus=4"},
		{"select=3", "select=3:ncpus=1"},
		{"select=1:ncpus=2:host=n7+4:ncpus=1:arch=linux:big=True:fpga=2",
		 "select=1:host=n7:ncpus=2+4:ncpus=1:fpga=2:linux:big"},
		{"select=2:ncpus=8:mpiprocs=4:ompthreads=2:ngpus=0", "select=2:ncpus=8:mpiprocs=4:ompthreads=2"},
		{"select=1:ncpus=1:mem=14GB,walltime=3:45", "select=1:ncpus=1:mem=14gb,walltime=00:03:45"},
		{"select=1:e=true", "select=1:ncpus=1:e"},
		{"ncpus=4,mem=8gb", "nodes=1:ppn=4,mem=8gb"},
		{"ncpus=4,swap=2gb,DISK=2048mb", "nodes=1:ppn=4,disk=2gb,swap=2gb"},
		{"select=2:ncpus=1:swap=1gb:disk=1tb:mem=1gb", "select=2:ncpus=1:mem=1gb:disk=1tb:swap=1gb"},
		{"procs=16,pmem=1000kb", "nodes=16:ppn=1,pmem=1000kb"},
		{"nodes=1:ppn=2,mem=1gb,walltime=1d12h", "nodes=1:ppn=2,mem=1gb,walltime=36:00:00"},
		{"ngpus=2, matlab=3 ,walltime=90", "gpus=2,matlab=3,walltime=00:01:30"},
		{"vmem=4gb,pvmem=1gb,cput=10:00,pcput=5,file=1tb", ""},
		{"place=pack,select=4", "select=4:ncpus=1,place=pack"},
		{"place=scatter,select=4+2:ncpus=2", "select=4:ncpus=1+2:ncpus=2,place=scatter"},
		{"select=4,place=vscatter:shared", "select=4:ncpus=1,place=scatter"},
		{"select=4,place=free", "select=4:ncpus=1"},
		{"select=4,place=excl", "select=4:ncpus=1,place=excl"},
		{"place=free:EXCL,select=4", "select=4:ncpus=1,place=excl"},
		{"place=pack:excl,ncpus=4", "nodes=1:ppn=4,place=pack:excl"},
		{"select=2,place=scatter:exclhost", "select=2:ncpus=1,place=scatter:exclhost"},
		{"place=excl,place=shared,nodes=2", "nodes=2:ppn=1"},
		{"place=pack,ncpus=2,naccesspolicy=singlejob", "nodes=1:ppn=2,place=pack:excl"},
		{"place=pack:excl,naccesspolicy=shared,ncpus=2", "nodes=1:ppn=2,place=pack"},
		{"NODES=2:PPN=3,WallTime=5", "nodes=2:ppn=3,walltime=00:00:05"},
		{"nodes=1:ppn=2:ppn=3:lic=1:lic=2", "nodes=1:ppn=3:lic=2"},
		{"nodes=1000000:ppn=100", "nodes=1000000:ppn=100"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
		struct reqtext r = parsed(form[i].text);
		assert_string_equal(formatted(&r), form[i].canonical);
		r = parsed(form[i].canonical);
		assert_string_equal(formatted(&r), form[i].canonical);
	}
}

static void test_fields(void **state)
{
	struct reqtext r = parsed("nodes=2:ppn=4:mem=1gb:gpus=1:lic=5:ib+uff3:ppn=3:e,walltime=2:00:00,mem=6gb,"
				  "tok=9,pmem=1mb");

	(void)state;
	assert_int_equal(r.nchunks, 2);
	assert_int_equal(r.chunk[0].count, 2);
	assert_null(r.chunk[0].node);
	assert_int_equal(r.chunk[0].need.v[RES_CPU], 4);
	assert_int_equal(r.chunk[0].need.v[RES_MEM], 1 << 20);
	assert_int_equal(r.chunk[0].need.v[RES_GPU], 1);
	assert_false(r.chunk[0].exclusive);
	assert_int_equal(r.chunk[0].nnamed, 1);
	assert_string_equal(r.chunk[0].named[0].name, "lic");
	assert_int_equal(r.chunk[0].named[0].amount, 5);
	assert_int_equal(r.chunk[0].nfeatures, 1);
	assert_string_equal(r.chunk[0].feature[0], "ib");
	assert_string_equal(r.chunk[1].node, "uff3");
	assert_int_equal(r.chunk[1].count, 1);
	assert_int_equal(r.chunk[1].need.v[RES_CPU], 3);
	assert_true(r.chunk[1].exclusive);
	assert_int_equal(r.walltime, 7200);
	assert_int_equal(r.job.v[RES_MEM], 6 << 20);
	assert_int_equal(r.job.v[RES_CPU], 0);
	assert_int_equal(r.pmem, 1024);
	assert_int_equal(r.nnamed, 1);
	assert_string_equal(r.named[0].name, "tok");
	assert_int_equal(parsed("mem=1gb").walltime, -1);
	assert_int_equal(parsed("mem=1gb").nchunks, 0);
}

/* Options add up, as a script's and a command line's do, and the later one wins. */
static void test_several(void **state)
{
	struct reqtext r = parsed("nodes=2:ppn=4,walltime=10,lic=1,place=scatter");

	(void)state;
	assert_int_equal(reqtext_parse(&r, "walltime=20,lic=2", arena, NULL), 0);
	assert_string_equal(formatted(&r), "nodes=2:ppn=4:e,lic=2,place=scatter,walltime=00:00:20");
	assert_int_equal(reqtext_parse(&r, "select=3", arena, NULL), 0);
	assert_string_equal(formatted(&r), "select=3:ncpus=1,lic=2,place=scatter,walltime=00:00:20");
	assert_int_equal(reqtext_parse(&r, "place=free", arena, NULL), 0);
	assert_string_equal(formatted(&r), "select=3:ncpus=1,lic=2,walltime=00:00:20");
	assert_int_equal(reqtext_parse(&r, "ncpus=7", arena, NULL), 0);
	assert_string_equal(formatted(&r), "nodes=1:ppn=7,lic=2,walltime=00:00:20");

	r = parsed("nodes=2,place=scatter");
	assert_int_equal(reqtext_parse(&r, "place=free,nodes=2:e+1", arena, NULL), 0);
	assert_string_equal(formatted(&r), "nodes=2:ppn=1:e+1:ppn=1");
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{"nodes=2:ppn=x", "nodes=2:ppn=x: ppn must be a whole number from 1 to 1000000"},
		{"nodes=1:ppn=5+2:ppn=0", "nodes=2:ppn=0: ppn must be a whole number from 1 to 1000000"},
		{"nodes=1:ppn=1000001", "nodes=1:ppn=1000001: ppn must be a whole number from 1 to 1000000"},
		{"nodes=1:ppn=99999999999999999999999",
		 "nodes=1:ppn=99999999999999999999999: ppn must be a whole number from 1 to 1000000"},
		{"nodes=1:ppn=-1", "nodes=1:ppn=-1: ppn must be a whole number from 1 to 1000000"},
		{"nodes=1:ppn=", "nodes=1:ppn=: ppn must be a whole number from 1 to 1000000"},
		{"nodes=0", "nodes=0: the count must be a whole number from 1 to 1000000"},
		{"nodes=2:4", "nodes=2:4: a number alone says nothing here (did you mean ppn=4?)"},
		{"nodes=", "nodes=: it must begin with a count or a node's name, not \"\""},
		{"nodes=1+", "nodes=: it must begin with a count or a node's name, not \"\""},
		{"nodes=a*b", "nodes=a*b: it must begin with a count or a node's name, not \"a*b\""},
		{"nodes=1:", "nodes=1:: \"\" is not a feature (use letters, digits, '.', '-' and '_')"},
		{"nodes=n1:host=n2", "nodes=n1:host=n2: it names two nodes, n1 and n2"},
		{"nodes=1:mem=1.5gb",
		 "nodes=1:mem=1.5gb: memory must be a whole number with b, kb, mb, gb or tb (as in 8gb)"},
		{"nodes=1:lic=2x", "nodes=1:lic=2x: lic must be a whole number from 0 to 1000000000000"},
		{"nodes=1:=2", "nodes=1:=2: \"\" is not the name of a resource"},
		{"nodes=1:ib=false", "nodes=1:ib=false: ib=false: a job can request a feature, but not its absence"},
		{"select=n1", "select=n1: a chunk begins with a count (use host=NAME for a node)"},
		{"select=2:host=n1",
		 "select=2:host=n1: a count can't be combined with the node's name n1 (join more with +)"},
		{"select=1:arch=e", "select=1:arch=e: arch must be a whole number from 0 to 1000000000000"},
		{"walltime=25:61", "walltime=25:61: seconds must be 0-59 (use HH:MM:SS)"},
		{"walltime=0", "walltime=0: a job needs at least one second"},
		{"mem=", "mem=: memory must be a whole number with b, kb, mb, gb or tb (as in 8gb)"},
		{"place=exclusive",
		 "place=exclusive: place can be free, pack or scatter, and shared, excl or exclhost (as "
		 "in place=scatter:excl)"},
		{"naccesspolicy=singleuser",
		 "naccesspolicy=singleuser: it can be shared or singlejob (a job has its nodes to itself)"},
		{"place=excl:exclhost", "place=excl:exclhost: place can be only one of shared, excl and exclhost"},
		{"place=pack:scatter", "place=pack:scatter: place can't be pack and scatter at once"},
		{"nodes=2,ncpus=4", "nodes= and ncpus= can't stand together: both say how many CPUs"},
		{"nodes=4,ppn=2", "ppn=2: ppn belongs in nodes= (as in nodes=1:ppn=2)"},
		{"lic=many",
		 "lic=many: unknown resource 'lic'; request a feature of nodes behind their count (as in -l nodes=1:many)"},
		{"nodes", "\"nodes\": write name=value"},
		{"=4", "\"=4\": write name=value"},
		{"mem=1gb,", "\"\": write name=value"},
		{"nodes=1:ppn=2\n", "a request must be plain text, but character 14 is not"},
		{"nodes=1:\xc3\xa9", "a request must be plain text, but character 9 is not"},
		{"nodes=1000000+1", "more than 1000000 nodes or chunks in all"},
		{"nodes=1000000:ppn=1000000", "more than 100000000 CPUs in all"},
		{"nodes=1000:ppn=1:mpiprocs=2000", "more than 1000000 MPI processes (mpiprocs) in all"},
		{"select=1:ncpus=2:ompthreads=x",
		 "select=1:ncpus=2:ompthreads=x: ompthreads must be a whole number from 0 to 1000000"},
		{"nodes=2:mem=8000000tb", "more memory in all than there can be"},
		{"nodes=2:ppn=4,pmem=8000000tb", "pmem: more memory in all than there can be"},
		{"select=1:ncpus=1:walltime=60",
		 "select=1:ncpus=1:walltime=60: walltime is for the whole job: write it after a comma (as in -l nodes=1,walltime=60)"},
		{"select=1:budget=3",
		 "select=1:budget=3: budget is for the whole job: write it after a comma (as in -l "
		 "nodes=1,budget=3)"},
		{"nodes=1:disk=x",
		 "nodes=1:disk=x: it must be a whole number with b, kb, mb, gb or tb (as in disk=20gb)"},
		{"swap=1.5gb", "swap=1.5gb: it must be a whole number with b, kb, mb, gb or tb (as in swap=20gb)"},
		{"procs=0", "procs=0: procs must be a whole number from 1 to 1000000"},
		{"ncpus=x", "ncpus=x: ncpus must be a whole number from 1 to 1000000"},
		{"partition=a b", "partition=a b: it must be the name of a partition, or any"},
		{"qos=a/b", "qos=a/b: it must be the name of a QoS: up to 64 letters, digits, '_', '.' and '-'"},
		{"qos=", "qos=: it must be the name of a QoS: up to 64 letters, digits, '_', '.' and '-'"},
		{"advres=a b",
		 "advres=a b: it must be the name of a reservation: up to 64 letters, digits, '_', '.' and '-'"},
		{"advres=",
		 "advres=: it must be the name of a reservation: up to 64 letters, digits, '_', '.' and '-'"},
		{"deadline=", "deadline=: it must have 1 to 64 characters"},
		{"budget=00000000000000000000000000000000000000000000000000000000000000001",
		 "budget=00000000000000000000000000000000000000000000000000000000000000001: it must have 1 to 64 characters"},
		{"a/b=4", "a/b=4: \"a/b\" is not the name of a resource"},
		{"memory=4gb",
		 "memory=4gb: unknown resource 'memory'; did you mean mem? (known: walltime nodes select ncpus procs mem pmem disk swap gpus ngpus place partition qos advres estimate deadline budget)"},
		{"walltme=1:00",
		 "walltme=1:00: unknown resource 'walltme'; did you mean walltime? (known: walltime nodes select ncpus procs mem pmem disk swap gpus ngpus place partition qos advres estimate deadline budget)"},
		{"xyz=1:00",
		 "xyz=1:00: unknown resource 'xyz' (known: walltime nodes select ncpus procs mem pmem disk swap gpus ngpus place partition qos advres estimate deadline budget)"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct reqtext r = parsed("nodes=3:ppn=2,mem=1gb"), before = r;
		struct err err = {.text = ""};
		assert_int_equal(reqtext_parse(&r, bad[i].text, arena, &err), -EINVAL);
		assert_string_equal(err.text, bad[i].why);
		assert_memory_equal(&r, &before, sizeof r);
		assert_string_equal(formatted(&r), "nodes=3:ppn=2,mem=1gb");
	}
}

/* The outcome of `head` and then `n` times `before`, a number, `after`. */
static int repeated(const char *head, const char *before, const char *after, int n)
{
	struct strbuf b = {0};
	struct reqtext r;

	reqtext_init(&r);
	strbuf_puts(&b, head);
	for (int i = 0; i < n; i++)
		strbuf_printf(&b, "%s%d%s", before, i, after);
	int rc = reqtext_parse(&r, b.text, arena, NULL);
	strbuf_fini(&b);
	return rc;
}

static void test_bounds(void **state)
{
	static char zeros[REQTEXT_MAX + 2] = "mem=";
	struct reqtext r;

	(void)state;
	assert_int_equal(repeated("nodes=1", "+n", ":e", CHUNKS_MAX - 1), 0);
	assert_int_equal(repeated("nodes=1", "+n", ":e", CHUNKS_MAX), -EINVAL);
	assert_int_equal(repeated("nodes=1", ":f", "", WORDS_MAX), 0);
	assert_int_equal(repeated("nodes=1", ":f", "", WORDS_MAX + 1), -EINVAL);
	assert_int_equal(repeated("nodes=1", ":r", "=1", WORDS_MAX), 0);
	assert_int_equal(repeated("nodes=1", ":r", "=1", WORDS_MAX + 1), -EINVAL);
	assert_int_equal(repeated("mem=1gb", ",r", "=1", WORDS_MAX), 0);
	assert_int_equal(repeated("mem=1gb", ",r", "=1", WORDS_MAX + 1), -EINVAL);

	memset(zeros + 4, '0', REQTEXT_MAX - 4);
	reqtext_init(&r);
	assert_int_equal(reqtext_parse(&r, zeros, arena, NULL), 0);
	zeros[REQTEXT_MAX] = '0';
	assert_int_equal(reqtext_parse(&r, zeros, arena, NULL), -EINVAL);
}

static void test_memory(void **state)
{
	static const struct {
		const char *text;
		int64_t kib;
	} good[] = {
		{"0", 0},
		{"1", 1},
		{"1024", 1},
		{"1025", 2},
		{"4096b", 4},
		{"128w", 1},
		{"129W", 2},
		{"1kb", 1},
		{"1kw", 8},
		{"512mb", 524288},
		{"8gb", 8 << 20},
		{"8GB", 8 << 20},
		{"8G", 8 << 20},
		{"3k", 3},
		{"2M", 2048},
		{"2tb", INT64_C(2) << 30},
		{"1pb", INT64_C(1) << 40},
		{"9007199254740991kb", MEMORY_MAX},
	};
	static const char *const bad[] = {
		"",
		"gb",
		"-1gb",
		"1.5gb",
		"1 gb",
		"1xb",
		"1gbb",
		"1bw",
		"1wk",
		"9007199254740992kb",
		"9223372036854775807",
		"9223372036854775808",
		"8388608tb",
		"8192pb",
		"1024pw",
		"99999999999999999999999gb",
	};
	struct rng r;
	char buf[32];

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		int64_t kib = -1;
		assert_int_equal(memory_parse(good[i].text, &kib, NULL), 0);
		assert_int_equal(kib, good[i].kib);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		int64_t kib = -1;
		assert_int_equal(memory_parse(bad[i], &kib, NULL), -EINVAL);
		assert_int_equal(kib, -1);
	}
	assert_string_equal(memory_format(0, buf, sizeof buf), "0kb");
	assert_string_equal(memory_format(1023, buf, sizeof buf), "1023kb");
	assert_string_equal(memory_format(1536, buf, sizeof buf), "1536kb");
	assert_string_equal(memory_format(8 << 20, buf, sizeof buf), "8gb");
	assert_string_equal(memory_format(INT64_C(3) << 40, buf, sizeof buf), "3072tb");
	rng_seed(&r, 2);
	for (int i = 0; i < 10000; i++) {
		int shift = (int)rng_below(&r, 53);
		int64_t kib = rng_range(&r, 0, MEMORY_MAX) >> shift << rng_below(&r, (uint64_t)shift + 1), back;
		assert_int_equal(memory_parse(memory_format(kib, buf, sizeof buf), &back, NULL), 0);
		assert_int_equal(kib, back);
	}
}

/* Random requests written in random ways mean what was written. */
static void test_random(void **state)
{
	struct rng r;

	(void)state;
	rng_seed(&r, 9);
	for (int round = 0; round < 3000; round++) {
		struct strbuf b = {0};
		int n = (int)rng_range(&r, 1, 5);
		int64_t count[5], cpus[5], gpus[5], mem[5];
		bool select = rng_below(&r, 2), e[5];
		strbuf_puts(&b, select ? "select=" : "nodes=");
		for (int i = 0; i < n; i++) {
			count[i] = rng_range(&r, 1, 50);
			cpus[i] = rng_range(&r, 1, 64);
			gpus[i] = rng_range(&r, 0, 2);
			mem[i] = rng_range(&r, 0, 100);
			e[i] = rng_below(&r, 2);
			strbuf_printf(&b, "%s%lld:%s=%lld%s", i ? "+" : "", (long long)count[i],
				      select ? "ncpus" : "ppn", (long long)cpus[i], e[i] ? ":e" : "");
			strbuf_printf(&b, ":mem=%lldmb:%s=%lld", (long long)mem[i], select ? "ngpus" : "gpus",
				      (long long)gpus[i]);
		}
		struct reqtext q = parsed(b.text);
		q = parsed(formatted(&q));
		assert_int_equal(q.nchunks, n);
		for (int i = 0; i < n; i++) {
			assert_int_equal(q.chunk[i].count, count[i]);
			assert_int_equal(q.chunk[i].need.v[RES_CPU], cpus[i]);
			assert_int_equal(q.chunk[i].need.v[RES_GPU], gpus[i]);
			assert_int_equal(q.chunk[i].need.v[RES_MEM], mem[i] * 1024);
			assert_int_equal(q.chunk[i].exclusive, e[i]);
		}
		strbuf_fini(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_canonical, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fields, setup, teardown),
		cmocka_unit_test_setup_teardown(test_several, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bounds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_random, setup, teardown),
	};

	return cmocka_run_group_tests_name("reqtext", tests, NULL, NULL);
}
