/*
 * watch.h - prints the output of many jobs, each line with its job.
 */
#ifndef CMD_WATCH_H
#define CMD_WATCH_H

#include <stdbool.h>

#include "client/client.h"
#include "cmd/lib/command.h"

struct watching {
	const char *user; /* whose jobs; NULL: those of `ids` */
	const char *ids;  /* jobs and arrays, joined by commas */
	bool error;	  /* standard error instead of standard output */
	bool follow;	  /* continue until all have ended */
	bool raw;	  /* write output unchanged */
};
/* Prints the output of the jobs so far. Returns an exit code. */
int output_watch(const struct command *c, struct client *client, const struct watching *w);

#endif
