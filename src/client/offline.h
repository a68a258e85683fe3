/*
 * offline.h - the answers that commands get while no server runs: changes go into the spool (tray.h), and what is read is what the server wrote down last, with
 * the user's own changes since.
 */
#ifndef CLIENT_OFFLINE_H
#define CLIENT_OFFLINE_H

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "base/err.h"
#include "client/client.h"
#include "client/tray.h"

struct far;

struct offline_question {
	const char *method, *path;
	const char *body;  /* JSON, or NULL */
	bool tsv;	   /* of a list: lines */
	const char *token; /* with which changes are sealed where the offer asks for that; or NULL */
	struct far *far;   /* the agent whose spool it is; NULL: it is this host's */
};

/* The queue as it was read last, for the next question. {0} is empty. */
struct offline_seen {
	json_t *jobs;		   /* as of offline_jobs(); NULL: nothing was read */
	int64_t time;		   /* when the server wrote it down */
	struct timespec dir, tray; /* when the two were changed */
	bool told;		   /* the user knows how old it is */
};
void offline_forget(struct offline_seen *x);

/* Answers as the server would; *ret is filled in, also with an error that the server would have found. -EOPNOTSUPP: that takes a server. -ESTALE: there is one
 * again. `dir` is STATE/offline. */
int offline_answer(const char *dir, const struct offer *l, const struct offline_question *q, struct offline_seen *seen,
		   struct reply *ret, struct err *err);

/* Whether somebody has used the spool already since the server went down: then nobody waits for it any more. */
bool offline_used(const char *dir, const struct offer *l);

/* ---- the queue ---- */

/* The jobs that the user may see, by number: an object whose keys are ids without the server's name ("12", "12[]", "12[3]"), and whose values are jobs as GET /v1/jobs
 * has them. *ret_time: when the server wrote it down; 0: never. */
int offline_jobs(const char *dir, const struct offer *l, json_t **ret, int64_t *ret_time, struct err *err);
/* What the server wrote down of them, without the changes since: added to `jobs`. *ret_plan: how long the machine is in use (server/offline/view_plan.h), new; NULL: that is not in it. */
void offline_written(const char *dir, const struct offer *l, json_t *jobs, int64_t *ret_time, json_t **ret_plan);
/* As GET /v1/quota?QUERY has it; `jobs` as of offline_jobs(). New. */
int offline_quota(const char *dir, const struct offer *l, const json_t *jobs, const char *query, json_t **ret,
		  struct err *err);
/* What the server wrote down of quota that the user may see. New; NULL: nothing. */
json_t *offline_quotas(const char *dir, const struct offer *l);
/* The rows that a query ("ids=1,2&state=Q") selects, as the answer's body. *ret_json: the same, new; NULL with `tsv`. */
int offline_list(const json_t *jobs, const char *query, bool tsv, struct strbuf *out, json_t **ret_json,
		 struct err *err);
/* The first line of what the server wrote down: when, and the machine as it was. New; empty: there is none. */
json_t *offline_head(const char *dir, const struct offer *l);
/* As GET /v1/machine has it, but not up; `as_of`: when it was so. New. */
json_t *offline_machine(const char *dir, const struct offer *l);
/* What was expected then holds until this: when it was written down, or the end of the shutdown that was announced, which it is reckoned with. */
int64_t offline_since(const char *dir, const struct offer *l, int64_t written);
/* Opens the view that the user may read: everybody's jobs, or their own. NULL: there is none. */
FILE *offline_view(const char *dir, const struct offer *l);
/* Nothing has been started since then: what was expected to start comes later by that much. */
void offline_put_off(json_t *jobs, int64_t since, int64_t now);
/* The job of this id ("12", "12.pine", "12[]"), or NULL. Borrowed. */
json_t *offline_find(const json_t *jobs, const char *id);

#endif
