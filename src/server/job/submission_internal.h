/*
 * submission_internal.h - the parts of submission_read().
 */
#ifndef SERVER_SUBMISSION_INTERNAL_H
#define SERVER_SUBMISSION_INTERNAL_H

#include <jansson.h>

struct arena;
struct asker;
struct err;
struct server;
struct submission;

/* submission_request.c: what it asks for, as far as it says so itself; and with the defaults of its queue */
int read_text(struct server *s, const json_t *job, struct arena *a, struct submission *ret, struct err *err);
int read_request(struct server *s, const char *queue, struct arena *a, struct submission *ret, struct err *err);

/* submission_kind.c: its type, after read_text(); what it may cost (rules/libra.h) and whether it starts at once, after all else */
int read_kind(struct server *s, const struct asker *who, const json_t *job, struct submission *ret, struct err *err);
int read_libra(const struct server *s, const json_t *job, struct submission *ret, struct err *err);
int read_now(const struct server *s, const json_t *job, struct submission *ret, struct err *err);

#endif
