/*
 * test_base.c - src/base, each against a naive model where there is one.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/heap.h"
#include "base/hostlist.h"
#include "base/json.h"
#include "base/keysort.h"
#include "base/lines.h"
#include "base/map.h"
#include "base/names.h"
#include "base/phrase.h"
#include "base/program.h"
#include "base/rng.h"
#include "base/scratch.h"
#include "base/slab.h"
#include "base/strbuf.h"
#include "base/table.h"
#include "base/text.h"
#include "base/timetext.h"
#include "base/utf8.h"
#include "base/vec.h"

static void test_err(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(err_set(&err, -EINVAL, "%s must be %d", "ppn", 1), -EINVAL);
	assert_string_equal(err.text, "ppn must be 1");
	assert_int_equal(err_prefix(&err, -EIO, "nodes=%d", 2), -EIO);
	assert_string_equal(err.text, "nodes=2: ppn must be 1");
	err_set(&err, -1, "[%s]", err.text);
	assert_string_equal(err.text, "[nodes=2: ppn must be 1]");
	assert_int_equal(err_set(NULL, -EINVAL, "nobody listens"), -EINVAL);
	assert_int_equal(err_prefix(NULL, -EINVAL, "nobody listens"), -EINVAL);

	char longer[2000];
	memset(longer, 'x', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	err_set(&err, -1, "%s", longer);
	assert_int_equal(strlen(err.text), sizeof err.text - 1);
	err_prefix(&err, -1, "%s", longer);
	assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void assert_phrase(const char *form, const char *text, const char *expected)
{
	struct strbuf out = {0};
	struct json j;

	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	phrase_json(&j, form, text);
	json_close_object(&j);
	assert_string_equal(out.text, expected);
	strbuf_fini(&out);
}

static void test_phrase(void **state)
{
	struct strbuf out = {0};
	struct err err;
	struct json j;

	(void)state;
	assert_phrase("There is no queue %.64s.", "There is no queue a.b.",
		      "{\"template\":\"There is no queue {1}.\",\"values\":[\"a.b\"]}");
	assert_phrase("%s=%lld is %zu%% of it", "x=1 is 50% of it",
		      "{\"template\":\"{1}={2} is {3}% of it\",\"values\":[\"x\",\"1\",\"50\"]}");
	assert_phrase("the node is up", "the node is up", "{\"template\":\"the node is up\",\"values\":[]}");
	assert_phrase("%s is empty", "", "{}");
	assert_phrase("%s%s is empty", "ab is empty", "{}"); /* which is which? */
	assert_phrase("%s: %s", "a: b", "{}");		     /* no words of its own */
	assert_phrase("it is cut %s short", "it is cut at 500 by", "{}");
	assert_phrase("100%", "100%", "{}");
	assert_phrase(NULL, "x", "{}");

	err_code(&err, CODE_UNKNOWN_QUEUE, "unknown queue %s", "x: y");
	err_prefix(&err, -EINVAL, "job %d", 2);
	err_prefix(&err, -EINVAL, "line 7");
	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	err_json(&j, &err);
	json_close_object(&j);
	assert_string_equal(out.text,
			    "{\"code\":\"unknown_queue\",\"message\":\"line 7: job 2: unknown queue x: y\","
			    "\"where\":\"line 7: job 2\",\"template\":\"unknown queue {1}\",\"values\":[\"x: y\"]}");
	strbuf_fini(&out);
}

/* A code stays with its sentence until another sentence is set, and every code is a word that only it has. */
static void test_code(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(err_code(&err, CODE_REFUSED, "no room for %d", 7), -EDQUOT);
	assert_string_equal(err.text, "no room for 7");
	err_prefix(&err, -EDQUOT, "jobs[2]");
	assert_int_equal(err.code, CODE_REFUSED);
	err_set(&err, -EINVAL, "something else");
	assert_int_equal(err.code, CODE_NONE);
	assert_int_equal(err_code(NULL, CODE_FINISHED, "nobody listens"), -EALREADY);
	for (enum code i = CODE_BAD_REQUEST; i < CODES; i++) {
		assert_int_equal(code_find(code_row(i)->word), i);
		assert_in_range(code_row(i)->status, 400, 599);
		assert_true(code_row(i)->error > 0 && *code_row(i)->about);
	}
	assert_ptr_equal(code_row(CODE_NONE), code_row(CODE_BAD_REQUEST));
	assert_int_equal(code_find("no_such_word"), CODE_NONE);
}

static void test_arena(void **state)
{
	struct arena *a = arena_create();
	struct rng r;
	VEC(char *) got = {0};
	VEC(size_t) size = {0};

	(void)state;
	rng_seed(&r, 1);
	for (int i = 0; i < 2000; i++) {
		size_t n = rng_below(&r, i % 50 ? 300 : 40000);
		char *p = arena_alloc(a, n);
		assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(p[k], 0);
		memset(p, i & 0x7f, n);
		vec_push(&got, p);
		vec_push(&size, n);
	}
	for (size_t i = 0; i < got.n; i++)
		for (size_t k = 0; k < size.v[i]; k++)
			assert_int_equal(got.v[i][k], i & 0x7f);
	assert_string_equal(arena_strndup(a, "abcdef", 3), "abc");
	assert_string_equal(arena_strndup(a, "ab", 30), "ab");
	assert_string_equal(arena_printf(a, "%d-%s", 7, "x"), "7-x");
	vec_free(&got);
	vec_free(&size);
	arena_destroy(a);
	arena_destroy(NULL);
}

