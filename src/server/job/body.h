/*
 * body.h - the rest of a submission, as the store has it.
 */
#ifndef SERVER_BODY_H
#define SERVER_BODY_H

#include <jansson.h>
#include <stdint.h>

struct err;
struct server;

int body_read(struct server *s, uint32_t id, json_t **ret, struct err *err);

#endif
