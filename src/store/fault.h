/*
 * fault.h - injects faults, for the crash tests. Empty unless built with -Dfaults=true.
 *
 *	SHUNT_CRASH=K:WHERE	the process kills itself (SIGKILL) at its K-th commit: `before`
 *				anything is written, `during` the transaction after half of its
 *				statements, or `after` it is on disk but before any reply
 *	SHUNT_CRASH=K:lines-WHERE	the same at its K-th write of accounting lines: `before` it,
 *				`during` it with half of it in the file, or `after` it; or at its
 *				K-th sync of such a file, `synced`
 *	SHUNT_STORE_FAIL=N:M	its commits N to M fail as if the disk were full
 *	SHUNT_STORE_FAIL=/PATH	the same, while a file of that path exists
 */
#ifndef STORE_FAULT_H
#define STORE_FAULT_H

#include "base/err.h"

#include <stddef.h>

enum fault_point { FAULT_BEFORE, FAULT_DURING, FAULT_AFTER, FAULT_SYNCED };

#ifdef SHUNT_FAULTS
int fault_begin(struct err *err); /* counts a commit; -ENOSPC if it must fail */
void fault_pass(enum fault_point at);
void fault_lines(enum fault_point at, int fd, const char *text, size_t n); /* FAULT_BEFORE counts a write */
#else
static inline int fault_begin(struct err *err)
{
	return 0;
}

static inline void fault_pass(enum fault_point at)
{
}

static inline void fault_lines(enum fault_point at, int fd, const char *text, size_t n)
{
}
#endif

#endif
