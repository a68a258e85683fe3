/*
 * fault.h - bad luck on order, for the crash tests. Empty unless built with -Dfaults=true.
 *
 *	SHUNT_CRASH=K:WHERE	the process kills itself (SIGKILL) at its K-th commit: `before` anything is written,
 *				`during` the transaction after half of its statements, or `after` it is on disk and
 *				before anyone is told
 *	SHUNT_STORE_FAIL=N:M	its commits N to M fail as if the disk were full
 */
#ifndef STORE_FAULT_H
#define STORE_FAULT_H

#include "base/err.h"

enum fault_point { FAULT_BEFORE, FAULT_DURING, FAULT_AFTER };

#ifdef SHUNT_FAULTS
int fault_begin(struct err *err); /* counts a commit; -ENOSPC when it is to fail */
void fault_pass(enum fault_point at);
#else
static inline int fault_begin(struct err *err)
{
	return 0;
}

static inline void fault_pass(enum fault_point at)
{
}
#endif

#endif
