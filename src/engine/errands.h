/*
 * errands.h - file transfers for a part: fetches its input files before it starts, delivers its
 * output while it is running, and its output and result files after it has ended (files.h). It
 * wraps a struct local and has the same shape: orders in; started, refused, ended, lost out.
 *
 *	order -> FETCHES -> nursery -> RUNS -> it has ended -> BRINGS -> DONE: end reported
 *	         stagein                output, every second     the rest, stageout
 *
 * An order without files goes straight through. SPOOL/TAG.json records what to do and the progress,
 * so the work continues after a crash; until all is done the attempt counts as running.
 *
 * Output is written directly to its path if that is on a network file system here; the server
 * leaves out other files that need no transfer. Files that can't be delivered stay in SPOOL, and
 * the result's reason names the path.
 */
#ifndef ENGINE_ERRANDS_H
#define ENGINE_ERRANDS_H

#include "engine/files.h"

struct errands;

/* Starts it. `spool`: directory for TAG.out, TAG.err and TAG.json, which users may enter but not
 * write to. */
int errands_start(uv_loop_t *loop, const struct local_options *o, const char *spool, const struct local_listener *l,
		  struct errands **ret, struct err *err);
void errands_stop(struct errands *e); /* jobs keep running */
struct local *errands_local(struct errands *e);
struct files *errands_files(struct errands *e);
struct opener *errands_opener(struct errands *e);

/* The same as in local.h. */
enum attempt_state errands_attach(struct errands *e, const char *tag);
void errands_sweep(struct errands *e, bool (*known)(void *context, const char *tag), void *context);
void errands_order(struct errands *e, const struct order *o);
void errands_save(struct errands *e, const char *tag, enum checkpoint_cause cause, int64_t seconds);
void errands_limit(struct errands *e, const char *tag, int64_t walltime);
/* SIGKILL also ends transfers */
void errands_signal(struct errands *e, const char *tag, int signal);
void errands_list(struct errands *e, void (*one)(void *context, const struct local_item *i), void *context);
void errands_forget(struct errands *e, const char *tag);
void errands_flush(struct errands *e);
size_t errands_backlog(const struct errands *e);

/* Returns the path of an attempt's output on this host if it is in SPOOL; `which`: "out" or "err".
 * Returns false if it is not there. */
bool errands_spooled(const struct errands *e, const char *tag, const char *which, char *ret, size_t size);
/* Returns true if something of it is running or being transferred. */
bool errands_busy(struct errands *e, const char *tag);

#endif
