/* past.h - table of the members of an ended attempt, named as in the API. */
#ifndef SERVER_PAST_H
#define SERVER_PAST_H

#include "base/schema.h"
#include "store/history.h"

struct json;
struct names;
struct spec;
struct strbuf;

/* Forms of an answer that contain a member. */
enum {
	AS_ROW = 1 << 0, /* an attempt in the history */
	/* a job: names and types are those of jobs the server knows (core/jobschema.h) */
	AS_JOB = 1 << 1,
};

/* Rows over struct history_row; its `id` must be set. */
extern const struct field past_members[];

/* Members of a job's description that the history keeps (IN_HISTORY), and their rows there. */
struct past_pairs {
	struct {
		const struct field *from, *to;
	} v[16];
	int n;
};
void past_pairs_find(struct past_pairs *ret);
/* Copies these members of a job to its row; texts are borrowed from `p` and `words`. */
void past_describe(const struct past_pairs *pairs, struct history_row *row, const struct spec *p,
		   const struct names *words);

/* Members of a job without a history column: the rows of core/jobschema.h with IN_MORE. */
extern const struct schema past_more;
/* Writes the job's members of that kind as history_row.members; returns NULL if it has none. */
const char *past_more_store(const struct spec *p, const struct names *words, struct strbuf *out);
/* Writes a row's members of that kind into the open object; null where it has none. */
void past_more_show(const struct history_row *row, struct json *j);

#endif
