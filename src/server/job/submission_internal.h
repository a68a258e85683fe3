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
struct spec;
struct submission;

/* submission.c: members that more than one way in has; what is missing or null leaves the spec as it is, but for depend and
 * checkpoint, which it then has none of */
int read_name(const json_t *job, const char **ret, struct err *err); /* NULL: not given */
int read_depend(const json_t *job, struct spec *p, struct err *err);
int read_checkpoint(struct server *s, const json_t *job, struct spec *p, struct err *err);
int holds_allowed(const struct spec *p, const struct asker *who, struct err *err);

/* submission_request.c: what it asks for, on top of ret->text; and with the defaults of its queue */
int read_text(struct server *s, const json_t *job, struct arena *a, struct submission *ret, struct err *err);
int read_request(struct server *s, const char *queue, struct arena *a, struct submission *ret, struct err *err);

/* submission_kind.c: its type, after read_text(); what it may cost (rules/libra.h) and whether it starts at once, after all else */
int read_kind(struct server *s, const struct asker *who, const json_t *job, struct submission *ret, struct err *err);
int read_libra(const struct server *s, const json_t *job, struct submission *ret, struct err *err);
int start_check(const struct spec *p,
		struct err *err);	  /* what a job with a price, or one that starts at once, can't have */
int price_agreed_refuse(struct err *err); /* CODE_BAD_STATE: a price was agreed for what it asked for */
int read_now(const struct server *s, const json_t *job, struct submission *ret, struct err *err);

#endif