static void test_slab(void **state)
{
	static char zeros[3000];
	struct slab x = {0};
	char *p[2000];

	for (size_t i = 0; i < 2000; i++) {
		p[i] = slab_take(&x, 1 + i); /* from 1 byte to those that are malloc()'s */
		assert_int_equal((uintptr_t)p[i] % sizeof(void *), 0);
		assert_memory_equal(p[i], zeros, 1 + i);
		memset(p[i], (int)(i % 251) + 1, 1 + i);
	}
	for (size_t i = 0; i < 2000; i++) {
		assert_int_equal((unsigned char)p[i][0], i % 251 + 1); /* no other was written over it */
		assert_int_equal((unsigned char)p[i][i], i % 251 + 1);
	}
	slab_give(&x, p[99], 100);
	assert_ptr_equal(slab_take(&x, 97), p[99]); /* the same step */
	assert_memory_equal(p[99], zeros, 97);
	slab_give(&x, p[99], 97);
	for (size_t i = 0; i < 2000; i++)
		if (i != 99)
			slab_give(&x, p[i], 1 + i);
	slab_give(&x, NULL, 100);
	slab_fini(&x);
}

static void test_scratch(void **state)
{
	struct scratch x = {0};
	char *a, *b;

	(void)state;
	scratch_begin(&x, 1000 + SCRATCH_ALIGN);
	a = scratch_take(&x, 1000);
	b = scratch_take(&x, 1);
	assert_true(b >= a + 1000 && (uintptr_t)b % SCRATCH_ALIGN == 0);
	memset(a, 'x', 1000);
	scratch_begin(&x, 500);
	assert_ptr_equal(scratch_take(&x, 500), a); /* the same again */
	scratch_begin(&x, x.size + 1);
	memset(scratch_take(&x, x.size), 'x', x.size);
	scratch_fini(&x);
	assert_null(x.block);
}

static void test_vec(void **state)
{
	VEC(int) v = {0};

	(void)state;
	for (int i = 0; i < 100; i++)
		vec_push(&v, i);
	vec_insert(&v, 50, -1);
	assert_int_equal(v.v[50], -1);
	assert_int_equal(v.v[51], 50);
	vec_remove(&v, 50);
	vec_remove(&v, 99);
	vec_remove(&v, 0);
	assert_int_equal(v.n, 98);
	for (size_t i = 0; i < v.n; i++)
		assert_int_equal(v.v[i], i + 1);
	vec_free(&v);
}

/* Few keys, so that runs form, wrap around and are cut open again; key 0 among them. */
static void test_map_model(void **state)
{
	enum { KEYS = 3000 };
	static uint64_t model[KEYS];
	static bool in[KEYS];
	struct map m = {0};
	struct rng r;
	size_t n = 0;
	uint64_t value;

	(void)state;
	assert_false(map_get(&m, 0, &value));
	assert_false(map_remove(&m, 0));
	rng_seed(&r, 7);
	for (int step = 0; step < 400000; step++) {
		uint64_t k = rng_below(&r, step % 100000 < 50000 ? KEYS : KEYS / 10);
		uint64_t key = k % 2 ? k << 40 : k;
		switch (rng_below(&r, 4)) {
		case 0:
			n += !in[k];
			in[k] = true;
			model[k] = rng_next(&r);
			map_set(&m, key, model[k]);
			break;
		case 1:
			assert_int_equal(map_remove(&m, key), in[k]);
			n -= in[k];
			in[k] = false;
			break;
		case 2:
			assert_int_equal(map_get(&m, key, &value), in[k]);
			if (in[k])
				assert_true(value == model[k]);
			break;
		case 3:
			if (!in[k])
				model[k] = 0;
			n += !in[k];
			in[k] = true;
			*map_at(&m, key) += 3;
			model[k] += 3;
			break;
		}
		assert_int_equal(m.n, n);
	}
	for (uint64_t k = 0; k < KEYS; k++) {
		assert_int_equal(map_get(&m, k % 2 ? k << 40 : k, &value), in[k]);
		if (in[k])
			assert_true(value == model[k]);
	}
	map_fini(&m);
}

static void test_names(void **state)
{
	struct names s = {0};
	uint32_t id;
	char name[32];

	(void)state;
	assert_false(names_find(&s, "n0", &id));
	assert_null(names_get(&s, 0));
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 5000; i++) {
			snprintf(name, sizeof name, "n%d", i);
			assert_int_equal(names_add(&s, name), i);
		}
	assert_int_equal(names_add(&s, ""), 5000);
	assert_true(names_find(&s, "n4711", &id));
	assert_int_equal(id, 4711);
	assert_string_equal(names_get(&s, 4711), "n4711");
	assert_null(names_get(&s, 5001));
	names_fini(&s);
	assert_true(hash_bytes("abc", 3) != hash_bytes("abd", 3));
	assert_true(hash_bytes("\0", 1) != hash_bytes("\0\0", 2));
}

