/*
 * plan_model.h - the plan prepared for drawing: nodes, pieces of jobs on them, and a time axis.
 */
#ifndef CMD_PLAN_MODEL_H
#define CMD_PLAN_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/vec.h"

enum piece_state { PIECE_RUNNING, PIECE_GUARANTEED, PIECE_RESERVED };

/* The part of one node that one job holds for a time. Texts are borrowed from the API's answer. */
struct plan_piece {
	const char *job, *name, *owner;
	int number; /* number of the job */
	int node;   /* index in the model's nodes */
	int64_t cpus, start, end;
	enum piece_state state;
	bool held; /* held without a process of the job, which has the whole partition */
};

struct plan_node {
	const char *name;
	const char *partition; /* "": none */
	int64_t cpus;
	bool up;
	int64_t leaves;	    /* when it goes out of service; INT64_MAX: not known */
	const json_t *kept; /* next reservations of the node; borrowed, or NULL */
	size_t first, n;    /* range of its pieces */
};

struct plan_view {
	int64_t now, until;
	/* by partition, shared ones last; otherwise in the server's order */
	VEC(struct plan_node) nodes;
	bool divided;		       /* some nodes are in partitions */
	VEC(struct plan_piece) pieces; /* by node, then start, then job */
};

/* Builds the view from GET /v1/plan. `horizon` > 0 limits it, in seconds; otherwise it is as long
 * as the plan. */
void plan_view_make(struct plan_view *v, const json_t *plan, int64_t horizon);
void plan_view_fini(struct plan_view *v);

/* Returns the seconds between round local times for an axis with at most `most` ticks. */
int64_t plan_ticks(const struct plan_view *v, int most);
/* Returns the first round time at or after `t`. */
int64_t plan_tick_after(int64_t t, int64_t step);
/* Writes "14:00", or "Wed 18" where days begin or steps are days. Returns buf. */
const char *plan_tick_text(int64_t t, int64_t step, char *buf, size_t size);

/* Draws the plan as text of `width` columns (plan_picture.c). */
void plan_picture(const struct plan_view *v, int width, bool colour, FILE *out);
/* Draws the plan as SVG (plan_svg.c). */
void plan_svg(const struct plan_view *v, FILE *out);

#endif
