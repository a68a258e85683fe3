/*
 * offline.h - answers for commands while no server runs. Changes go into the spool (tray.h); reads
 * show the server's last written view with the user's own changes since.
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
	bool tsv;	   /* for a list: tab-separated lines instead of JSON */
	const char *token; /* login token that seals changes if the offer requires it; or NULL */
	struct far *far;   /* agent that owns the spool; NULL: the spool is on this host */
};

/* The queue as last read, cached for the next request. {0} is empty. */
struct offline_seen {
	json_t *jobs;		   /* result of offline_jobs(); NULL: nothing read yet */
	int64_t time;		   /* when the server wrote the view */
	struct timespec dir, tray; /* modification times of the two directories */
	bool told;		   /* the user has been shown how old the view is */
};
void offline_forget(struct offline_seen *x);

/* Answers as the server would. Fills in *ret, also for errors the server would have reported.
 * Returns -EOPNOTSUPP if the request needs a server, -ESTALE if a server is running again. `dir` is
 * STATE/offline. */
int offline_answer(const char *dir, const struct offer *l, const struct offline_question *q, struct offline_seen *seen,
		   struct reply *ret, struct err *err);

/* Returns true if a change was already spooled since the server went down; commands then no longer
 * wait for it. */
bool offline_used(const char *dir, const struct offer *l);

/* ---- the queue ---- */

/* Collects the jobs the user may see: an object from ids without the server's name ("12", "12[]",
 * "12[3]") to jobs as in GET /v1/jobs, ordered by number. *ret_time is when the server wrote them;
 * 0: never. */
int offline_jobs(const char *dir, const struct offer *l, json_t **ret, int64_t *ret_time, struct err *err);
/* Adds the jobs of the server's last view, without later changes, to `jobs`. *ret_plan is a new
 * object that says how long the machine is in use (server/offline/view_plan.h); NULL if the view
 * has none. */
void offline_written(const char *dir, const struct offer *l, json_t *jobs, int64_t *ret_time, json_t **ret_plan);
/* Answers GET /v1/quota?QUERY; `jobs` comes from offline_jobs(). *ret is new. */
int offline_quota(const char *dir, const struct offer *l, const json_t *jobs, const char *query, json_t **ret,
		  struct err *err);
/* Returns a new object with the quota in the server's last view that the user may see; NULL:
 * none. */
json_t *offline_quotas(const char *dir, const struct offer *l);
/* Writes the rows that a query ("ids=1,2&state=Q") selects as the body of the answer. *ret_json is
 * the same as a new object; NULL with `tsv`. */
int offline_list(const json_t *jobs, const char *query, bool tsv, struct strbuf *out, json_t **ret_json,
		 struct err *err);
/* Answers GET /v1/machine with the machine marked down; `as_of` is the age of the data. New. */
json_t *offline_machine(const char *dir, const struct offer *l);
/* Returns the time until which expected starts hold: when the view was written, or the end of the
 * announced shutdown, which the plan already accounts for. */
int64_t offline_since(const char *dir, const struct offer *l, int64_t written);
/* Opens the view the user may read: everybody's jobs, or their own. Returns NULL if there is
 * none. */
FILE *offline_view(const char *dir, const struct offer *l);
/* Delays expected starts by now - since, because nothing has started in between. */
void offline_put_off(json_t *jobs, int64_t since, int64_t now);
/* Returns the job with this id ("12", "12.pine", "12[]"), borrowed, or NULL. */
json_t *offline_find(const json_t *jobs, const char *id);

#endif
