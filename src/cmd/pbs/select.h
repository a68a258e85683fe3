/*
 * select.h - selects jobs by what they are: for `qselect`, and for commands that change many jobs
 * at once.
 */
#ifndef CMD_SELECT_H
#define CMD_SELECT_H

#include "base/hostlist.h"
#include "cmd/lib/change.h"

/* Conditions, all of which a job must meet. */
struct selection {
	const char *at, *checkpoint, *holds, *priority, *queue, *rerunnable, *states, *user, *older, *exits;
	struct texts members; /* OPTION_MEMBER: patterns for the job's members */
	struct texts resources, times;
	bool finished, only_finished, arrays, elements;
};

/* The option with which a command that changes jobs selects them, and the one that skips its
 * question. */
struct choice {
	const char *where;
	bool yes;
};
#define CHOICE_ROWS(place)                                                                                                                                    \
	OPTION_ROW(                                                                                                                                           \
		TEXT, 0, "where", place + offsetof(struct choice, where), "NAME=VALUE,...",                                                                   \
		"all of my jobs that fit, by the options of qselect: name='sim*',states=Q,queue=batch,older=2h,exit=1; user=ana: hers, user=*: everybody's"), \
		OPTION_ROW(FLAG, 'y', "yes", place + offsetof(struct choice, yes), NULL,                                                                      \
			   "with --where: do not ask first, on a terminal")

/* Lists the jobs that are named and those that the options select. For the latter it asks on a
 * terminal, as in "Delete 12 jobs? [y/N]". Returns an exit code, not 0 if the user declines. The
 * caller frees the list. */
int jobs_choose(struct change *ch, const struct choice *x, const char *what, const struct operands *o, name_list *ret);

#endif
