/*
 * audit_jobs.h - actions on other people's jobs, for the audit log, with the command that takes them back where there is one.
 */
#ifndef SERVER_AUDIT_JOBS_H
#define SERVER_AUDIT_JOBS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct action_kind;
struct change;

/* What the job was before the action. */
struct audit_job {
	json_t *subject; /* of an alteration: change_subject() */
	uint32_t queue;	 /* word */
	uint8_t holds;
};

/* Before an action. False: the job is the user's own, and nothing is to be recorded. */
bool audit_job_begin(struct change *c, const struct action_kind *kind, uint32_t id, struct audit_job *ret);
/* It was done. name: as the user called it; NULL: the job's id. */
void audit_job_end(struct change *c, const struct action_kind *kind, uint32_t id, const char *name, const json_t *args,
		   const struct audit_job *b);
void audit_job_free(struct audit_job *b);

#endif