static void test_heap_model(void **state)
{
	struct heap h = {0};
	VEC(struct heap_item) model = {0};
	struct heap_item got;
	struct rng r;

	(void)state;
	assert_false(heap_pop(&h, &got));
	assert_false(heap_peek(&h, &got));
	rng_seed(&r, 3);
	for (uint64_t step = 0; step < 20000; step++) {
		if (rng_below(&r, 1000) < (step < 10000 ? 520 : 480)) {
			struct heap_item x = {rng_range(&r, -20, 20), step, rng_next(&r)};
			heap_push(&h, x.time, x.tie, x.value);
			vec_push(&model, x);
			continue;
		}
		size_t best = 0;
		for (size_t i = 1; i < model.n; i++)
			if (model.v[i].time < model.v[best].time ||
			    (model.v[i].time == model.v[best].time && model.v[i].tie < model.v[best].tie))
				best = i;
		assert_int_equal(heap_pop(&h, &got), model.n > 0);
		if (model.n) {
			assert_memory_equal(&got, &model.v[best], sizeof got);
			vec_remove(&model, best);
		}
		assert_int_equal(h.n, model.n);
	}
	heap_fini(&h);
	vec_free(&model);
}

/* The reference sequence: xoshiro256** from the state that splitmix64 makes of 0. */
static void test_rng_sequence(void **state)
{
	struct rng r, copy;

	(void)state;
	rng_seed(&r, 0);
	assert_true(r.s[0] == 0xe220a8397b1dcdaf && r.s[1] == 0x6e789e6aa1b965f4);
	r = (struct rng){{1, 2, 3, 4}};
	assert_true(rng_next(&r) == 11520);
	assert_true(rng_next(&r) == 0);
	assert_true(rng_next(&r) == 1509978240);
	assert_true(rng_next(&r) == UINT64_C(1215971899390074240));
	copy = r;
	assert_true(rng_normal(&r) == rng_normal(&copy));
}

/* No two pairs of a seed and a number share a sequence. */
static void test_rng_seeds(void **state)
{
	struct map seen = {0};
	uint64_t value;

	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++)
		for (uint64_t n = 1; n <= 200; n++) {
			assert_false(map_get(&seen, rng_seed_of(seed, n), &value));
			map_set(&seen, rng_seed_of(seed, n), 1);
		}
	map_fini(&seen);
}

static void test_rng_distributions(void **state)
{
	enum { N = 200000 };
	struct rng r;
	double unit = 0, normal = 0, square = 0, expo = 0, gam = 0, small = 0, geo = 0, ln = 0;
	int seen[7] = {0};

	(void)state;
	rng_seed(&r, 11);
	for (int i = 0; i < N; i++) {
		double u = rng_unit(&r), z = rng_normal(&r);
		assert_true(u >= 0 && u < 1);
		unit += u;
		normal += z;
		square += z * z;
		expo += rng_exponential(&r, 5);
		gam += rng_gamma(&r, 3, 2);
		small += rng_gamma(&r, 0.5, 2);
		ln += log(rng_lognormal(&r, 1, 0.5));
		int64_t g = rng_geometric(&r, 5);
		assert_true(g >= 1);
		geo += (double)g;
		int64_t x = rng_range(&r, -3, 3);
		assert_true(x >= -3 && x <= 3);
		seen[x + 3]++;
	}
	assert_float_equal(unit / N, 0.5, 0.01);
	assert_float_equal(normal / N, 0, 0.02);
	assert_float_equal(square / N, 1, 0.02);
	assert_float_equal(expo / N, 5, 0.1);
	assert_float_equal(gam / N, 6, 0.1);
	assert_float_equal(small / N, 1, 0.03);
	assert_float_equal(ln / N, 1, 0.01);
	assert_float_equal(geo / N, 5, 0.1);
	for (int i = 0; i < 7; i++)
		assert_in_range(seen[i], N / 7 - 1000, N / 7 + 1000);
	assert_int_equal(rng_range(&r, 5, 5), 5);
	rng_range(&r, INT64_MIN, INT64_MAX);
	assert_int_equal(rng_below(&r, 1), 0);
	assert_int_equal(rng_geometric(&r, 1), 1);
}

static void test_strbuf_int(void **state)
{
	static const int64_t numbers[] = {0, 9, 10, -1, -10, 1234567890123, INT64_MAX, INT64_MIN};

	(void)state;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		struct strbuf b = {0};
		char expected[32];
		snprintf(expected, sizeof expected, "%lld", (long long)numbers[i]);
		strbuf_int(&b, numbers[i]);
		assert_string_equal(strbuf_text(&b), expected);
		strbuf_fini(&b);
	}
}

static void test_strbuf(void **state)
{
	struct strbuf b = {0};
	struct strbuf model = {0};

	(void)state;
	assert_string_equal(strbuf_text(&b), "");
	strbuf_add(&b, NULL, 0);
	assert_string_equal(strbuf_text(&b), "");
	for (int i = 0; i < 500; i++) {
		char word[16];
		int n = snprintf(word, sizeof word, "%d,", i);
		strbuf_printf(&b, "%d,", i);
		strbuf_add(&model, word, (size_t)n);
	}
	assert_string_equal(b.text, model.text);
	assert_int_equal(b.n, strlen(b.text));
	strbuf_clear(&b);
	assert_string_equal(strbuf_text(&b), "");
	strbuf_printf(&b, "%5000d", 1);
	assert_int_equal(b.n, 5000);
	strbuf_fini(&b);
	strbuf_fini(&model);
}

/* ---- lines ---- */

