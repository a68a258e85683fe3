/*
 * facts.h - what this machine is, and how it does at the moment; docs/protocol.md lists the keys.
 */
#ifndef AGENT_FACTS_H
#define AGENT_FACTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* What does not change while a machine runs. `cgroup`: the setting of that name; `directory`: one on the file system that jobs have for temporary files. Takes some 20 ms, for `speed`. The caller's. */
int facts_collect(const char *cgroup, const char *directory, json_t **ret, struct err *err);
/* It may use only so many processors, and which ones is for others to decide: their numbers are left out, and of disk and swap it has its part; so it has of the memory, unless it is known how many KiB
 * it has. 0: all. */
void facts_limit(json_t *facts, int cpus, int64_t memory);
/* "8 CPUs, 31 GiB, no GPUs": for people. */
void facts_say(const json_t *facts, char *ret, size_t size);
/* Whether the server should be told of the new ones: all but `speed`, which differs with each measurement. */
bool facts_differ(const json_t *a, const json_t *b);

struct facts_now {
	double load;	     /* of the last minute */
	int64_t memory_free; /* KiB that programs could have */
	int users;	     /* who are logged in, each once */
	int64_t disk_free;   /* KiB that can be written below a directory; -1: not known */
};
void facts_now(const char *directory, struct facts_now *ret);

#endif
