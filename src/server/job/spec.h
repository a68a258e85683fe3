/*
 * spec.h - a job's description (core/spec.h), in the server's memory and in its store.
 */
#ifndef SERVER_SPEC_H
#define SERVER_SPEC_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/reqtext.h"
#include "core/spec.h"

struct arena;
struct err;
struct field;
struct server;
struct strbuf;

struct spec *spec_create(const char *name);   /* with nothing else */
struct spec *spec_copy(const struct spec *p); /* a job's own, to be changed: not an array's */
struct spec *spec_copy_as(const struct spec *p, const char *name);
void spec_unref(struct spec *p); /* gone with the last one; NULL is none */
/* To write what few jobs have: it becomes the spec's own. */
struct spec_rare *spec_rare(struct spec *p);
/* Reads a member that a client gave. Null, or NULL, takes it back to what a missing one stands for. */
int spec_read(struct server *s, const struct field *f, const json_t *value, struct spec *p, struct err *err);
/* As the store has it: the rows of core/jobschema.h with STORED. */
void spec_head(const struct server *s, const struct spec *p, struct strbuf *out);
int spec_restore(struct server *s, const json_t *head, struct spec **ret, struct err *err);
/* A request, complete with its defaults, into a spec: its canonical text, its walltime, and the cluster's request. */
bool shares_offered(const struct server *s); /* there are nodes whose CPUs are divided */
int spec_fill(struct server *s, const struct reqtext *text, struct spec *spec, struct err *err);
/* What the cluster as it is has for it. A job that no partition suits any more keeps its request, by which its events are understood, and may use no node. */
void spec_resolve(struct server *s, const struct reqtext *text, struct spec *spec);
/* Once partitions are laid out anew: what follows for it, if that was not done before. */
void spec_lay(struct server *s, struct spec *spec);
/* The cluster's request of a spec; if the cluster has nothing of the kind, one CPU. */
const struct request *spec_asked(const struct server *s, const struct spec *p);
/* Whether its queue is another site's, or may pass it on to one: then nodes here need not be able to hold it. */
bool spec_may_leave(const struct server *s, const struct spec *p);
/* Whether a job of this kind can be handed over to another site. CODE_REFUSED. */
int spec_portable(const struct spec *p, struct err *err);
/* Returns true if `b` asks for something else than `a`: a place or a guarantee does not count any more. */
bool asks_otherwise(const struct spec *a, const struct spec *b);
/* What a spec asks for, as a text that is complete. */
int spec_request(struct server *s, const struct spec *spec, struct arena *a, struct reqtext *ret, struct err *err);

#endif
