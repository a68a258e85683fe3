/*
 * guarantees.h - effects of an administrator's change on guaranteed deadlines.
 *
 * The change is first made in a copy of plan and scheduler: if a job would lose its guarantee
 * there, the change is refused unless forced. The table in guarantees.c has all kinds of changes
 * that are checked.
 */
#ifndef SERVER_LIFE_GUARANTEES_H
#define SERVER_LIFE_GUARANTEES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/res.h"

struct server;

enum risk_kind {
	/* changed tolerance or kill_delay: the attributes already have the new values */
	RISK_SETTINGS,
	RISK_SHUTDOWN, /* shutdown of the machine from `at` until `until`; running jobs are ended */
	/* pause of the server from `at` until `until`: no job starts, running jobs continue */
	RISK_PAUSE,
	RISK_OFFLINE, /* a node goes offline, and may be removed then */
	RISK_DRAIN,   /* a node drains at `at` */
	RISK_SIZE,    /* a node has `total` from now on */
	RISK_EXTEND,  /* a running job is extended until `until` */
	RISK_KINDS
};

struct risk {
	enum risk_kind kind;
	uint32_t node, job;
	int64_t at, until; /* instants; until may be TIME_NEVER: not known */
	struct res total;
	bool saves; /* jobs make checkpoints before a shutdown */
};

/* Returns 0 if every guaranteed job keeps its guarantee, or with `force`. Otherwise
 * CODE_BAD_STATE, naming those that would not, including running jobs that a shutdown would end
 * before they can meet their deadlines. */
int guarantees_check(struct server *s, const struct risk *x, bool force, struct err *err);

#endif