static void expect_line(struct lines *l, const char *want, int64_t number)
{
	char *line;
	struct err err;

	assert_int_equal(lines_next(l, &line, &err), 1);
	assert_string_equal(line, want);
	assert_int_equal(lines_number(l), number);
}

static void expect_end(struct lines *l)
{
	char *line;

	assert_int_equal(lines_next(l, &line, NULL), 0);
	assert_int_equal(lines_next(l, &line, NULL), 0);
	lines_close(l);
}

static void test_lines_buffer(void **state)
{
	static const char text[] = "one\n\ntwo\r\nthree";

	(void)state;
	expect_end(lines_over(NULL, 0));
	struct lines *l = lines_over(text, sizeof text - 1);
	expect_line(l, "one", 1);
	expect_line(l, "", 2);
	expect_line(l, "two", 3);
	expect_line(l, "three", 4);
	expect_end(l);
	l = lines_over("\n", 1);
	expect_line(l, "", 1);
	expect_end(l);
	lines_close(NULL);
}

/* Lines around the length that is kept, and around the buffer, with an ordinary line behind. */
static void test_lines_long(void **state)
{
	static const size_t length[] = {65535, 65536, 65537, 131072, 262143, 262144, 262145, 1000000};

	(void)state;
	for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
		for (int ended = 0; ended < 2; ended++) {
			struct strbuf b = {0};
			char *line;
			size_t kept = length[i] < 65536 ? length[i] : 65536;
			strbuf_puts(&b, "first\n");
			for (size_t k = 0; k < length[i]; k++)
				strbuf_add(&b, "x", 1);
			if (ended)
				strbuf_puts(&b, "\nlast\n");
			struct lines *l = lines_over(b.text, b.n);
			expect_line(l, "first", 1);
			assert_int_equal(lines_next(l, &line, NULL), 1);
			assert_int_equal(strlen(line), kept);
			if (ended)
				expect_line(l, "last", 3);
			expect_end(l);
			strbuf_fini(&b);
		}
	}
}

static void write_lines(const char *path, const char *mode, int n)
{
	gzFile f = gzopen(path, mode);

	assert_non_null(f);
	for (int i = 0; i < n; i++)
		gzprintf(f, "%d some words of line %d\n", i, i * 7);
	assert_int_equal(gzclose(f), Z_OK);
}

static void test_lines_files(void **state)
{
	char path[] = "/tmp/test_base.XXXXXX";
	struct err err;
	struct lines *l = NULL;
	char *line;
	int fd = mkstemp(path), rc;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	for (int gz = 0; gz < 2; gz++) {
		write_lines(path, gz ? "wb" : "wT", 50000);
		assert_int_equal(lines_open(path, &l, &err), 0);
		for (int i = 0; i < 50000; i++) {
			char want[64];
			snprintf(want, sizeof want, "%d some words of line %d", i, i * 7);
			assert_int_equal(lines_next(l, &line, &err), 1);
			assert_string_equal(line, want);
		}
		expect_end(l);
	}

	/* The gzip file without its second half. */
	FILE *f = fopen(path, "r");
	fseek(f, 0, SEEK_END);
	long size = ftell(f);
	fclose(f);
	assert_int_equal(truncate(path, size / 2), 0);
	assert_int_equal(lines_open(path, &l, &err), 0);
	while ((rc = lines_next(l, &line, &err)) == 1)
		;
	assert_int_equal(rc, -EIO);
	assert_non_null(strstr(err.text, "the compressed file is cut short"));
	assert_non_null(strstr(err.text, path));
	lines_close(l);
	unlink(path);

	assert_int_equal(lines_open(path, &l, &err), -ENOENT);
	assert_non_null(strstr(err.text, "No such file"));
	assert_int_equal(lines_open("/tmp", &l, &err), 0);
	assert_int_equal(lines_next(l, &line, &err), -EISDIR);
	assert_string_equal(err.text, "/tmp: Is a directory");
	lines_close(l);
}

/* ---- durations and instants ---- */

