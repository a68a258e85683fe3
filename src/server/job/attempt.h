/*
 * attempt.h - attempts to run a job: the CPUs, GPUs and memory that their processes hold, and on
 * which hosts.
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

/* Processes of a job that were ordered and have not ended. */
struct attempt {
	uint32_t job;
	uint32_t attempt;
	bool ordered; /* the order was sent */
	bool started;
	uint32_t nfrags;
	int32_t *node; /* node of each fragment */
	int32_t **cpu; /* CPUs that each fragment holds on its node */
	int32_t *ncpus;
	int32_t **gpu; /* GPUs that each fragment holds */
	int32_t *ngpus;
	struct kib *kib;     /* memory of each fragment */
	struct usage *usage; /* usage.h; NULL: no sample has arrived */
	bool held;	     /* the CPUs, GPUs and memory are counted as used on their nodes */
	/* seconds without contact after which its hosts end it (0: never), and seconds that ending
	 * takes */
	int64_t lease, grace;
	/* retries as its body has them (core/retries.h); "": none given; NULL: the body was not read */
	char *retries;
};

struct attempt *attempt_create(struct server *s, uint32_t id, uint32_t number, const int32_t *nodes, uint32_t n);
void attempt_free(struct server *s, struct attempt *t); /* releases its CPUs, GPUs and memory */
struct attempt *attempt_find(const struct server *s, uint32_t id, uint32_t attempt);
/* Gives every fragment CPUs and GPUs, lowest numbers first. Returns false, and gives none, if some
 * are still in use. */
bool attempt_place(struct server *s, struct attempt *t);
/* Returns the CPUs that a fragment requested; with whole nodes it holds more. */
int64_t attempt_asked(const struct server *s, const struct attempt *t, uint32_t frag);
/* Appends "n1/0+n1/1". */
void attempt_exec_host(const struct server *s, const struct attempt *t, struct strbuf *out);
/* Writes the CPUs, GPUs and memory it holds as members, for the store. */
void attempt_write(const struct attempt *t, struct json *j);
struct attempt *attempt_restore(struct server *s, uint32_t id, uint32_t attempt, const int32_t *nodes, uint32_t n,
				const json_t *data); /* reads back what attempt_write() wrote */
void attempt_discard(struct server *s, uint32_t id, uint32_t number);
void attempts_hold(struct server *s);
/* Returns true if an attempt before number `before` has not ended. */
bool attempt_lingers(const struct server *s, uint32_t id, uint32_t before);
/* Writes the name under which an attempt keeps everything outside the store:
 * NUMBER[-INDEX][-xORIGIN].ATTEMPT. It is unique among all attempts of all jobs, even when a
 * restored backup makes the server assign the same number again. */
void attempt_tag(const struct server *s, uint32_t id, uint32_t attempt, char tag[64]);
/* Finds job and attempt of a tag; false: the job is not known here. */
bool tag_parse(const struct server *s, const char *tag, uint32_t *ret, uint32_t *ret_attempt);
bool tag_known(void *context, const char *tag);
/* Returns the session of a running job, from its live file; 0: none yet. */
pid_t attempt_session(const struct server *s, uint32_t id);
/* Collects the hosts the attempt uses, the first fragment's first. `part`, unless NULL, receives
 * the index of each fragment's host. The caller frees the array; the names are borrowed. */
int attempt_hosts(const struct server *s, const struct attempt *t, const char ***ret, int *part);
bool attempt_on(const struct attempt *t, uint32_t node);
/* Calls a function for each attempt that has not ended, in no particular order. It must not end
 * any. */
void attempts_each(const struct server *s, void (*one)(void *context, struct attempt *t), void *context);

#endif
