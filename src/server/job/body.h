/*
 * body.h - the rest of a submission, as the store has it.
 */
#ifndef SERVER_BODY_H
#define SERVER_BODY_H

#include <jansson.h>
#include <stdint.h>

struct err;
struct server;

/* Of a job that is submitted: the members that are only needed to start it, as a text that the caller frees; and whether they are right. */
int body_write(const json_t *job, char **ret, struct err *err);
int body_check(const json_t *job, struct err *err);
int body_read(struct server *s, uint32_t id, json_t **ret, struct err *err);

#endif
