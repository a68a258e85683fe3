/*
 * instance.h - which server this is: its names, directories and rights.
 */
#ifndef SERVER_INSTANCE_H
#define SERVER_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "client/where.h"

struct instance {
	struct where where;
	char *name; /* of the server: the part after the dot of job ids */
	char *host;
	char program[4096];
	char rsh[4096];	   /* the program that reaches a job's nodes */
	int *cpu_os;	   /* the machine's CPU for each of a real node's, or NULL: no binding */
	int32_t *cpu_numa; /* the NUMA node of each of a real node's, of which there are ncpu_numa */
	int ncpu_numa;
	uid_t uid;	 /* of the account that started it */
	uint32_t origin; /* of the jobs that it accepts: drawn anew at each start, see belongings.c */
	bool multi;	 /* system mode: jobs of many users */
	bool real;	 /* the nodes are this machine itself: CPUs can be bound */
	int lock;	 /* descriptor of the pid file */
	uint64_t boot;	 /* the start of the machine that clock.boot_us counts from */
	bool rebooted;	 /* the machine was started again since the server last ran */
	bool founded;	 /* the store had settings when it was read: this is not a new instance */
	bool swept;	 /* attempts that no job claims have been ended */
};

#endif
