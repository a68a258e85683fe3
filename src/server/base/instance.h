/* instance.h - identity of this server: its names, directories and rights. */
#ifndef SERVER_INSTANCE_H
#define SERVER_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "client/where.h"

struct instance {
	struct where where;
	char *name; /* name of the server: the part of job ids after the dot */
	char *host;
	char program[4096];
	char rsh[4096];	   /* program that reaches a job's nodes */
	int *cpu_os;	   /* the machine's CPU for each CPU of a real node, or NULL: no binding */
	int32_t *cpu_numa; /* NUMA node of each CPU of a real node; ncpu_numa entries */
	int ncpu_numa;
	uid_t uid;	 /* account that started the server */
	uint32_t origin; /* origin of the jobs it accepts: drawn at each start, see belongings.c */
	bool multi;	 /* system mode: jobs of many users */
	bool real;	 /* the nodes are this machine itself, so CPUs can be bound */
	int lock;	 /* descriptor of the pid file */
	uint64_t boot;	 /* boot of the machine that clock.boot_us counts from */
	bool rebooted;	 /* the machine has rebooted since the server last ran */
	/* the store had settings when it was read, so this is not a new instance */
	bool founded;
	bool swept; /* attempts that belong to no job have been ended */
};

#endif
