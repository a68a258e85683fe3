/*
 * show.h - a job as JSON and as text.
 */
#ifndef SERVER_SHOW_H
#define SERVER_SHOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct array;
struct asker;
struct err;
struct json;
struct server;
struct strbuf;

/* Usage of a job: CPU time and run time in seconds, peak memory in KiB. */
struct job_used {
	int64_t cput, walltime, memory;
};
#define USED_NOTHING ((struct job_used){-1, -1, -1}) /* it never ran; shown as null */

struct field;
struct field_list {
	const struct field *v[128];
	int n;
	bool whole;  /* some of them need the body */
	bool sparse; /* members without a value are left out */
};
/* Parses names joined by commas; NULL: all fields of a list. */
int show_fields_parse(const char *fields, struct field_list *ret, struct err *err);
/* Adds the description's members that need no body. */
void show_fields_describe(struct field_list *ret);
void show_whole(struct field_list *ret); /* all fields */
/* Writes the members of an open object. `a`: an array as a whole, with `id` as its first element.
 * `body` may be NULL. */
void show_members(const struct server *s, struct json *j, uint32_t id, const struct array *a,
		  const struct field_list *f, const json_t *body);
/* Removes from a body what this user may not see. */
void show_close(const struct server *s, const struct asker *w, uint32_t id, json_t *body);
/* Appends a line of tab-separated values. The caller's `scratch` holds values temporarily, so that
 * rows need no memory of their own. */
void show_row(const struct server *s, struct strbuf *out, uint32_t id, const struct array *a,
	      const struct field_list *f, struct strbuf *scratch);
/* Appends "(n1:ncpus=2)+(n2:ncpus=2)" for "n1/0+n1/1+n2/0+n2/1". */
void vnodes_format(const char *exec_host, struct strbuf *out);

#endif
