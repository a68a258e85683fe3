/*
 * pbsattr.h - converts the API's objects to PBS's attributes, in the order and words of its two
 * families.
 *
 * TORQUE and PBS Pro give some things different names (start_time and stime) and completed jobs
 * different letters (C and F). Text for people and scripts names both; XML is TORQUE's, JSON and
 * DSV are PBS Pro's.
 */
#ifndef CMD_PBSATTR_H
#define CMD_PBSATTR_H

#include <jansson.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum pbs_family {
	PBS_TORQUE = 1,
	PBS_PRO = 2,
	PBS_BOTH = 3, /* a completed job is shown as C */
};

enum pbsattr_kind {
	PBSATTR_TEXT,
	PBSATTR_NUMBER,	   /* also a number in JSON */
	PBSATTR_INSTANT,   /* seconds since 1970; XML prints the number, other formats ctime() */
	PBSATTR_VARIABLES, /* an object in JSON */
};

struct pbsattr {
	const char *name;
	const char *resource; /* "walltime" of Resource_List, or NULL */
	const char *value;
	enum pbsattr_kind kind;
	const json_t *variables; /* PBSATTR_VARIABLES only: ["NAME=value"] */
};

/* The attributes of one object. {0} is empty; borrows from the object. */
struct pbsattrs {
	struct arena *arena;
	VEC(struct pbsattr) list;
};

void pbsattrs_fini(struct pbsattrs *a);
void pbsattrs_clear(struct pbsattrs *a);

/* Writes the fields of a list of jobs that pbsattr_job() makes attributes of, joined by commas. */
void pbsattr_fields(struct strbuf *out);
/* Returns the member of a job that -W NAME=TEXT sets as it is, or NULL. */
const char *pbsattr_more(const char *name);
extern const char pbsattr_more_names[]; /* all names that -W accepts, for messages */

/* Each appends the attributes of an object. */
void pbsattr_job(struct pbsattrs *a, const json_t *job, enum pbs_family family);
void pbsattr_queue(struct pbsattrs *a, const json_t *queue, enum pbs_family family);
void pbsattr_server(struct pbsattrs *a, const json_t *server, enum pbs_family family);
void pbsattr_node(struct pbsattrs *a, const json_t *node, enum pbs_family family);
/* Writes a node's state in PBS's words; `full` is the word for one without a free CPU. Returns
 * buf. */
const char *pbs_node_state(const char *state, const char *full, char *buf, size_t size);

/* Writes lines " name.resource = value". `width` > 0 wraps as PBS does: at commas where possible,
 * with a tab before continuations. */
void pbsattr_text(const struct pbsattrs *a, int indent, int width, struct strbuf *out);
/* Writes "<name>value</name>", with resources inside their attribute. */
void pbsattr_xml(const struct pbsattrs *a, struct strbuf *out);
/* Returns a new object. (By jansson: base/json.h and jansson.h both have a json_string.) */
json_t *pbsattr_json(const struct pbsattrs *a);
/* Writes "name.resource=value", separated by `delimiter`. */
void pbsattr_dsv(const struct pbsattrs *a, const char *delimiter, struct strbuf *out);
/* Writes text for XML: '<', '>', '&' and quotes as entities; characters that XML cannot express as
 * '?'. */
void xml_quote(const char *text, struct strbuf *out);

/* Returns "Transit:0 Queued:2 ..." for an object's `counts`, and their sum. */
const char *pbsattr_counts(struct pbsattrs *a, const json_t *counts, int64_t *ret_total);

#endif
