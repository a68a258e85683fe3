/*
 * adapter_tasks.c - statistics of a bag's tasks: how long they took, or had run when they were cut
 * off.
 *
 * The first tasks to finish are the shortest, and a task that was cut off only shows that it takes
 * longer. So the mean is estimated as by Kaplan and Meier: a task that was cut off counts up to
 * that time, and then as one of the longer ones.
 */
#include <math.h>

#include "bag/adapter_internal.h"

/* how much tasks beyond the longest known stay exceed it, if all do; less if fewer do */
#define TAIL 0.8

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
