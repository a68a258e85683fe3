/* prepare_internal.h - state of an order being built; shared by prepare.c and prepare_env.c. */
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

/* Contents of an attempt's node file. */
struct layout {
	int64_t *lines;	 /* lines of each fragment */
	int64_t total;	 /* lines in total */
	int64_t threads; /* OMP_NUM_THREADS; 0: not requested */
};

/* The order for one host while it is built. All memory is borrowed or the arena's. */
struct draft {
	const struct attempt *t;
	const struct user *who;
	const json_t *body;
	const char *tag;
	struct arena *a;
	int index, count; /* this part's index and the number of parts */
	const int *of;	  /* index of each fragment's part */
	/* the first fragment of each part; for each fragment the next one of its part, or nfrags */
	const uint32_t *first, *next;
	const int *place; /* each fragment's node among all nodes, in the order of the node file */
	const char *host; /* name used by the engine */
	bool here;	  /* the part runs on this machine */
	/* the host's state directory: our own, or a placeholder that the agent replaces */
	const char *state;
	const char *run, *rsh, *launcher;
	const char *path; /* directory of our commands there, or "" if PATH already has it */
	struct layout layout;
	const struct variable *given; /* the user's variables, which all parts share; `ngiven` of them */
	size_t ngiven;
};

/* Returns true if the whole job is on virtual nodes, which are parts of this machine. */
bool draft_is_virtual(const struct server *s, const struct draft *p);
/* Returns true if it is on more than one virtual node. */
bool draft_spans_virtual(const struct server *s, const struct draft *p);
/* Returns the first fragment of this part. */
uint32_t draft_first(const struct draft *p);
/* Replaces the placeholders of TORQUE and PBS Pro in file names: ^array_index^ and the like. */
const char *replace_words(const struct server *s, uint32_t id, const char *path, struct arena *a);
/* Sets o->carried and its ticket (prepare_files.c). */
int draft_files(struct server *s, const struct draft *p, struct order *o, struct err *err);
/* Reads the user's variables from the body. */
void draft_given(struct draft *p);
/* Sets o->env and o->foreign.nplaced from the rest of the order. */
void draft_environment(struct server *s, const struct draft *p, struct order *o);

#endif
