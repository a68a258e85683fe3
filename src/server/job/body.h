/*
 * body.h - the body of a submission: the members that are needed only to start the job, kept in the
 * store.
 */
#ifndef SERVER_BODY_H
#define SERVER_BODY_H

#include <jansson.h>
#include <stdint.h>

struct err;
struct server;

/* Checks the members of a submission that are needed only to start the job, and writes them as a
 * text that the caller frees. */
int body_write(const json_t *job, char **ret, struct err *err);
int body_check(const json_t *job, struct err *err);
int body_read(struct server *s, uint32_t id, json_t **ret, struct err *err);
/* The last body that was read; jobs with the same text share it, such as the elements of an array.
 * {0}: none. */
struct body_last {
	uint64_t key;	 /* the job or the array whose it is, */
	uint64_t bodies; /* and store_bodies() at that time */
	char *text;
	json_t *body, *brief; /* NULL: not parsed */
	uint64_t bytes;	      /* read from the store so far, for bounds of a turn */
};
/* Does the same as body_read(), but *ret belongs to `last` and must not be changed. */
int body_share(struct server *s, uint32_t id, struct body_last *last, const json_t **ret, struct err *err);
/* Makes a body just given to the store the server's last one, for a job that starts at once. */
void body_remember(struct server *s, uint64_t key, const char *text);
/* Like body_share(), perhaps without the arguments and the environment, which may be large. */
int body_brief(struct server *s, uint32_t id, struct body_last *last, const json_t **ret, struct err *err);

#endif
