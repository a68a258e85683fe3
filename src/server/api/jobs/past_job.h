/*
 * past_job.h - a job or array that the server has forgotten, assembled from its rows of the history
 * and written as the API shows jobs.
 */
#ifndef SERVER_API_PAST_JOB_H
#define SERVER_API_PAST_JOB_H

#include "base/json.h"
#include "store/history.h"

/* Formats "12.pine" or "12[3].pine", or the id that another system gave it. */
const char *past_id(const struct history_row *row, const char *server, char *buf, size_t size);

/* {0} is empty. Rows are added in the order of their keys; an array has one for each element. */
struct past_job {
	bool element;	     /* it is a single element of an array */
	struct arena *arena; /* owns the row's texts */
	/* the first row; for an array it has the first start, the last end, and the sum of the
	 * usage */
	struct history_row row;
	int64_t elements;      /* 0: no rows yet, or not an array */
	struct strbuf indices; /* "0-9,12" without the last range */
	int64_t first, last;   /* the last range */
};

void past_job_add(struct past_job *p, const struct history_row *row);
/* Writes the members of an open object. */
void past_job_write(const struct past_job *p, const char *server, struct json *j);
void past_job_fini(struct past_job *p);

/* Write the same for one row, and a row in the form of the history. */
void past_row_write(const struct history_row *row, const char *server, struct json *j);
void past_attempt_write(const struct history_row *row, const char *server, struct json *j);

#endif
