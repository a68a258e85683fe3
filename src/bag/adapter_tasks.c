/*
 * adapter_tasks.c - what is known of a bag's tasks: how long they took, and how long those had been there that were cut off.
 *
 * The first tasks that finish are the shortest, and those that were cut off say only that they take longer. So their mean is taken as Kaplan and Meier do: what is cut off counts
 * as long as it was there, and is then one of those that are longer.
 */
#include <math.h>

#include "bag/adapter_internal.h"

#define TAIL                                                                                                           \
	0.8 /* tasks that are longer than any stay take by so much more than the longest of these, if all are; less if fewer */

static int step_of(int64_t seconds)
{
	int step = seconds > 1 ? (int)(STEPS_OCTAVE * log2((double)seconds)) : 0;

	return step < STEPS ? step : STEPS - 1;
}

void adapter_task_done(struct adapter *a, int64_t seconds)
{
	int i = step_of(seconds);

	a->longest = most(a->longest, seconds);
	a->shortest = a->done ? least(a->shortest, seconds) : seconds;
	a->done++;
	a->step[i].done++;
	a->step[i].sum += (double)seconds;
}

void adapter_task_cut(struct adapter *a, int64_t seconds)
{
	a->longest_cut = most(a->longest_cut, seconds);
	a->cut++;
	a->step[step_of(seconds)].cut++;
}

double adapter_mean(const struct adapter *a, int64_t more, int64_t stay)
{
	double left = (double)(a->done + a->cut + more), longer = 1, mean = 0;
	int64_t longest = most(a->longest, most(a->longest_cut, more ? stay : 0));

	for (int i = 0; i < STEPS && left > 0; i++) {
		double done = (double)a->step[i].done, share = longer * done / left;

		if (done > 0)
			mean += share * a->step[i].sum / done;
		longer -= share;
		left -= done + (double)a->step[i].cut + (i == step_of(stay) ? (double)more : 0);
	}
	return mean + fmax(0, longer) * (1 + TAIL * longer) * (double)longest;
}
