/*
 * census.h - how many jobs there are of each kind, without a pass over all of them.
 *
 * The jobs of a block (base/marks.h) are counted again when one of them has changed. Whatever
 * changes what a row says of a job marks it: the fold of its events, the gate, a line of the
 * scheduler, and its creation and removal.
 */
#ifndef SERVER_CENSUS_H
#define SERVER_CENSUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct census;
struct marks;
struct server;

/* Jobs that have all of this in common. A kind has a row for each block in which it occurs. */
struct census_row {
	uid_t uid;
	uint32_t owner, queue, account; /* words */
	char state;			/* letter */
	bool running;			/* on this site; `state` may be that at another one */
	bool eligible;			/* they wait for nothing but resources */
	uint32_t jobs;
	int64_t cpus; /* held by running ones */
};

void census_each(const struct server *s, void (*one)(void *context, const struct census_row *r), void *context);
void census_mark(const struct server *s, uint32_t id);
/* Returns the marks, for those who change a job without an event. */
struct marks *census_marks(const struct server *s);

#endif
