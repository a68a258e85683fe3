/*
 * errands.h - what is done for a part before it starts and after it has ended: files that it needs are brought, its output is carried home, results are brought
 * away (files.h). It stands before a struct local and has its shape: orders in; started, refused, ended, lost out.
 *
 *	order -> FETCHES -> the nursery's -> RUNS -> it has ended -> BRINGS -> DONE: ended is told
 *	         stagein                     output home, every second       the rest, stageout
 *
 * An order with nothing to carry goes straight through. SPOOL/TAG.json says what is to be done, and how far it is, so that whoever
 * starts after a crash goes on with it; until all is done the attempt counts as one that runs.
 *
 * Output is written straight to its path if that is on a network's file system here; the server leaves away what else needs no carrying. What can't be
 * carried stays in SPOOL, and the result's reason says where.
 */
#ifndef ENGINE_ERRANDS_H
#define ENGINE_ERRANDS_H

#include "engine/files.h"

struct errands;

/* `spool`: directory for TAG.out, TAG.err and TAG.json, where users may enter and nobody else may write. */
int errands_start(uv_loop_t *loop, const struct local_options *o, const char *spool, const struct local_listener *l,
		  struct errands **ret, struct err *err);
void errands_stop(struct errands *e); /* jobs go on */
struct local *errands_local(struct errands *e);
struct files *errands_files(struct errands *e);
struct opener *errands_opener(struct errands *e);

/* As those of local.h. */
enum attempt_state errands_attach(struct errands *e, const char *tag);
void errands_sweep(struct errands *e, bool (*known)(void *context, const char *tag), void *context);
void errands_order(struct errands *e, const struct order *o);
void errands_save(struct errands *e, const char *tag, enum checkpoint_cause cause, int64_t seconds);
void errands_limit(struct errands *e, const char *tag, int64_t walltime);
void errands_signal(struct errands *e, const char *tag, int signal); /* SIGKILL also ends what is being carried */
void errands_list(struct errands *e, void (*one)(void *context, const struct local_item *i), void *context);
void errands_forget(struct errands *e, const char *tag);
void errands_flush(struct errands *e);
size_t errands_backlog(const struct errands *e);

/* Where the output of an attempt is on this host, if it is in SPOOL: "out" or "err". False: it is not. */
bool errands_spooled(const struct errands *e, const char *tag, const char *which, char *ret, size_t size);
/* Something of it runs, or is being carried. */
bool errands_busy(struct errands *e, const char *tag);

#endif
