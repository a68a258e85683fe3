/*
 * audit_jobs.h - records actions on other users' jobs in the audit log, with the command that
 * undoes them where there is one.
 */
#ifndef SERVER_AUDIT_JOBS_H
#define SERVER_AUDIT_JOBS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct action_kind;
struct change;

/* State of the job before the action. */
struct audit_job {
	json_t *subject; /* alterations only: change_subject() */
	uint32_t queue;	 /* word */
	uint8_t holds;
};

/* Notes the state before an action. Returns false if the job is the user's own, and nothing is to
 * be recorded. */
bool audit_job_begin(struct change *c, const struct action_kind *kind, uint32_t id, struct audit_job *ret);
/* Records the action once it was done. name: as the user called the job; NULL: the job's id. */
void audit_job_end(struct change *c, const struct action_kind *kind, uint32_t id, const char *name, const json_t *args,
		   const struct audit_job *b);
void audit_job_free(struct audit_job *b);

#endif
