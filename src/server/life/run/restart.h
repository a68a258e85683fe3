/*
 * restart.h - submits a new job that continues from another job's last checkpoint, with that job's
 * attributes. It is charged again.
 *
 * The other job and its checkpoints are not forgotten before the new one has ended.
 */
#ifndef SERVER_RESTART_H
#define SERVER_RESTART_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct asker;
struct err;
struct server;
struct submission;

/* A submission after its `restart` was looked up. */
struct restart {
	/* the merged submission: the other job's members unless given otherwise; the caller
	 * decrefs it */
	json_t *job;
	uint64_t key;	    /* key of the other job; 0: there is no `restart` */
	const char *script; /* script in the arena; NULL: the submission has its own */
	size_t script_n;
};

/* Looks up the other job. CODE_REFUSED with the reason: no such job, another user's, not ended,
 * or without checkpoint. */
int restart_read(struct server *s, const struct asker *who, json_t *job, struct arena *a, struct restart *ret,
		 struct err *err);
/* Completes the submission; called after submission_read() of ret->job. CODE_REFUSED: it would
 * make no checkpoints. */
int restart_apply(struct submission *x, const struct restart *r, struct err *err);
/* Returns the absolute path of the directory a job restarts from; NULL: none. */
const char *restart_directory(const struct server *s, uint32_t id, struct arena *a);
/* Returns true if a job that has not ended restarts from the job with that number. */
bool restart_awaits(const struct server *s, uint64_t number);

#endif
