/*
 * prepare_internal.h - a part of an attempt while its order is made: shared by prepare.c and prepare_env.c.
 */
#ifndef SERVER_PREPARE_INTERNAL_H
#define SERVER_PREPARE_INTERNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct user;
struct arena;
struct attempt;
struct err;
struct order;
struct server;

/* What the node file of an attempt has. */
struct layout {
	int64_t *lines;	 /* of each fragment */
	int64_t total;	 /* of all */
	int64_t threads; /* OMP_NUM_THREADS; 0: the request says nothing of it */
};

/* The order of the part on one host, as it is made. All is borrowed, or the arena's. */
struct draft {
	const struct attempt *t;
	const struct user *who;
	const json_t *body;
	const char *tag;
	struct arena *a;
	int index, count;  /* it is the index-th of so many */
	const int *of;	   /* the index of each fragment's part */
	const char *host;  /* as the engine has it */
	bool here;	   /* it is this machine's */
	const char *state; /* the host's directories: our own, or the words that an agent replaces by its own */
	const char *run, *rsh, *launcher;
	const char *path; /* directory of our commands there, or "" if that is found anyway */
	struct layout layout;
};

/* Its nodes are not machines, but parts of this one, and the whole job is on them. */
bool draft_is_virtual(const struct server *s, const struct draft *p);
/* The same, and on more than one of them. */
bool draft_spans_virtual(const struct server *s, const struct draft *p);
/* The first fragment that is on it. */
uint32_t draft_first(const struct draft *p);
/* What TORQUE and PBS Pro know in the names of files: ^array_index^ and the like. */
const char *replace_words(const struct server *s, uint32_t id, const char *path, struct arena *a);
/* prepare_files.c: o->carried and its ticket. */
int draft_files(struct server *s, const struct draft *p, struct order *o, struct err *err);
/* o->env and o->foreign.nplaced, by the rest of the order. */
void draft_environment(struct server *s, const struct draft *p, struct order *o);

#endif
