/*
 * top.h - shared by the files of `shunt-top`: top.c has the loop and the keys, top_data.c the
 * requests, top_view.c the drawing.
 */
#ifndef CMD_TOP_H
#define CMD_TOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "client/client.h"

enum top_view { VIEW_JOBS, VIEW_NODES, VIEW_TEXT };

/* The columns of jobs, from the left; the rest of the line is for the reason. Then the time for
 * narrow screens. */
enum { TOP_ID, TOP_NAME, TOP_OWNER, TOP_STATE, TOP_CPUS, TOP_TIME, TOP_START, TOP_WHY, TOP_TIGHT };

/* A line of the list; its texts live in the arena of its list. */
struct top_job {
	const char *id;
	char state;
	const char *text[TOP_TIGHT + 1];
};

struct top_node {
	char *name, *state, *note;
	int64_t cpus, used;
	double load;
	int jobs;
};

struct top {
	struct client *client;
	const char *user;	  /* show only their jobs; NULL: all */
	bool finished;		  /* also show finished jobs */
	bool elements;		  /* show elements of arrays one by one */
	char filter[64];	  /* show only jobs and nodes with this text in a column */
	enum top_view view, back; /* `back`: view from which a text was opened */
	/* The last answers of the server. */
	struct arena *arena;
	VEC(struct top_job) jobs;
	VEC(struct top_node) nodes;
	char server[64], policy[64];
	int64_t running, waiting, cpus, cpus_used;
	int64_t age;	   /* age of the expected starts, s */
	char trouble[512]; /* why the data is old; "": it is current */
	/* The position on the screen. */
	int at, first;	 /* the marked line and the first one shown, in the current view */
	char marked[64]; /* id of the marked job, which stays marked when the list changes */
	char message[512];
	/* VIEW_TEXT */
	char title[128];
	struct strbuf text;
	char output_of[64]; /* job whose output is shown and grows; or "" */
	int64_t output_from;
	bool at_end; /* scrolls automatically */
};

/* Requests (top_data.c). If the server does not answer, the old data stays, and `trouble` says
 * so. */
void top_read(struct top *t);
void top_read_output(struct top *t);
/* POSTs /v1/jobs/ACTION for one job; `message` gets the result. */
void top_act(struct top *t, const char *action, const char *id, const char *done);
/* Shows a text about a job: its details, or why it waits, in lines of at most `width` columns. */
void top_ask_job(struct top *t, const char *id, bool why, int width);
void top_fini(struct top *t);

/* top_view.c */
void top_draw(struct top *t);
/* Returns the number of lines for the list or text on the screen. */
int top_height(void);
int top_text_lines(const struct top *t);

#endif
