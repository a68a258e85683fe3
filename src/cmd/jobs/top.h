/*
 * top.h - what the files of `shunt-top` share: top.c is the loop and the keys, top_data.c asks the
 * server, top_view.c draws.
 */
#ifndef CMD_TOP_H
#define CMD_TOP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "client/client.h"

enum top_view { VIEW_JOBS, VIEW_NODES, VIEW_TEXT };

/* A line of the list; its texts live in the arena of its list. */
struct top_job {
	const char *id, *name, *owner, *state, *cpus, *why;
	char time[64], start[40];
	char used[24];	 /* the first half of `time`, for narrow screens */
	char counts[48]; /* of an array: how many of its elements run; else "" */
};

struct top_node {
	char *name, *state, *note;
	int64_t cpus, used;
	double load;
	int jobs;
};

struct top {
	struct client *client;
	const char *user;	  /* only their jobs; NULL: all */
	bool finished;		  /* show finished jobs, too */
	bool elements;		  /* of arrays, one by one */
	char filter[64];	  /* only jobs with this in a column */
	enum top_view view, back; /* `back`: where a text was opened from */
	/* What the server said last. */
	struct arena *arena;
	VEC(struct top_job) jobs;
	VEC(struct top_node) nodes;
	char server[64], policy[64];
	int64_t running, waiting, cpus, cpus_used;
	int64_t age;	   /* of the expected starts, in seconds */
	char trouble[512]; /* why that is not new; "" if it is */
	/* Where the eye is. */
	int at, first;	 /* the marked line, the first one shown; of the view */
	char marked[64]; /* the marked job: it stays marked when the list moves */
	char message[512];
	/* VIEW_TEXT */
	char title[128];
	struct strbuf text;
	char output_of[64]; /* the job whose output it is, which grows; "" */
	int64_t output_from;
	bool at_end; /* it scrolls by itself */
};

/* top_data.c. They leave what was known when the server doesn't answer, and say so in `trouble`. */
void top_read(struct top *t);
void top_read_output(struct top *t);
/* What the API says to POST /v1/jobs/ACTION of one job, into `message`. */
void top_act(struct top *t, const char *action, const char *id, const char *done);
/* A text about a job: its details, or why it waits. */
void top_ask_job(struct top *t, const char *id, const char *rest);
void top_fini(struct top *t);

/* top_view.c */
void top_draw(struct top *t);
/* Lines of the list or text on the screen. */
int top_height(void);
int top_text_lines(const struct top *t);

#endif
