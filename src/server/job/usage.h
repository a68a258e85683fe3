/*
 * usage.h - what running jobs use: some samples of each attempt, in memory alone.
 *
 * A shepherd reports often at first, then ever more seldom, at least every 30 s. When USAGE_MOST are kept, every second one is dropped: the samples
 * always cover the whole run. Those of attempts that have ended are kept for the last USAGE_PAST of them. A restart forgets all.
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
	int64_t memory_kib; /* held then */
};

/* Of an attempt; owned by it until it has ended. */
struct usage {
	uint64_t key; /* of the job: entry.key */
	uint32_t attempt;
	uint32_t n;
	uint64_t added; /* also those that were dropped since */
	struct usage_sample v[USAGE_MOST];
};

void usage_note(struct server *s, struct attempt *t, int64_t cpu_ms, int64_t memory_kib);
/* It is over: its samples go to those of the past. */
void usage_close(struct server *s, struct attempt *t);
/* Of the job's last attempt. NULL: there are none. */
const struct usage *usage_of(const struct server *s, uint32_t id);

#endif
