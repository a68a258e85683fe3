/*
 * keys.h - idempotency keys of submissions, so that repeating one does not submit it twice.
 */
#ifndef SERVER_KEYS_H
#define SERVER_KEYS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct server;

#define KEY_MAX 64
struct submission_key {
	uid_t uid;
	uint32_t count;	       /* number of jobs it created: first, first + 1, ... */
	uint64_t first, print; /* first job's number, and a hash of the request's body */
	int64_t time;	       /* instant of the submission */
	int64_t since_us;      /* when this server got it, by the clock that is never set */
	/* from another site: kept for longer, and identified by its text only. count 0:
	 * withdrawn */
	bool lasting;
	/* a letter for each job: 'a' for an array, otherwise 'j'; NULL: no arrays */
	char *arrays;
	char text[];
};
/* Reads the value of the header, without its quotes. -EINVAL. */
int subkey_read(const char *text, char ret[KEY_MAX + 1], struct err *err);
/* Owner of the keys of other sites: a site may ask about a key while its user is not known here. */
#define SUBKEY_SITE ((uid_t)-1)
/* Finds a key of a user; NULL: not known. */
const struct submission_key *subkey_find(struct server *s, uid_t uid, const char *text);
void subkey_add(struct server *s, uid_t uid, const char *text, const struct submission_key *given);
int subkey_restore(struct server *s, const char *name, const json_t *o, struct err *err); /* at recovery */
/* Forgets old keys. */
void subkeys_turn(struct server *s);

#endif
