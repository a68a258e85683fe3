/*
 * submitted.h - what the answer to a submission says of its jobs; also when the submission is repeated.
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

void submitted_write(struct server *s, struct json *j, uint64_t number, const char *warning); /* warning: or NULL */
void forgotten_write(const struct server *s, struct json *j, uint64_t number,
		     bool array); /* of one that the server has forgotten */

/* The same answer again, once what it reports is on disk. */
void submitted_again(struct server *s, struct http_request *r, const struct submission_key *k, bool bulk);
/* Returns the submission that this client has made with the key; NULL: none is known. */
const struct submission_key *submitted_find(struct server *s, const struct asker *w, const char *key);
/* So that it can be: `n` jobs, the first of this number. */
void submitted_key(struct server *s, struct http_request *r, const struct asker *w, const char *key,
		   const struct submission *x, size_t n, uint64_t first);
/* Whether a request is such a repetition: it changes nothing. */
bool submit_repeats(struct server *s, struct http_request *r, const struct asker *w);

#endif