static void test_duration_parse(void **state)
{
	static const struct {
		const char *text;
		int64_t seconds;
	} good[] = {
		{"0", 0},
		{"90", 90},
		{"1:30", 90},
		{"100:00", 6000},
		{"2:00:00", 7200},
		{"3:45", 225},
		{"01:02:03", 3723},
		{"99:59:59", 359999},
		{"1:00:00:00", 86400},
		{"2:23:59:59", 259199},
		{"2h", 7200},
		{"1d12h", 129600},
		{"5y", 157680000},
		{"1y2w", 32745600},
		{"45m", 2700},
		{"30s", 30},
		{"1d1h1m1s", 90061},
		{"90m", 5400},
		{"0000090", 90},
		{"3153600000", 3153600000},
		{"36500d", 3153600000},
	};
	static const struct {
		const char *text, *why;
	} bad[] = {
		{"25:61", "seconds must be 0-59 (use HH:MM:SS)"},
		{"1:60:00", "minutes must be 0-59 (use HH:MM:SS)"},
		{"1:24:00:00", "hours must be 0-23 (use D:HH:MM:SS)"},
		{"1:1:1:1:1", "too many fields (use D:HH:MM:SS at most)"},
		{"", "not a duration (use seconds, HH:MM:SS, D:HH:MM:SS or 1d12h)"},
		{":", "not a duration (use seconds, HH:MM:SS, D:HH:MM:SS or 1d12h)"},
		{"1:", "not a duration (use seconds, HH:MM:SS, D:HH:MM:SS or 1d12h)"},
		{":30", "not a duration (use seconds, HH:MM:SS, D:HH:MM:SS or 1d12h)"},
		{"-5", "not a duration (use seconds, HH:MM:SS, D:HH:MM:SS or 1d12h)"},
		{"h", "not a duration (use seconds, HH:MM:SS, D:HH:MM:SS or 1d12h)"},
		{"12h1d", "each number needs a unit, y, w, d, h, m or s in this order (as in 1d12h)"},
		{"1h30", "each number needs a unit, y, w, d, h, m or s in this order (as in 1d12h)"},
		{"1h1h", "each number needs a unit, y, w, d, h, m or s in this order (as in 1d12h)"},
		{"1:30h", "each number needs a unit, y, w, d, h, m or s in this order (as in 1d12h)"},
		{"3153600001", "too long (at most 100 years)"},
		{"99999999999999999999999999999d", "too long (at most 100 years)"},
		{"99999999999999999999999:00:00:00", "too long (at most 100 years)"},
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		int64_t s = -1;
		assert_int_equal(duration_parse(good[i].text, &s, &err), 0);
		assert_int_equal(s, good[i].seconds);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		int64_t s = -1;
		assert_int_equal(duration_parse(bad[i].text, &s, &err), -EINVAL);
		assert_string_equal(err.text, bad[i].why);
		assert_int_equal(s, -1);
	}
}

static void test_duration_format(void **state)
{
	char buf[64];
	struct rng r;

	(void)state;
	assert_string_equal(duration_format(0, buf, sizeof buf), "00:00:00");
	assert_string_equal(duration_format(359999, buf, sizeof buf), "99:59:59");
	assert_string_equal(duration_format(360000, buf, sizeof buf), "100:00:00");
	assert_string_equal(duration_format(-61, buf, sizeof buf), "-00:01:01");
	assert_string_equal(duration_format(INT64_MIN, buf, sizeof buf), "-2562047788015215:30:08");
	assert_string_equal(duration_human(0, buf, sizeof buf), "0s");
	assert_string_equal(duration_human(45, buf, sizeof buf), "45s");
	assert_string_equal(duration_human(60, buf, sizeof buf), "1m");
	assert_string_equal(duration_human(12300, buf, sizeof buf), "3h 25m");
	assert_string_equal(duration_human(86400 + 4 * 3600 + 59, buf, sizeof buf), "1d 4h");
	assert_string_equal(duration_human(86400 + 59 * 60, buf, sizeof buf), "1d");
	assert_string_equal(duration_human(-90, buf, sizeof buf), "-1m 30s");
	assert_string_equal(duration_human(12300, buf, 4), "3h ");
	rng_seed(&r, 5);
	for (int i = 0; i < 10000; i++) {
		int64_t s = rng_range(&r, 0, DURATION_MAX), back;
		assert_int_equal(duration_parse(duration_format(s, buf, sizeof buf), &back, NULL), 0);
		assert_int_equal(s, back);
	}
}

#define UTC_2331 1372894260 /* 2013-07-03T23:31Z */

static void test_instant(void **state)
{
	static const struct {
		const char *text;
		int64_t instant;
	} good[] = {
		{"3-07-2013 23:31", UTC_2331 + 3 * 3600},
		{"03-07-2013 23:31:05", UTC_2331 + 3 * 3600 + 5},
		{"2013-07-03T23:31", UTC_2331 + 3 * 3600},
		{"2013-07-03 23:31:00", UTC_2331 + 3 * 3600},
		{"2013-07-03T23:31Z", UTC_2331},
		{"2013-07-03T23:31:00+02:00", UTC_2331 - 2 * 3600},
		{"2013-07-03T23:31-0330", UTC_2331 + 3 * 3600 + 1800},
		{"2000-02-29T00:00Z", 951782400},
		{"1970-01-01T00:00Z", 0},
		{"+2h", 1000 + 7200},
		{"+90", 1090},
	};
	static const struct {
		const char *text, *why;
	} bad[] = {
		{"tomorrow", "not a date and time (use DD-MM-YYYY HH:MM, YYYY-MM-DDTHH:MM or +2h)"},
		{"", "not a date and time (use DD-MM-YYYY HH:MM, YYYY-MM-DDTHH:MM or +2h)"},
		{"3", "not a date and time (use DD-MM-YYYY HH:MM, YYYY-MM-DDTHH:MM or +2h)"},
		{"3-", "not a date and time (use DD-MM-YYYY HH:MM, YYYY-MM-DDTHH:MM or +2h)"},
		{"3-07-2013", "the time of day is missing or wrong (use HH:MM or HH:MM:SS)"},
		{"3-07-2013 23", "the time of day is missing or wrong (use HH:MM or HH:MM:SS)"},
		{"3-07-2013 23:31:", "the time of day is missing or wrong (use HH:MM or HH:MM:SS)"},
		{"3-07-2013 24:00", "the time of day must be 00:00:00-23:59:59"},
		{"3-13-2013 23:00", "the month must be 1-12 (use DD-MM-YYYY or YYYY-MM-DD)"},
		{"31-04-2013 23:00", "the day must be 1-30 in that month"},
		{"29-02-2100 23:00", "the day must be 1-28 in that month"},
		{"3-07-13 23:00", "the year must be 1970-9999"},
		{"3-07-2013 23:31 Z", "what follows the time must be Z or an offset like +02:00"},
		{"3-07-2013 23:31+99", "what follows the time must be Z or an offset like +02:00"},
		{"3-07-2013 23:31Z+02", "what follows the time must be Z or an offset like +02:00"},
		{"+25:61", "seconds must be 0-59 (use HH:MM:SS)"},
	};
	struct err err;
	char buf[64];
	int64_t t;

	(void)state;
	setenv("TZ", "BRT3", 1); /* three hours behind UTC, no summer time */
	tzset();
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_int_equal(instant_parse(good[i].text, 1000, &t, &err), 0);
		assert_int_equal(t, good[i].instant);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(instant_parse(bad[i].text, 1000, &t, &err), -EINVAL);
		assert_string_equal(err.text, bad[i].why);
	}
	assert_int_equal(instant_parse("+2h", INT64_MAX - 5, &t, &err), -EINVAL);
	assert_string_equal(instant_format(UTC_2331 + 3 * 3600, buf, sizeof buf), "2013-07-03 23:31:00");
	assert_int_equal(instant_parse(buf, 0, &t, &err), 0);
	assert_int_equal(t, UTC_2331 + 3 * 3600);
	assert_string_equal(instant_format(TIME_NEVER, buf, sizeof buf), "never");
}

