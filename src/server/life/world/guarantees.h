/*
 * guarantees.h - what a change by an administrator would do to deadlines that were guaranteed. It is made in a copy of plan and scheduler first: if a job would lose its guarantee
 * there, the change is refused, unless it is insisted on. One place knows all kinds of changes that are asked about: the table in guarantees.c.
 */
#ifndef SERVER_LIFE_GUARANTEES_H
#define SERVER_LIFE_GUARANTEES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/res.h"

struct server;

enum risk_kind {
	RISK_SETTINGS, /* tolerance or kill_delay: the attributes have the new values already */
	RISK_SHUTDOWN, /* of the machine from `at` until `until`; jobs that run are ended */
	RISK_PAUSE,    /* of the server from `at` until `until`: no job starts, and those that run go on */
	RISK_OFFLINE,  /* of a node, which may be removed then */
	RISK_DRAIN,    /* of a node at `at` */
	RISK_SIZE,     /* of a node: it has `total` from now on */
	RISK_EXTEND,   /* of a running job until `until` */
	RISK_KINDS
};

struct risk {
	enum risk_kind kind;
	uint32_t node, job;
	int64_t at, until; /* instants; until TIME_NEVER: not known */
	struct res total;
	bool saves; /* jobs make checkpoints before a shutdown */
};

/* 0: every guaranteed job keeps its guarantee, or it is insisted on (`force`). CODE_BAD_STATE, naming those that would not, otherwise; among them running jobs that a shutdown
 * would end before they may have met their deadlines. */
int guarantees_check(struct server *s, const struct risk *x, bool force, struct err *err);

#endif
