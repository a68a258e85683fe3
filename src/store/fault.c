/*
 * fault.c - bad luck on order: see fault.h.
 *
 * The only globals of the store: commits are counted by process, since it is the process that dies. The environment is
 * read each time, so that a test may change its mind.
 */
#include "store/fault.h"

#ifdef SHUNT_FAULTS

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long commits;

int fault_begin(struct err *err)
{
	const char *text = getenv("SHUNT_STORE_FAIL");
	long from, to;

	commits++;
	if (text && sscanf(text, "%ld:%ld", &from, &to) == 2 && commits >= from && commits <= to)
		return err_set(err, -ENOSPC, "the disk is full (SHUNT_STORE_FAIL=%s, commit %ld)", text, commits);
	return 0;
}

void fault_pass(enum fault_point at)
{
	static const char *const names[] = {"before", "during", "after"};
	const char *text = getenv("SHUNT_CRASH");
	char where[16];
	long number;

	if (text && sscanf(text, "%ld:%15s", &number, where) == 2 && number == commits && strcmp(where, names[at]) == 0)
		raise(SIGKILL);
}

#endif