/* ---- json ---- */

static void test_json(void **state)
{
	static const char *const want[] = {
		"{\"name\":\"a\\\"b\\\\c\\n\\t\\u0001é\\ufffd\",\"none\":null,"
		"\"list\":[-9223372036854775808,0.1,0.33333333333333331,null,true],\"empty\":{}}",
		"{\n  \"name\": \"a\\\"b\\\\c\\n\\t\\u0001é\\ufffd\",\n  \"none\": null,\n  \"list\": [\n"
		"    -9223372036854775808,\n    0.1,\n    0.33333333333333331,\n    null,\n    true\n  ],\n"
		"  \"empty\": {}\n}",
	};
	struct strbuf b = {0};
	static const struct {
		double value;
		const char *text;
	} doubles[] = {{0, "0"},	{-0.0, "-0"},	  {12, "12"},
		       {-12, "-12"},	{0.5, "0.5"},	  {999999999999999, "999999999999999"},
		       {1e15, "1e+15"}, {1e300, "1e+300"}};
	struct json j;

	(void)state;
	for (int pretty = 0; pretty < 2; pretty++) {
		strbuf_clear(&b);
		json_init(&j, &b, pretty);
		json_open_object(&j, NULL);
		json_text(&j, "name", "a\"b\\c\n\t\x01é\xff");
		json_text(&j, "none", NULL);
		json_open_array(&j, "list");
		json_int(&j, NULL, INT64_MIN);
		json_double(&j, NULL, 0.1);
		json_double(&j, NULL, 1.0 / 3);
		json_double(&j, NULL, NAN);
		json_bool(&j, NULL, true);
		json_close_array(&j);
		json_open_object(&j, "empty");
		json_close_object(&j);
		json_close_object(&j);
		assert_string_equal(b.text, want[pretty]);
	}
	strbuf_clear(&b);
	json_init(&j, &b, false);
	json_int(&j, NULL, 1);
	json_int(&j, NULL, 2);
	assert_string_equal(b.text, "1\n2");
	for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++) {
		strbuf_clear(&b);
		json_init(&j, &b, false);
		json_double(&j, NULL, doubles[i].value);
		assert_string_equal(b.text, doubles[i].text);
	}
	strbuf_fini(&b);
}

static void test_utf8(void **state)
{
	static const char *const broken[] = {"\xff",	 "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
					     "\xe2\x82", "\xc3",     "\x80"};
	int32_t c;

	(void)state;
	assert_int_equal(utf8_next("", &c), 0);
	assert_int_equal(utf8_next("€", &c), 3);
	assert_int_equal(c, 0x20ac);
	assert_int_equal(utf8_next("😀", &c), 4);
	assert_int_equal(utf8_columns(c), 2);
	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
		assert_int_equal(utf8_next(broken[i], &c), 1);
		assert_int_equal(c, -1);
	}
}

/* ---- table ---- */

static void expect_table(const struct table *t, int width, const char *want)
{
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	table_print(t, f, width);
	fclose(f);
	assert_string_equal(text, want);
	free(text);
}

/* A column marked '!' is cut last. */
static void test_table_ranks(void **state)
{
	static const char *const columns[] = {"id", "~name", "state", ">n", "!why"};
	struct table *t = table_create(columns, 5);

	(void)state;
	table_cell(t, "1");
	table_cell(t, "abcdefghijklmnopqrst");
	table_cell(t, "running, 10 of 20");
	table_cell(t, "1000");
	table_cell(t, "needs 8 CPUs, 2 are free");
	expect_table(t, 66,
		     "id  name         state                 n  why\n"
		     "1   abcdefghij…  running, 10 of 20  1000  needs 8 CPUs, 2 are free\n");
	expect_table(t, 54,
		     "id  name      state        n  why\n"
		     "1   abcdefg…  running…  1000  needs 8 CPUs, 2 are free\n");
	expect_table(t, 40,
		     "id  name     state       n  why\n"
		     "1   abcdef…  runnin…  1000  needs 8 CPU…\n");
	table_destroy(t);
}

