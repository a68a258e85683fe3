/*
 * facts.h - what this machine has, and its current state; docs/protocol.md lists the keys.
 */
#ifndef AGENT_FACTS_H
#define AGENT_FACTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct facts;
struct host_state;

/* Collects what does not change while a machine is running. `cgroup`: the setting of that name;
 * `directory`: one on the file system that jobs use for temporary files. Takes some 20 ms, for
 * `speed`. Free the facts with facts_fini(), on an error as well. */
int facts_collect(const char *cgroup, const char *directory, struct facts *ret, struct err *err);
void facts_fini(struct facts *f);
/* Reduces the facts to `cpus` processors (0: all). Others decide which ones, so their numbers are
 * left out. Disk, swap and memory are reduced in proportion; memory to `memory` KiB if that is
 * known. */
void facts_limit(struct facts *f, int cpus, int64_t memory);
/* Writes "8 CPUs, 31 GiB, no GPUs", for people. */
void facts_say(const struct facts *f, char *ret, size_t size);
/* Returns true if the server should get the new facts: compares all but `speed`, which differs with
 * each measurement. */
bool facts_differ(const json_t *a, const json_t *b);

/* Reads the current state; `disk_free` is that of the directory. */
void facts_now(const char *directory, struct host_state *ret);

#endif
