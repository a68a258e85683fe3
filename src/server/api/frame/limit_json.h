/*
 * limit_json.h - see limit_json.c.
 */
#ifndef SERVER_API_LIMIT_JSON_H
#define SERVER_API_LIMIT_JSON_H

#include <stdint.h>

struct json;
struct limit_reached;
struct schema;
struct server;

extern const struct schema limit_schema;

/* Writes the members of an open object: the limit, how much of it is used, and what the job
 * needs. */
void limit_json(const struct server *s, const struct limit_reached *l, int64_t asked, struct json *j);

#endif