/* More than is written at once; blanks at the end of a line are left out, also where the next line follows at once. */
static void test_table_long(void **state)
{
	static const char *const columns[] = {">n", "name", "empty"};
	struct table *t = table_create(columns, 3);
	struct strbuf want = {0};

	(void)state;
	strbuf_puts(&want, "   n  name    empty\n");
	for (int i = 0; i < 9000; i++) {
		table_cell(t, "%d", i);
		table_cell(t, "%s", i % 3 ? "abcdef" : i % 2 ? "" : "ä  ");
		table_cell(t, "%s", "");
		strbuf_printf(&want, "%4d%s\n", i, i % 3 ? "  abcdef" : i % 2 ? "" : "  ä");
	}
	expect_table(t, 0, want.text);
	strbuf_fini(&want);
	table_destroy(t);
}

static void test_table(void **state)
{
	static const char *const columns[] = {"id", "~name", ">cpus"};
	struct table *t = table_create(columns, 3);

	(void)state;
	expect_table(t, 0, "id  name  cpus\n");
	table_rule(t);
	table_cell(t, "%d", 1);
	table_cell(t, "héllo wörld 日本");
	table_cell(t, "%d", 12345);
	table_cell(t, "22");
	table_cell(t, "a\033\xff");
	table_cell(t, "7");
	table_rule(t);
	table_cell(t, "sum");
	expect_table(t, 200,
		     "id   name               cpus\n"
		     "---  ----------------  -----\n"
		     "1    héllo wörld 日本  12345\n"
		     "22   a\\u001b\\xff           7\n"
		     "---  ----------------  -----\n"
		     "sum\n");
	expect_table(t, 22,
		     "id   name         cpus\n"
		     "---  ----------  -----\n"
		     "1    héllo wör…  12345\n"
		     "22   a\\u001b\\x…      7\n"
		     "---  ----------  -----\n"
		     "sum\n");
	/* A wide character that would be cut in half gives way whole. */
	expect_table(t, 26,
		     "id   name             cpus\n"
		     "---  --------------  -----\n"
		     "1    héllo wörld …   12345\n"
		     "22   a\\u001b\\xff         7\n"
		     "---  --------------  -----\n"
		     "sum\n");
	expect_table(t, 1,
		     "id   na…  cp…\n"
		     "---  ---  ---\n"
		     "1    hé…  12…\n"
		     "22   a\\…    7\n"
		     "---  ---  ---\n"
		     "sum\n");
	table_destroy(t);
	table_destroy(NULL);
}

/* ---- host lists ---- */

static char *joined(const name_list *l)
{
	struct strbuf b = {0};

	for (size_t i = 0; i < l->n; i++)
		strbuf_printf(&b, "%s%s", i ? " " : "", l->v[i]);
	return b.text;
}

static void test_hostlist(void **state)
{
	static const struct {
		const char *text, *names, *canonical;
	} good[] = {
		{"gw", "gw", "gw"},
		{"n[1-3,07],gw", "n1 n2 n3 n07 gw", "n[1-3,07],gw"},
		{"n[08-11]", "n08 n09 n10 n11", "n[08-11]"},
		{"n[8-11]", "n8 n9 n10 n11", "n[8-11]"},
		{"n9,n10", "n9 n10", "n[9-10]"},
		{"n09,n010", "n09 n010", "n[09,010]"},
		{"n1.site, n2.site", "n1.site n2.site", "n[1-2].site"},
		{"r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2", "r1n[1-2],r2n[1-2]"},
		{"n3,n1,n2", "n3 n1 n2", "n[3,1-2]"},
		{"n1-ib,n2-ib,m3-ib", "n1-ib n2-ib m3-ib", "n[1-2]-ib,m3-ib"},
		{"10.0.0.1,10.0.0.2", "10.0.0.1 10.0.0.2", "10.0.0.1,10.0.0.2"},
		{"n12345678901234567890,n12345678901234567891", "n12345678901234567890 n12345678901234567891",
		 "n12345678901234567890,n12345678901234567891"},
	};
	static const char *const bad[] = {
		"",
		",",
		"a,",
		",a",
		"a,,b",
		"n[1-3",
		"n[]",
		"n[3-1]",
		"n[1-]",
		"n[a]",
		"n[1,]",
		"n[1]]",
		"a b",
		"a;b",
		"n[-1]",
		"n[1-100001]",
		"n[1-400][1-400]",
		"n[1234567890123456789]",
		"n[1-3]x[",
		"n[1[2]]",
	};
	struct err err;
	name_list l;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct strbuf b = {0};
		assert_int_equal(hostlist_parse(good[i].text, &l, &err), 0);
		char *names = joined(&l);
		assert_string_equal(names, good[i].names);
		hostlist_format(l.v, l.n, &b);
		assert_string_equal(b.text, good[i].canonical);
		free(names);
		name_list_free(&l);
		strbuf_fini(&b);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		name_list none = {0};
		assert_int_equal(hostlist_parse(bad[i], &none, &err), -EINVAL);
		assert_true(err.text[0] && none.n == 0 && !none.v);
	}
	assert_int_equal(hostlist_parse("n[1-100000]", &l, &err), 0);
	assert_int_equal(l.n, 100000);
	assert_string_equal(l.v[99999], "n100000");
	name_list_free(&l);
}

