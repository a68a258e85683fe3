/*
 * keys.h - submissions that are repeated: their keys.
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
	uint32_t count;	       /* jobs that it made: first, first + 1, ... */
	uint64_t first, print; /* a hash of the request's body */
	int64_t time;	       /* instant of the submission */
	bool lasting;	       /* of another site: kept for longer, and known by its text alone. count 0: withdrawn */
	char *arrays;	       /* a letter for each job: 'a' for an array, else 'j'; NULL: there is no array */
	char text[];
};
/* The value of the header, without its quotes. -EINVAL. */
int subkey_read(const char *text, char ret[KEY_MAX + 1], struct err *err);
/* Whose keys those of another site are: a site asks about a key also while its user is not known here. */
#define SUBKEY_SITE ((uid_t)-1)
const struct submission_key *subkey_find(struct server *s, uid_t uid, const char *text); /* NULL: not known */
void subkey_add(struct server *s, uid_t uid, const char *text, const struct submission_key *given);
int subkey_restore(struct server *s, const char *name, const json_t *o, struct err *err); /* at recovery */
void subkeys_turn(struct server *s);							  /* forgets old ones */

#endif
