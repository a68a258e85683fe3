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

/* submission.c: members shared by several kinds of request. A missing or null member leaves the
 * spec unchanged, except that depend and checkpoint are cleared. */
int read_name(const json_t *job, const char **ret, struct err *err); /* NULL: not given */
int read_depend(const json_t *job, struct spec *p, struct err *err);
int read_checkpoint(struct server *s, const json_t *job, struct spec *p, struct err *err);
int holds_allowed(const struct spec *p, const struct asker *who, struct err *err);

/* submission_request.c: reads the resources requested, on top of ret->text, and adds the queue's
 * defaults. */
int read_text(struct server *s, const json_t *job, struct arena *a, struct submission *ret, struct err *err);
int read_request(struct server *s, const char *queue, struct arena *a, struct submission *ret, struct err *err);

/* submission_kind.c: reads the type, after read_text(); then, after everything else, what the job
 * may cost (rules/libra.h) and whether it has to start at once. */
int read_kind(struct server *s, const struct asker *who, const json_t *job, struct submission *ret, struct err *err);
int read_libra(const struct server *s, const json_t *job, struct submission *ret, struct err *err);
/* Refuses what a job with a price, or one that starts at once, can't have. */
int start_check(const struct spec *p, struct err *err);
/* Fails with CODE_BAD_STATE: a price was agreed for the original request. */
int price_agreed_refuse(struct err *err);
int read_now(const struct server *s, const json_t *job, struct submission *ret, struct err *err);

#endif
