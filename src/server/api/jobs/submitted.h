/*
 * submitted.h - the answer to a submission, also when the submission is repeated.
 */
#ifndef SERVER_SUBMITTED_H
#define SERVER_SUBMITTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

struct asker;
struct http_request;
struct server;
struct submission;
struct submission_key;

/* Writes the result for a new job or array; `warning` may be NULL. */
void submitted_write(struct server *s, struct json *j, uint64_t number, const char *warning);
void forgotten_write(const struct server *s, struct json *j, uint64_t number,
		     bool array); /* Does the same for a job that the server has forgotten. */

/* Sends the same answer again, once what it reports is on disk. */
void submitted_again(struct server *s, struct http_request *r, const struct submission_key *k, bool bulk);
/* Returns the submission that this client has made with the key; NULL: none is known. */
const struct submission_key *submitted_find(struct server *s, const struct asker *w, const char *key);
/* Remembers the key for submitted_find(): `n` jobs, the first with this number. */
void submitted_key(struct server *s, struct http_request *r, const struct asker *w, const char *key,
		   const struct submission *x, size_t n, uint64_t first);
/* Returns true if a request repeats a submission, and so changes nothing. */
bool submit_repeats(struct server *s, struct http_request *r, const struct asker *w);

#endif
