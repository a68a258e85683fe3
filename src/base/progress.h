/*
 * progress.h - one line of progress on a terminal, rewritten in place at most ten times a second;
 * silent when standard error is not a terminal.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdint.h>

struct progress {
	const char *what; /* borrowed */
	int64_t total;
	int64_t last_ms; /* time of the last drawing */
	int64_t begin_ms;
	int on; /* standard error is a terminal */
};

void progress_begin(struct progress *p, const char *what, int64_t total);
void progress_at(struct progress *p, int64_t done);
void progress_end(struct progress *p); /* erases the line */

#endif
