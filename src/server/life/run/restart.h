/*
 * restart.h - a new job that goes on where another one ended: from its last checkpoint, with what it was submitted with. It is charged anew.
 *
 * The other job, and with it its checkpoints, is not forgotten before the new one has ended.
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

/* A submission whose `restart` was looked up. */
struct restart {
	json_t *job; /* as if it had been sent: what the other one had, unless something else was given. The caller's to decref */
	uint64_t key;	    /* of the other one; 0: there is no `restart` */
	const char *script; /* in the arena; NULL: the submission has one of its own */
	size_t script_n;
};

/* CODE_REFUSED, with the reason: there is no such job, it is another user's, has not ended, or has no checkpoint. */
int restart_read(struct server *s, const struct asker *who, json_t *job, struct arena *a, struct restart *ret,
		 struct err *err);
/* After submission_read() of ret->job. CODE_REFUSED: it would make no checkpoints. */
int restart_apply(struct submission *x, const struct restart *r, struct err *err);
/* The directory that a job restarts from, absolute; NULL: none. */
const char *restart_directory(const struct server *s, uint32_t id, struct arena *a);
/* Whether a job that has not ended restarts from one of that number. */
bool restart_awaits(const struct server *s, uint64_t number);

#endif
