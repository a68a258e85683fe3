/*
 * past.h - the members of an attempt that has ended, as the API calls them, by their rows.
 */
#ifndef SERVER_PAST_H
#define SERVER_PAST_H

#include "base/schema.h"
#include "store/history.h"

struct json;
struct names;
struct spec;
struct strbuf;

/* Forms of an answer that have a member. */
enum {
	AS_ROW = 1 << 0, /* an attempt in the history */
	AS_JOB = 1 << 1, /* a job: names and types are those of jobs that the server knows (core/jobschema.h) */
};

/* Rows of struct history_row; its `id` must be set. */
extern const struct field past_members[];

/* Copies what the history keeps of a job's description (IN_HISTORY); texts are borrowed from `p` and `words`. */
void past_describe(struct history_row *row, const struct spec *p, const struct names *words);

/* Members of a job without a column in the history: the rows of core/jobschema.h with IN_MORE. */
extern const struct schema past_more;
/* Writes those that the job has as history_row.members; NULL: it has none. */
const char *past_more_store(const struct spec *p, const struct names *words, struct strbuf *out);
/* Writes those of a row into the open object: null where it has none. */
void past_more_show(const struct history_row *row, struct json *j);

#endif
