/*
 * convert_internal.h - shared by the readers of other systems' configurations.
 */
#ifndef CLIENT_CONVERT_INTERNAL_H
#define CLIENT_CONVERT_INTERNAL_H

#include <stdbool.h>

#include "base/vec.h"
#include "convert/convert.h"
#include "rules/queue.h"

/* Maui's weights: a factor counts by its own weight times the weight of its component. */
enum { MAUI_SERVICE, MAUI_RESOURCE, MAUI_CREDENTIAL, MAUI_FAIRSHARE, MAUI_COMPONENTS };
#define MAUI_WEIGHTS 11

struct maui_weights {
	int64_t weight[MAUI_WEIGHTS], component[MAUI_COMPONENTS];
	bool component_set[MAUI_COMPONENTS]; /* false: the component's weight is 1 */
};

/* Settings that can be converted only after all of slurm.conf is read. */
struct slurm_weights {
	int64_t age, fairshare, size, partition, qos; /* weights as in the file */
	int64_t max_age;			      /* minutes */
	int64_t cpus;				      /* total of all nodes */
	/* file of the last weight; NULL: no weights */
	char *file;
	int64_t line;
	char *defaults; /* values of the lines PartitionName=DEFAULT */
};

/* The hours of one of Maui's standing reservations. */
struct standing {
	char *name;
	int from, to;  /* minutes of the day */
	unsigned days; /* one bit per weekday, Monday first */
	bool always;
	char *file; /* file of its last line */
	int64_t line;
};

/* Fairshare of an account or a user among those with the same parent. */
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
	VEC(struct share) shares; /* while reading a dump of sacctmgr, like the next two */
	VEC(char *) columns;	  /* column names of a list */
	char *parent;
	const char *file; /* the file being read */
	int64_t line;
};

/* Adds a remark on the line being read. */
void convert_remark(struct conversion *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Finds or creates a queue or object. Returns NULL if the name is not allowed, after a remark. */
struct attrs *convert_queue(struct conversion *c, const char *name);
struct attrs *convert_object(struct conversion *c, enum object_kind kind, const char *name);
/* Changes an attribute. Returns false if that is not possible, after a remark. Does nothing if `a`
 * is NULL. */
bool convert_change(struct conversion *c, struct attrs *a, enum attr_op op, const char *name, const char *value);
bool convert_set(struct conversion *c, struct attrs *a, const char *name, const char *value);
bool convert_number(struct conversion *c, struct attrs *a, const char *name, int64_t value);
bool convert_add(struct conversion *c, struct attrs *a, const char *list, const char *element);

/* Cuts the next word off a line, which is modified: it ends at a blank; quotes group and are
 * removed. Returns NULL at the end of the line. */
char *convert_word(char **at);
/* Reads a whole number of at least `min`. Returns false for anything else, after a remark that
 * names `key`. */
bool convert_integer(struct conversion *c, const char *key, const char *value, int64_t min, int64_t *ret);

/* Each reads one line without its comment and may modify it. */
void convert_maui(struct conversion *c, char *line);
/* Reads a SRCFG line of maui.cfg. */
void convert_standing(struct conversion *c, const char *name, char *text);
void convert_standing_end(struct conversion *c); /* after the last file */
void convert_standing_fini(struct conversion *c);
void convert_slurm(struct conversion *c, char *line);
void convert_slurm_end(struct conversion *c); /* after the last file */
void convert_slurm_fini(struct conversion *c);
void convert_sacctmgr(struct conversion *c, char *line);
void convert_sacctmgr_end(struct conversion *c);
void convert_qmgr(struct conversion *c, const char *text); /* reads a whole file */

#endif
