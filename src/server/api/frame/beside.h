/*
 * beside.h - reads large bodies beside the loop: a text of 60 MB takes half a second, if it is
 * malformed or has many escapes, and its fingerprint 30 ms.
 *
 * They are read one after the other on one of libuv's threads, so that users' lookups, which share
 * these threads, do not wait for long.
 */
#ifndef SERVER_BESIDE_H
#define SERVER_BESIDE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct err;
struct http_request;
struct server;

/* Returns true if the body is large and was not read yet: then it is read, and the request is
 * received again. Nothing of it has been done yet. `parse`: as JSON; otherwise only the
 * fingerprint is computed. */
bool beside_awaits(struct server *s, struct http_request *r, bool parse);
/* Stores hash_bytes() of the body; false: it was not read here. */
bool beside_print(const struct http_request *r, uint64_t *ret);
/* Returns a reference to what was read, or NULL with the error; false: it was not read here. */
bool beside_body(const struct http_request *r, json_t **ret, struct err *err);

#endif