static void cleaned(const char *text, size_t n, enum text_shape shape, const char *expected)
{
	struct strbuf once = {0}, twice = {0};

	text_clean(&once, text, n, shape);
	assert_string_equal(strbuf_text(&once), expected);
	assert_int_equal(text_is_clean(text, n, shape), n == once.n && memcmp(text, strbuf_text(&once), n) == 0);
	text_clean(&twice, once.text, once.n, shape);
	assert_string_equal(strbuf_text(&twice), expected);
	strbuf_fini(&once);
	strbuf_fini(&twice);
}

static void test_text(void **state)
{
	cleaned("", 0, TEXT_LINE, "");
	cleaned("plain \xc3\xa9 \xf0\x9f\x98\x80 \\", 13, TEXT_LINE, "plain \xc3\xa9 \xf0\x9f\x98\x80");
	cleaned("a\nb\tc", 5, TEXT_LINE, "a\\nb\\tc");
	cleaned("a\nb\tc", 5, TEXT_LINES, "a\nb\tc");
	cleaned("\033[0m\r\0\177", 7, TEXT_LINES, "\\u001b[0m\\u000d\\u0000\\u007f");
	cleaned("\xc2\x9b\x9b\xc2\xa0", 5, TEXT_LINE, "\\u009b\\x9b\xc2\xa0");
	cleaned("\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa8", 9, TEXT_LINE, "\\u202e\\u2066\\u2028");
	cleaned("\xf3\xa0\x81\x81", 4, TEXT_LINE, "\\udb40\\udc41");
	cleaned("x\xe2\x80", 3, TEXT_LINE, "x\\xe2\\x80");
	cleaned("\xc0\x9b\xed\xa0\x80", 5, TEXT_LINE, "\\xc0\\x9b\\xed\\xa0\\x80");
	for (int i = 0; i < 20; i++) /* eight are looked at together */
		for (int c = 0; c < 256; c++) {
			char text[] = "0123456789abcdefghi~";
			text[i] = (char)c;
			assert_int_equal(text_is_clean(text, 20, TEXT_LINE), c >= 0x20 && c < 0x7f);
			assert_int_equal(text_is_clean(text, 20, TEXT_LINES),
					 (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t');
		}
	assert_int_equal(utf8_unfinished("a\xe2\x80", 3), 2);
	assert_int_equal(utf8_unfinished("a\xe2\x80\xae", 4), 0);
	assert_int_equal(utf8_unfinished("\x80\x80\x80\x80", 4), 0);
	assert_int_equal(utf8_unfinished("\xf0\x9f\x98", 3), 3);
	assert_int_equal(utf8_unfinished("", 0), 0);
}

static int keyed_compare(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->tie < y->tie ? -1 : x->tie > y->tie;
}

static void test_keysort(void **state)
{
	static const double odd[] = {0.0, -0.0, 1e300, -1e300, 5e-324, -5e-324, INFINITY, -INFINITY, 1, -1};
	struct keyed v[500], w[500];
	struct rng r;

	(void)state;
	rng_seed(&r, 1);
	keysort(NULL, 0);
	for (int round = 0; round < 200; round++) {
		size_t n = (size_t)rng_below(&r, 500);
		for (size_t i = 0; i < n; i++) {
			double key = round % 3 ? (double)rng_range(&r, -1000, 1000) / 7 : odd[rng_below(&r, 10)];
			v[i] = (struct keyed){key, (uint32_t)(i * 2654435761u), (uint32_t)i};
		}
		memcpy(w, v, n * sizeof *v);
		qsort(w, n, sizeof *w, keyed_compare);
		keysort(v, n);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(v[i].at, w[i].at);
	}
}

static void test_program(void **state)
{
	char self[PATH_MAX], other[PATH_MAX];
	struct err err;

	assert_int_equal(program_self(self, sizeof self, &err), 0);
	assert_string_equal(strrchr(self, '/'), "/test_base");
	assert_int_equal(program_beside("test_base", other, sizeof other, &err), 0);
	assert_string_equal(other, self);
	assert_int_equal(program_beside("shunt-nothing", other, sizeof other, &err), -ENOENT);
	assert_non_null(strstr(err.text, "the program shunt-nothing is missing"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_keysort),
		cmocka_unit_test(test_err),
		cmocka_unit_test(test_phrase),
		cmocka_unit_test(test_code),
		cmocka_unit_test(test_arena),
		cmocka_unit_test(test_scratch),
		cmocka_unit_test(test_slab),
		cmocka_unit_test(test_vec),
		cmocka_unit_test(test_map_model),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_heap_model),
		cmocka_unit_test(test_rng_sequence),
		cmocka_unit_test(test_rng_seeds),
		cmocka_unit_test(test_rng_distributions),
		cmocka_unit_test(test_strbuf),
		cmocka_unit_test(test_strbuf_int),
		cmocka_unit_test(test_lines_buffer),
		cmocka_unit_test(test_lines_long),
		cmocka_unit_test(test_lines_files),
		cmocka_unit_test(test_duration_parse),
		cmocka_unit_test(test_duration_format),
		cmocka_unit_test(test_instant),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_table_long),
		cmocka_unit_test(test_table_ranks),
		cmocka_unit_test(test_hostlist),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
