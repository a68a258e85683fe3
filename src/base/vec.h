/*
 * vec.h - growable arrays of any type.
 *
 *	VEC(int) v = {0};
 *	vec_push(&v, 7);
 *	for (size_t i = 0; i < v.n; i++) use(v.v[i]);
 *	vec_free(&v);
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define VEC(T)                                                                                                         \
	struct {                                                                                                       \
		T *v;                                                                                                  \
		size_t n, cap;                                                                                         \
	}

/* Makes room for at least `want` elements in total. */
#define vec_reserve(vec, want)                                                                                         \
	do {                                                                                                           \
		size_t vec_want_ = (want);                                                                             \
		if ((vec)->cap < vec_want_) {                                                                          \
			size_t vec_cap_ = (vec)->cap ? (vec)->cap * 2 : 8;                                             \
			if (vec_cap_ < vec_want_)                                                                      \
				vec_cap_ = vec_want_;                                                                  \
			(vec)->v = mem_realloc((vec)->v, vec_cap_, sizeof *(vec)->v);                                  \
			(vec)->cap = vec_cap_;                                                                         \
		}                                                                                                      \
	} while (0)

#define vec_push(vec, ...)                                                                                             \
	do {                                                                                                           \
		vec_reserve(vec, (vec)->n + 1);                                                                        \
		(vec)->v[(vec)->n++] = (__VA_ARGS__);                                                                  \
	} while (0)

/* Insert before, or remove at, position `at`; both keep the order. */
#define vec_insert(vec, at, ...)                                                                                       \
	do {                                                                                                           \
		size_t vec_at_ = (at);                                                                                 \
		vec_reserve(vec, (vec)->n + 1);                                                                        \
		memmove((vec)->v + vec_at_ + 1, (vec)->v + vec_at_, ((vec)->n - vec_at_) * sizeof *(vec)->v);          \
		(vec)->v[vec_at_] = (__VA_ARGS__);                                                                     \
		(vec)->n++;                                                                                            \
	} while (0)

#define vec_remove(vec, at)                                                                                            \
	do {                                                                                                           \
		size_t vec_at_ = (at);                                                                                 \
		memmove((vec)->v + vec_at_, (vec)->v + vec_at_ + 1, ((vec)->n - vec_at_ - 1) * sizeof *(vec)->v);      \
		(vec)->n--;                                                                                            \
	} while (0)

/* Makes a copy with its own memory; `to` must be empty. */
#define vec_copy(to, from)                                                                                             \
	do {                                                                                                           \
		(to)->n = (to)->cap = (from)->n;                                                                       \
		(to)->v = (from)->n ? mem_alloc((from)->n * sizeof *(from)->v) : NULL;                                 \
		if ((from)->n)                                                                                         \
			memcpy((to)->v, (from)->v, (from)->n * sizeof *(from)->v);                                     \
	} while (0)

#define vec_clear(vec) ((void)((vec)->n = 0))

#define vec_free(vec)                                                                                                  \
	do {                                                                                                           \
		free((vec)->v);                                                                                        \
		(vec)->v = NULL;                                                                                       \
		(vec)->n = (vec)->cap = 0;                                                                             \
	} while (0)

#endif
