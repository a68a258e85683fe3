/*
 * batch.h - requests to a batch system through its commands: the common part (batch.c) and the
 * dialects (slurm.c, pbs.c).
 *
 * All requests of a run share one name, its *tag*, and each has a number. So one listing shows all
 * of them, and all of them can be cancelled, including those whose submission was never answered.
 *
 * One command runs at a time, each for at most six times the pace. Whatever a command does or fails
 * to do, no more requests are made than allowed:
 *  - a submission that fails, or a job that ends before anything from it has joined, causes a
 *    pause, which doubles up to ten minutes, and a warning with the reason; if the request was
 *    refused as too large, the next one is smaller;
 *  - a job missing from the listing for six times the pace is cancelled and counts as ended, unless
 *    something from it is connected;
 *  - while the listing fails, everything stays as last seen, and the listing is called less often;
 *  - a job of ours that should not exist is cancelled when it is listed; so is the second job of a
 *    request, if the command submitted twice.
 */
#ifndef BAG_BATCH_H
#define BAG_BATCH_H

#include "bag/provider.h"
#include "bag/rebuild.h"
#include "base/hostlist.h"
#include "base/vec.h"

void words_add(name_list *l, const char *option, const char *text);
void words_number(name_list *l, const char *option, int64_t number);
/* Copies the next line of a text, at most `size` - 1 bytes of it; returns false at the end. */
bool line_next(const char *text, size_t n, size_t *at, char *ret, size_t size);

/* A job of ours in a listing. */
struct batch_line {
	char job[64];
	int number;
	enum request_state state;
	enum request_fate fate; /* reason of its end; FATE_OPEN: unknown, or it has not ended */
	char outcome[24];	/* the cluster's word for its end; "": none */
	/* why a waiting job can never start as it is, such as the name of a limit; "": it can */
	char never[64];
};

struct batch_request {
	const char *name; /* tag of the run */
	int id;
	int64_t chunks, each, seconds, memory; /* memory: KiB per processor; 0: not stated */
	int64_t gpus;			       /* GPUs of a chunk */
	bool last;			       /* queue it behind all other jobs */
	const char *script, *output;
};

/* prefix of fillers' tags (filler.h), by which fillers recognise each other */
#define FILLER_PREFIX "sf"
enum { TAG_DIGITS = 8 }; /* random digits of a tag where job names must be short */

struct batch_dialect {
	const char *kind;		    /* such as "slurm" */
	const char *submit, *list, *cancel; /* names of its commands */
	const char *prefix;		    /* prefix of tags */
	int digits;			    /* random digits of a tag */
	int64_t grain;			    /* seconds; the time of a job is a multiple of it; 0: any time */
	/* Shell code for the script of a job. `launch` starts `/bin/sh "$script" node "$end"` on
	 * each node; `node` runs there and sets SHUNT_NODE, SHUNT_CPUS and SHUNT_ALLOCATION. The
	 * shell variables script and seconds are set. */
	const char *launch, *node;
	void (*submit_words)(const struct batch_request *r, name_list *ret);
	/* Finds the job's id in the last line printed by the submit command; returns false if
	 * there is none. */
	bool (*submit_parse)(const char *line, char ret[64]);
	void (*list_words)(const char *name, name_list *ret);
	/* Returns the next job in a listing whose name is `name`, skipping everything else;
	 * false at the end. */
	bool (*next)(const char *name, const char *text, size_t n, size_t *at, struct batch_line *ret);
	void (*cancel_words)(name_list *ret); /* the job ids follow */
	/* Reduces a waiting job to the size of `r`; NULL: not supported. */
	void (*shrink_words)(const struct batch_request *r, const char *job, name_list *ret);
	/* Gives a running job a text to show; NULL: not supported. */
	void (*label_words)(const char *job, const char *text, name_list *ret);
	void (*clear_words)(const char *name, name_list *ret); /* cancels all jobs with this name */
	/* Lists everything needed to rebuild the plan, and parses it; NULL: not supported. */
	void (*plan_words)(const struct provider_options *o, name_list *ret);
	int (*plan_parse)(const char *name, const char *text, size_t n, int64_t now, struct rebuild *ret);
};
/* Returns NUMBER if `value` is NAME-NUMBER, the form of job names on PBS; 0: it is not. */
int tag_number(const char *name, const char *value);
/* Parses the output of `shunt plan --json`. */
int server_plan_parse(const char *name, const char *text, size_t n, int64_t now, struct rebuild *ret);

extern const struct batch_dialect dialect_slurm, dialect_pbs, dialect_shunt;

struct provider *batch_create(const struct batch_dialect *d, const struct provider_user *user,
			      const struct provider_options *options);
int batch_clear(const struct batch_dialect *d, const char *tag, struct err *err);

#endif
