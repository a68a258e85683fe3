/*
 * fault.c - injects faults: see fault.h.
 *
 * These are the only globals of the store: commits are counted per process, because it is the
 * process that dies. The environment is read each time, so that a test can change it.
 */
#include "store/fault.h"

#ifdef SHUNT_FAULTS

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long commits, writes, syncs;

int fault_begin(struct err *err)
{
	const char *text = getenv("SHUNT_STORE_FAIL");
	long from, to;

	commits++;
	if (!text)
		return 0;
	if (*text == '/' ? access(text, F_OK) == 0
			 : sscanf(text, "%ld:%ld", &from, &to) == 2 && commits >= from && commits <= to)
		return err_set(err, -ENOSPC, "the disk is full (SHUNT_STORE_FAIL=%s, commit %ld)", text, commits);
	return 0;
}

static bool due(const char *name, long count)
{
	const char *text = getenv("SHUNT_CRASH");
	char where[16];
	long number;

	return text && sscanf(text, "%ld:%15s", &number, where) == 2 && number == count && strcmp(where, name) == 0;
}

void fault_pass(enum fault_point at)
{
	static const char *const names[] = {"before", "during", "after"};

	if (due(names[at], commits))
		raise(SIGKILL);
}

void fault_lines(enum fault_point at, int fd, const char *text, size_t n)
{
	static const char *const names[] = {"lines-before", "lines-during", "lines-after", "lines-synced"};

	writes += at == FAULT_BEFORE;
	syncs += at == FAULT_SYNCED;
	if (!due(names[at], at == FAULT_SYNCED ? syncs : writes))
		return;
	if (at == FAULT_DURING && write(fd, text, n / 2) < 0)
		perror("SHUNT_CRASH");
	raise(SIGKILL);
}

#endif
