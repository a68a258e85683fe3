/*
 * spec.h - a job's description (core/spec.h), in the server's memory and in its store.
 */
#ifndef SERVER_SPEC_H
#define SERVER_SPEC_H

#include <jansson.h>
#include <stdbool.h>

#include "core/reqtext.h"
#include "core/spec.h"

struct arena;
struct field;
struct server;

struct spec *spec_create(const char *name); /* with its name only */
/* Returns a copy for one job, to be changed; it is not an array's. */
struct spec *spec_copy(const struct spec *p);
struct spec *spec_copy_as(const struct spec *p, const char *name);
void spec_unref(struct spec *p); /* frees it with the last reference; NULL is allowed */
/* Returns the rarely used members for writing, after giving the spec its own copy of them. */
struct spec_rare *spec_rare(struct spec *p);
/* Reads a member that a client gave. JSON null or NULL resets it to its default. */
int spec_read(struct server *s, const struct field *f, const json_t *value, struct spec *p, struct err *err);
/* Writes and reads a spec as stored: the rows of core/jobschema.h with STORED. */
void spec_head(const struct server *s, const struct spec *p, struct strbuf *out);
int spec_restore(struct server *s, const json_t *head, struct spec **ret, struct err *err);
/* Fills a spec from a request that is complete with its defaults: canonical text, walltime and the
 * cluster's request. */
bool shares_offered(const struct server *s); /* true: some nodes divide their CPUs */
int spec_fill(struct server *s, const struct reqtext *text, struct spec *spec, struct err *err);
/* Resolves a spec again after the layout of partitions changed, unless already done. */
void spec_lay(struct server *s, struct spec *spec);
/* Returns the cluster's request of a spec; one CPU if the cluster has nothing of the kind. */
const struct request *spec_asked(const struct server *s, const struct spec *p);
/* Returns true if its queue belongs to another site or may route to one; then no local node has to
 * be able to hold it. */
bool spec_may_leave(const struct server *s, const struct spec *p);
/* Checks that a job of this kind can be handed over to another site. CODE_REFUSED. */
int spec_portable(const struct spec *p, struct err *err);
/* Returns true if `b` requests something else than `a`, so that a place or a guarantee is void. */
bool asks_otherwise(const struct spec *a, const struct spec *b);
/* Writes a spec's request as a complete text. */
int spec_request(struct server *s, const struct spec *spec, struct arena *a, struct reqtext *ret, struct err *err);

#endif
