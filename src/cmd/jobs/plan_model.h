/*
 * plan_model.h - the plan as the pictures need it: nodes, pieces of jobs on them, and a time axis.
 */
#ifndef CMD_PLAN_MODEL_H
#define CMD_PLAN_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/vec.h"

enum piece_state { PIECE_RUNNING, PIECE_GUARANTEED, PIECE_RESERVED };

/* What one job holds of one node for a time. Texts are borrowed from the API's answer. */
struct plan_piece {
	const char *job, *name, *owner;
	int number; /* of the job */
	int node;   /* index */
	int64_t cpus, start, end;
	enum piece_state state;
	bool held; /* without a process of the job, which has the whole partition */
};

struct plan_node {
	const char *name;
	const char *partition; /* "": none */
	int64_t cpus;
	bool up;
	int64_t leaves;	    /* instant at which it is out of service; INT64_MAX: not known */
	const json_t *kept; /* reservations that hold there next; borrowed, or NULL */
	size_t first, n;    /* its pieces */
};

struct plan_view {
	int64_t now, until;
	VEC(struct plan_node) nodes;   /* by partition, shared ones last; else as the server has them */
	bool divided;		       /* some are in partitions */
	VEC(struct plan_piece) pieces; /* by node, then start, then job */
};

/* Out of GET /v1/plan. `horizon` > 0: how far to look, in seconds; otherwise as far as the plan
 * goes. */
void plan_view_make(struct plan_view *v, const json_t *plan, int64_t horizon);
void plan_view_fini(struct plan_view *v);

/* Round local times for an axis: the seconds between them, at most `most` of them. */
int64_t plan_ticks(const struct plan_view *v, int most);
/* The first round time at or after `t`. */
int64_t plan_tick_after(int64_t t, int64_t step);
/* "14:00", or "Wed 18" where days begin or steps are days. Returns buf. */
const char *plan_tick_text(int64_t t, int64_t step, char *buf, size_t size);

/* plan_picture.c: as text in so many columns. */
void plan_picture(const struct plan_view *v, int width, bool colour, FILE *out);
/* plan_svg.c */
void plan_svg(const struct plan_view *v, FILE *out);

#endif
