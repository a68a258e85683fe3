/*
 * submit.h - a submission is checked and taken over.
 */
#ifndef SERVER_SUBMIT_H
#define SERVER_SUBMIT_H

#include <stdint.h>

struct array;
struct array_spec;
struct asker;
struct err;
struct server;
struct spec;
struct submission;

/* Takes a submission over: SUBMIT, holds, dependencies. `before`: the one that was taken over before it with the same request, or NULL. Returns the number. */
uint64_t submit(struct server *s, struct submission *x, const struct submission *before);
uint32_t entry_add(struct server *s, uint64_t key, struct spec *p);
struct array *array_add(struct server *s, uint64_t number, struct spec *p, const struct array_spec *spec);
int depend_check(struct server *s, const struct asker *who, const struct spec *p, struct err *err);
int submit_check(struct server *s, const struct asker *who, const struct submission *x, int64_t ahead,
		 const char **ret_code, struct err *err);
/* resources_max of queue and server. */
int walltime_allowed(struct server *s, uint32_t queue, int64_t walltime, const char **code, struct err *err);

#endif
