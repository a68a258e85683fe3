/*
 * batch.h - requests to a batch system through its commands: what they have in common (batch.c), and what differs (slurm.c, pbs.c).
 *
 * All requests of a run have one name, its *tag*, and a number: so one listing shows all of them, and all of them can be ended, also those whose submission
 * was never answered.
 *
 * One command runs at a time, each for at most six times the pace. Nothing that a command does or leaves undone causes more requests than allowed:
 *  - a submission that fails, and a job that ends before anybody came from it, are followed by a pause, which doubles up to ten minutes, and a warning with the
 *    reason; if it was refused as too large, the next request is smaller;
 *  - a job that is not listed for six calls' time is cancelled and has ended, unless somebody from it is connected;
 *  - while the listing fails, everything stays as it was last seen, and it is called less often;
 *  - a job of ours that should not be there is cancelled when it is listed; so is the second one of a request, from a command that submits twice.
 */
#ifndef BAG_BATCH_H
#define BAG_BATCH_H

#include "bag/provider.h"
#include "bag/rebuild.h"
#include "base/vec.h"

typedef VEC(char *) word_list;
void words_add(word_list *l, const char *option, const char *text);
void words_number(word_list *l, const char *option, int64_t number);
/* The next line of a text, at most `size` - 1 bytes of it; false: there are no more. */
bool line_next(const char *text, size_t n, size_t *at, char *ret, size_t size);

/* A job of ours in a listing. */
struct batch_line {
	char job[64];
	int number;
	enum request_state state;
	char never[64]; /* of one that waits: why it can never start as it is, such as a limit's name; "": it can */
};

struct batch_request {
	const char *name; /* of the tag */
	int id;
	int64_t chunks, each, seconds, memory; /* memory: KiB of a processor; 0: not stated */
	int64_t gpus;			       /* of a chunk */
	bool last;			       /* behind all other jobs */
	const char *script, *output;
};

#define FILLER_PREFIX "sf" /* of tags of fillers (filler.h), by which they know each other */
enum { TAG_DIGITS = 8 };   /* random ones of tags where names of jobs are short */

struct batch_dialect {
	const char *kind;		    /* "slurm" */
	const char *submit, *list, *cancel; /* how its commands are called */
	const char *prefix;		    /* of tags */
	int digits;			    /* random ones of tags */
	int64_t grain;			    /* seconds of which the time of a job is a multiple; 0: any */
	/* For the script of a job: starts `/bin/sh "$script" node "$end"` on each node; then, there, sets SHUNT_NODE, SHUNT_CPUS and SHUNT_ALLOCATION. The shell
	 * variables script and seconds are set. */
	const char *launch, *node;
	void (*submit_words)(const struct batch_request *r, word_list *ret);
	/* The job's id in what the submit command printed last; false: there is none. */
	bool (*submit_parse)(const char *line, char ret[64]);
	void (*list_words)(const char *name, word_list *ret);
	/* The next job in a listing whose name is `name`; false: there are no more. Whatever else is there is passed over. */
	bool (*next)(const char *name, const char *text, size_t n, size_t *at, struct batch_line *ret);
	void (*cancel_words)(word_list *ret); /* ids follow */
	/* Makes a job that waits as small as `r` is; NULL: it can't be done. */
	void (*shrink_words)(const struct batch_request *r, const char *job, word_list *ret);
	void (*clear_words)(const char *name, word_list *ret); /* ends all of that name */
	/* Everything that is needed to rebuild the plan, and what becomes of it; NULL: it can't be known. */
	void (*plan_words)(const struct provider_options *o, word_list *ret);
	int (*plan_parse)(const char *name, const char *text, size_t n, int64_t now, struct rebuild *ret);
};
/* Of a job called NAME-NUMBER, as PBS's are; 0: it is none of this name. */
int tag_number(const char *name, const char *value);
/* What `shunt plan --json` prints. */
int server_plan_parse(const char *name, const char *text, size_t n, int64_t now, struct rebuild *ret);

extern const struct batch_dialect dialect_slurm, dialect_pbs, dialect_shunt;

struct provider *batch_create(const struct batch_dialect *d, const struct provider_user *user,
			      const struct provider_options *options);
int batch_clear(const struct batch_dialect *d, const char *tag, struct err *err);

#endif
