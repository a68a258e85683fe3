/*
 * convert_internal.h - what the readers of other systems' configurations share.
 */
#ifndef CLIENT_CONVERT_INTERNAL_H
#define CLIENT_CONVERT_INTERNAL_H

#include <stdbool.h>

#include "base/vec.h"
#include "convert/convert.h"
#include "rules/queue.h"

/* Maui's weights: a factor's own, times that of its component. */
enum { MAUI_SERVICE, MAUI_RESOURCE, MAUI_CREDENTIAL, MAUI_FAIRSHARE, MAUI_COMPONENTS };
#define MAUI_WEIGHTS 11

struct maui_weights {
	int64_t weight[MAUI_WEIGHTS], component[MAUI_COMPONENTS];
	bool component_set[MAUI_COMPONENTS]; /* else it is 1 */
};

/* What can be expressed only when all of slurm.conf is read. */
struct slurm_weights {
	int64_t age, fairshare, size, partition, qos; /* weights as in the file */
	int64_t max_age;			      /* minutes */
	int64_t cpus;				      /* of all nodes */
	char *file;				      /* where the last weight is; NULL: no weights */
	int64_t line;
	char *defaults; /* what lines PartitionName=DEFAULT say */
};

/* A standing reservation of Maui's: what its hours are made of. */
struct standing {
	char *name;
	int from, to;  /* minutes of the day */
	unsigned days; /* a bit for each, from Monday on */
	bool always;
	char *file; /* where its last line is */
	int64_t line;
};

/* Of an account or a user, among those with the same parent. */
struct share {
	enum object_kind kind;
	char *name, *parent;
	int64_t shares;
};

struct conversion {
	struct ruleset site;
	VEC(char *) remark;
	struct maui_weights maui;
	VEC(struct standing) standing;
	struct slurm_weights slurm;
	VEC(struct share) shares; /* while a dump of sacctmgr is read, as the next two */
	VEC(char *) columns;	  /* of a list */
	char *parent;
	const char *file; /* what is being read */
	int64_t line;
};

/* A remark on the line that is being read. */
void convert_remark(struct conversion *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Finds one, or creates it. NULL: the name is not allowed, which is remarked. */
struct attrs *convert_queue(struct conversion *c, const char *name);
struct attrs *convert_object(struct conversion *c, enum object_kind kind, const char *name);
/* False: it can't be, which is remarked. `a` NULL does nothing. */
bool convert_change(struct conversion *c, struct attrs *a, enum attr_op op, const char *name, const char *value);
bool convert_set(struct conversion *c, struct attrs *a, const char *name, const char *value);
bool convert_number(struct conversion *c, struct attrs *a, const char *name, int64_t value);
bool convert_add(struct conversion *c, struct attrs *a, const char *list, const char *element);

/* Words of a line, which is changed: up to a blank, quotes hold together and are left out. NULL at its end. */
char *convert_word(char **at);
/* A whole number from `min` on; false if it is something else, which is remarked with `key`. */
bool convert_integer(struct conversion *c, const char *key, const char *value, int64_t min, int64_t *ret);

/* Each reads one line without its comment; text is the reader's to change. */
void convert_maui(struct conversion *c, char *line);
void convert_standing(struct conversion *c, const char *name, char *text); /* of maui.cfg */
void convert_standing_end(struct conversion *c);			   /* all files are read */
void convert_standing_fini(struct conversion *c);
void convert_slurm(struct conversion *c, char *line);
void convert_slurm_end(struct conversion *c); /* all files are read */
void convert_slurm_fini(struct conversion *c);
void convert_sacctmgr(struct conversion *c, char *line);
void convert_sacctmgr_end(struct conversion *c);
void convert_qmgr(struct conversion *c, const char *text); /* all of a file */

#endif
