/*
 * pool_waiting.c - see pool_waiting.h.
 */
#include "station/pool_waiting.h"

#include <stdbool.h>

static bool is_before(const struct waiting *a, const struct waiting *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->job != b->job)
		return a->job < b->job;
	return a->path != b->path ? a->path > b->path : a->number < b->number;
}

/* Finds, on each level, the links of the last element before `w`. */
static void links_find(struct waiting_list *l, const struct waiting *w, struct waiting **ret[WAITING_LEVELS])
{
	struct waiting **links = l->first;

	for (int i = WAITING_LEVELS - 1; i >= 0; i--) {
		while (links[i] && is_before(links[i], w))
			links = links[i]->after;
		ret[i] = links;
	}
}

/* Returns the highest level of an element: i or more with a probability of 4^-i. */
static int level_of(uint64_t number)
{
	uint64_t bits = number * UINT64_C(0x9e3779b97f4a7c15);

	return __builtin_ctzll(bits >> 20 | UINT64_C(1) << 2 * (WAITING_LEVELS - 1)) / 2;
}

void waiting_add(struct waiting_list *l, struct waiting *w)
{
	struct waiting **links[WAITING_LEVELS];

	w->number = ++l->numbers;
	links_find(l, w, links);
	for (int i = 0, top = level_of(w->number); i <= top; i++) {
		w->after[i] = links[i][i];
		links[i][i] = w;
	}
	l->n++;
}

void waiting_remove(struct waiting_list *l, struct waiting *w)
{
	struct waiting **links[WAITING_LEVELS];

	links_find(l, w, links);
	for (int i = 0; i < WAITING_LEVELS && links[i][i] == w; i++)
		links[i][i] = w->after[i];
	l->n--;
}
