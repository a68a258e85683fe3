/*
 * joblist.h - lists of jobs. One table (jobcolumns.c) has the columns: which members of a job each
 * reads, and how it makes a text of them; any other column is a member of the API's job as it is. A
 * listing names its columns, and requests what they read.
 */
#ifndef CMD_JOBLIST_H
#define CMD_JOBLIST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hostlist.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "client/client.h"

struct table;

#define READS_MOST 5 /* members that a column reads */

/* What a column's text is made of. */
struct making {
	/* the members that the column reads, "" if they are missing; NULL: it reads fewer */
	char *v[READS_MOST];
	int64_t now;
	int form;      /* form of the column */
	bool full_ids; /* with the server's name */
	char text[256];
};

struct job_column {
	const char *name;
	const char *reads; /* members: "started,expected_start" */
	/* Makes the text, in `text` or borrowed; "": there is no value. */
	const char *(*make)(struct making *m);
	int form;
};

/* Returns the column, or NULL for a member. */
const struct job_column *job_column_find(const char *name);

/* Returns Maui's word for a job's `state` and `blocks`. */
const char *maui_state(const char *state, const char *blocks);

/* A column of a listing. */
struct joblist_column {
	char heading[24];		 /* heading for table_create(); "": the listing has ended */
	char none[12];			 /* shown if there is no value */
	const struct job_column *column; /* NULL: a member */
	int cell[READS_MOST], n;
};

/* A request for jobs, whose rows have a cell for each member. */
struct joblist {
	/* Called with the cells of each job, which it may change. */
	void (*row)(void *context, char **cell);
	void *context;
	name_list members;
	bool older;			    /* the server does not know the newest members: their cells are empty */
	VEC(struct joblist_column) columns; /* columns of all listings, one after the other */
	struct making making;
};

/* Requests a member. Returns the number of its cell. */
int joblist_member(struct joblist *l, const char *name);
/* Requests what a listing reads: "HEADING:COLUMN" for each column, which is a name in jobcolumns.c
 * or of a member; then "?TEXT" if that is shown instead of no value. '_' in headings and texts is
 * a blank. Returns the number of its first column. */
int joblist_add(struct joblist *l, const char *listing);
/* Appends "fields=" with the members to the path. */
void joblist_query(const struct joblist *l, struct strbuf *path);
/* Requests the jobs that the path selects and calls l->row with each. Returns -errno as
 * client_read() does. */
int joblist_read(struct joblist *l, struct client *client, struct strbuf *path, struct err *err);
/* Calls l->row with the cells of a job's object. */
void joblist_object(struct joblist *l, const json_t *job);
/* Makes the text of a column. Borrowed until the next call. */
const char *joblist_text(struct joblist *l, int column, char *const *cell);
void joblist_fini(struct joblist *l);

/* Appends text in `width` columns, and a blank after it. What is shorter is padded with blanks, on
 * the left if `width` is negative; what is longer is cut. A number, which is aligned right, is not
 * cut: it would become another one. */
void column_add(struct strbuf *out, const char *text, int width);
/* Creates a table for a listing; adds a job to it. `first` is the listing's first column. */
struct table *joblist_table(const struct joblist *l, int first);
void joblist_row(struct joblist *l, int first, struct table *t, char *const *cell);

#endif
