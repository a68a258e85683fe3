/*
 * test_containers.c - memory, containers, sorting and random numbers of src/base, each against a
 * naive model where there is one.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/heap.h"
#include "base/keysort.h"
#include "base/map.h"
#include "base/names.h"
#include "base/rng.h"
#include "base/rows.h"
#include "base/scratch.h"
#include "base/slab.h"
#include "base/vec.h"

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

/* Rows are dropped in any order; a page goes with its last row, and what follows it goes too. */
static void test_rows(void **state)
{
	enum { N = 20 * ROWS_PAGE + 7 };
	struct rows r = {0}, follower = {0}, late = {0}, copy = {0};
	struct scratch scratch = {0};
	struct rng random;
	bool dropped[N] = {false};
	uint32_t left = 0, seen = 0;

	(void)state;
	rng_seed(&random, 3);
	for (uint32_t i = 0; i < N; i++)
		*(uint64_t *)rows_add(&r, sizeof(uint64_t)) = i + 1;
	rows_reach(&follower, N - ROWS_PAGE, sizeof(uint64_t), NULL);
	for (uint32_t k = 0; k < 6 * N; k++) {
		/* the first pages more often, so that some become empty and others do not */
		uint32_t i = (uint32_t)rng_below(&random, 1 + rng_below(&random, N));
		if (dropped[i])
			continue;
		dropped[i] = true;
		if (rows_drop(&r, i))
			rows_release(&r, i);
	}
	for (uint32_t page = 0; page < 20; page++) {
		bool any = false;
		for (uint32_t i = 0; i < ROWS_PAGE; i++)
			any |= !dropped[page * ROWS_PAGE + i];
		left += any;
		assert_int_equal(rows_gone(&r, page * ROWS_PAGE), !any);
		for (uint32_t i = page * ROWS_PAGE; i < (page + 1) * ROWS_PAGE; i++)
			assert_int_equal(*(uint64_t *)rows_at(&r, i, sizeof(uint64_t)), any ? i + 1 : 0);
	}
	assert_true(left > 3 && left < 17);
	assert_int_equal(rows_left(&r), left * ROWS_PAGE + 7);
	ROWS_EACH(&r, i) {
		assert_false(rows_gone(&r, i));
		seen++;
	}
	assert_int_equal(seen, rows_left(&r));
	rows_follow(&follower, &r);
	rows_reach(&late, N, sizeof(uint64_t), &r);
	scratch_begin(&scratch, rows_bytes(&r, sizeof(uint64_t)));
	rows_copy(&copy, &r, sizeof(uint64_t), &scratch);
	for (uint32_t i = 0; i < N; i++) {
		assert_int_equal(rows_gone(&late, i), rows_gone(&r, i));
		assert_int_equal(i < follower.n && rows_gone(&follower, i), i < follower.n && rows_gone(&r, i));
		assert_int_equal(*(uint64_t *)rows_at(&copy, i, sizeof(uint64_t)),
				 *(uint64_t *)rows_at(&r, i, sizeof(uint64_t)));
	}
	assert_int_equal(*(uint64_t *)rows_add(&copy, sizeof(uint64_t)), 0);
	rows_free(&r);
	rows_free(&follower);
	rows_free(&late);
	rows_free(&copy);
	scratch_fini(&scratch);
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
	keyed_sort(NULL, 0);
	for (int round = 0; round < 200; round++) {
		size_t n = (size_t)rng_below(&r, 500);
		for (size_t i = 0; i < n; i++) {
			double key = round % 3 ? (double)rng_range(&r, -1000, 1000) / 7 : odd[rng_below(&r, 10)];
			v[i] = (struct keyed){key, (uint32_t)(i * 2654435761u), (uint32_t)i};
		}
		memcpy(w, v, n * sizeof *v);
		qsort(w, n, sizeof *w, keyed_compare);
		keyed_sort(v, n);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(v[i].at, w[i].at);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keysort),	   cmocka_unit_test(test_arena),
		cmocka_unit_test(test_scratch),	   cmocka_unit_test(test_slab),
		cmocka_unit_test(test_rows),	   cmocka_unit_test(test_vec),
		cmocka_unit_test(test_map_model),  cmocka_unit_test(test_names),
		cmocka_unit_test(test_heap_model), cmocka_unit_test(test_rng_sequence),
		cmocka_unit_test(test_rng_seeds),  cmocka_unit_test(test_rng_distributions),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
