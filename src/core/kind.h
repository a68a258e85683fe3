/*
 * kind.h - the four kinds of job and the powers of emergency jobs (docs/scheduling.md).
 */
#ifndef CORE_KIND_H
#define CORE_KIND_H

enum job_kind {
	KIND_COMMON,	/* C: placed only now, never reserves */
	KIND_STARVING,	/* S: a common job that has waited too long; reserves */
	KIND_QOS,	/* Q: has a deadline; reserved as late as the deadline allows */
	KIND_EMERGENCY, /* E: submitted by administrators; has a deadline and powers */
	KIND_COUNT
};

/* Jobs that an emergency job may remove: reserved ones (ALLOC) and running ones (EXEC). */
enum job_power {
	POWER_SC_ALLOC = 1 << 0, /* critical starving jobs, reserved */
	POWER_Q_ALLOC = 1 << 1,
	POWER_E_ALLOC = 1 << 2,
	POWER_C_EXEC = 1 << 3,
	POWER_S_EXEC = 1 << 4,
	POWER_Q_EXEC = 1 << 5,
	POWER_E_EXEC = 1 << 6,
};

#endif
