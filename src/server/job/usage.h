/*
 * usage.h - resource usage of running jobs: some samples of each attempt, kept in memory only.
 *
 * A shepherd reports often at first, then less and less often, but at least every 30 s. When
 * USAGE_MOST samples are kept, every second one is dropped, so that they always cover the whole
 * run. Samples of ended attempts are kept for the last USAGE_PAST of them. A restart forgets all.
 */
#ifndef SERVER_JOB_USAGE_H
#define SERVER_JOB_USAGE_H

#include <stdint.h>

struct attempt;
struct server;

#define USAGE_MOST 64
#define USAGE_PAST 500

struct usage_sample {
	int64_t time;	    /* instant */
	int64_t cpu_ms;	    /* used so far, on all hosts */
	int64_t memory_kib; /* memory held at that time */
};

/* Samples of an attempt, which owns them until it has ended. */
struct usage {
	uint64_t key; /* key of the job: entry.key */
	uint32_t attempt;
	uint32_t n;
	uint64_t added;	  /* samples ever added, including those dropped since */
	int64_t peak_kib; /* most memory of all samples ever added */
	struct usage_sample v[USAGE_MOST];
};

void usage_note(struct server *s, struct attempt *t, int64_t cpu_ms, int64_t memory_kib);
/* Moves the samples of an ended attempt to those of the past. */
void usage_close(struct server *s, struct attempt *t);
/* Returns the usage of the job's last attempt; NULL: none. */
const struct usage *usage_of(const struct server *s, uint32_t id);

#endif
