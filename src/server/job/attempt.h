/*
 * attempt.h - processes that were ordered and have not ended: which CPUs and GPUs they have, on which hosts.
 */
#ifndef SERVER_ATTEMPT_H
#define SERVER_ATTEMPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/res.h"

struct json;
struct server;
struct strbuf;
struct usage;

/* Processes that were ordered and have not ended. */
struct attempt {
	uint32_t job;
	uint32_t attempt;
	bool ordered; /* the order left */
	bool started;
	uint32_t nfrags;
	int32_t *node; /* a node for each fragment */
	int32_t **cpu; /* and the CPUs of the node that it has */
	int32_t *ncpus;
	int32_t **gpu; /* and GPUs */
	int32_t *ngpus;
	struct kib *kib;     /* of each */
	struct usage *usage; /* usage.h; NULL: nothing was heard */
	bool held;	     /* those are counted in their nodes */
	int64_t lease,
		grace; /* seconds: silent for so long, its hosts end it (0: they don't); and so long that takes */
};

struct attempt *attempt_create(struct server *s, uint32_t id, uint32_t number, const int32_t *nodes, uint32_t n);
void attempt_free(struct server *s, struct attempt *t); /* gives back what it holds */
struct attempt *attempt_find(const struct server *s, uint32_t id, uint32_t attempt);
bool attempt_place(struct server *s,
		   struct attempt *t); /* CPUs and GPUs for every fragment, lowest first; all or none */
int64_t attempt_asked(const struct server *s, const struct attempt *t,
		      uint32_t frag); /* CPUs: with whole nodes it has more */
void attempt_exec_host(const struct server *s, const struct attempt *t, struct strbuf *out); /* "n1/0+n1/1" */
void attempt_write(const struct attempt *t, struct json *j); /* for the store, once it has them: members; */
struct attempt *attempt_restore(struct server *s, uint32_t id, uint32_t attempt, const int32_t *nodes, uint32_t n,
				const json_t *data); /* ... and back */
void attempt_discard(struct server *s, uint32_t id, uint32_t number);
void attempts_hold(struct server *s);
bool attempt_lingers(const struct server *s, uint32_t id, uint32_t before); /* an earlier one has not ended */
/* The name of all that an attempt has outside of the store: NUMBER[-INDEX][-xORIGIN].ATTEMPT. No other attempt of any job is called the same, not
 * even when a backup was put back and its number given again. */
void attempt_tag(const struct server *s, uint32_t id, uint32_t attempt, char tag[64]);
bool tag_parse(const struct server *s, const char *tag, uint32_t *ret, uint32_t *ret_attempt); /* false: no job here */
bool tag_known(void *context, const char *tag);
pid_t attempt_session(const struct server *s, uint32_t id); /* of a running job, from its live file; 0: none yet */
/* The hosts that it touches, that of the first fragment first; into `part` the index of each fragment's host, unless NULL. Borrowed names; the
 * array is the caller's. */
int attempt_hosts(const struct server *s, const struct attempt *t, const char ***ret, int *part);
bool attempt_on(const struct attempt *t, uint32_t node);
/* All that have not ended, in no order. The function must not end any. */
void attempts_each(const struct server *s, void (*one)(void *context, struct attempt *t), void *context);

#endif
