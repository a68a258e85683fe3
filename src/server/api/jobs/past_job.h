/*
 * past_job.h - a job, or an array, that the server has forgotten, put together from its rows of the history and written as the API shows jobs.
 */
#ifndef SERVER_API_PAST_JOB_H
#define SERVER_API_PAST_JOB_H

#include "base/json.h"
#include "store/history.h"

/* "12.pine", "12[3].pine"; or what another system called it. */
const char *past_id(const struct history_row *row, const char *server, char *buf, size_t size);

/* {0} is none. Rows come in the order of their keys; of an array one for each element. */
struct past_job {
	bool element;	     /* of an array, by itself */
	struct arena *arena; /* owns the row's texts */
	struct history_row
		row;	  /* the first; of an array with the first start, the last end, and the sums of what was used */
	int64_t elements; /* 0: there is none, or it is not an array */
	struct strbuf indices; /* "0-9,12" without the last range */
	int64_t first, last;   /* the last range */
};

void past_job_add(struct past_job *p, const struct history_row *row);
/* Members of the open object. */
void past_job_write(const struct past_job *p, const char *server, struct json *j);
void past_job_fini(struct past_job *p);

/* The same of one row, and a row as the history has it. */
void past_row_write(const struct history_row *row, const char *server, struct json *j);
void past_attempt_write(const struct history_row *row, const char *server, struct json *j);

#endif
