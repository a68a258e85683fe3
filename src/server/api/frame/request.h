/*
 * request.h - what requests have in common: their bodies, their keys, and access checks.
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
struct http_request;
struct schema;
struct server;

/* Reads the Idempotency-Key header. 1: *ret is the key; 0: not given; -EINVAL. */
int subkey_given(struct http_request *r, char ret[KEY_MAX + 1], struct err *err);
/* Returns a hash of the body, and of the path unless it is a submission. */
uint64_t request_print(const struct http_request *r);
/* Returns true if the request came from a process of this server; otherwise answers that it is for
 * its "own process that DOES". */
bool own_admit(const struct server *s, const struct call *c, const char *does);
void api_refuse(struct http_request *r, const struct err *err); /* answers with an error */
/* Answers with `o`, and takes it over. */
void api_answer(struct http_request *r, int status, json_t *o);
/* Answers with a record by the rows of its schema: at once, or after the commit. */
void api_show(const struct server *s, struct http_request *r, const struct schema *t, const void *record);
void api_show_later(struct server *s, struct http_request *r, int status, const struct schema *t, const void *record);
json_t *api_body(struct http_request *r, struct err *err);     /* NULL: the error is set */
json_t *api_json(const char *text, size_t n, struct err *err); /* the same for another text */
/* Reads the body into a struct that the rows of the route's body describe. Borrowed texts end with
 * the call. */
void call_read(const struct call *c, void *ret);
/* Finds the job, or the first element of an array, that a path names. Fails with CODE_UNKNOWN_JOB
 * if there is none that this user may see. */
int job_seen(struct server *s, const struct asker *w, const char *text, uint32_t *ret, struct array **ret_array,
	     struct err *err);
/* Does the same, and answers the request on failure; false: it was answered. */
bool api_job(struct server *s, struct http_request *r, const struct asker *w, const char *text, uint32_t *ret,
	     struct array **ret_array);
/* Waits for the lookup of a user, and then receives the request again. Nothing of it has been done
 * yet. */
void request_await(struct server *s, struct http_request *r, struct user_key k);
/* Answers with the error of users_find(). */
void refuse_lookup(struct http_request *r, const struct err *err);

#endif
