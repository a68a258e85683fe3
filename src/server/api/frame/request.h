/*
 * request.h - what requests have in common: their bodies, their keys, who may ask.
 */
#ifndef SERVER_REQUEST_H
#define SERVER_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/base/asker.h"
#include "server/base/users.h"
#include "server/job/keys.h"

struct array;
struct call;
struct err;
struct http_request;
struct schema;
struct server;

/* The header of a request: 1 with the key, 0: there is none, -EINVAL. */
int subkey_given(struct http_request *r, char ret[KEY_MAX + 1], struct err *err);
uint64_t
request_print(const struct http_request *r); /* a hash of its body, and of its path unless it is a submission */
void api_refuse(struct http_request *r, const struct err *err); /* an answer */
void api_answer(struct http_request *r, int status, json_t *o); /* the same; `o` is taken over */
/* Answers with a record by the rows of its schema: at once, or after the commit. */
void api_show(const struct server *s, struct http_request *r, const struct schema *t, const void *record);
void api_show_later(struct server *s, struct http_request *r, int status, const struct schema *t, const void *record);
json_t *api_body(struct http_request *r, struct err *err); /* NULL: the sentence is set */
/* Reads the body into a struct that the rows of the route's body describe. Its lent texts end with the call. */
void call_read(const struct call *c, void *ret);
/* The job, or the first of an array, that a path names. Fails with CODE_UNKNOWN_JOB if there is none that this user may see. */
int job_seen(struct server *s, const struct asker *w, const char *text, uint32_t *ret, struct array **ret_array,
	     struct err *err);
bool api_job(struct server *s, struct http_request *r, const struct asker *w, const char *text, uint32_t *ret,
	     struct array **ret_array); /* false: it was answered */
/* A user is being looked up: the request is received again when there is an answer. Nothing has been done of it. */
void request_await(struct server *s, struct http_request *r, struct user_key k);
void refuse_lookup(struct http_request *r, const struct err *err); /* what users_find() returned */

#endif
