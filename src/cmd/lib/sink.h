/*
 * sink.h - text on its way to a descriptor that others have open, too (a standard output): written as far as it goes without waiting, and without making it
 * non-blocking, which would be everybody's.
 */
#ifndef CMD_SINK_H
#define CMD_SINK_H

#include <stdbool.h>

#include "base/strbuf.h"

#define SINK_FULL 262144

struct sink {
	int fd;
	struct strbuf text;
	size_t sent;
};

static inline bool sink_waits(const struct sink *s)
{
	return s->text.n > s->sent;
}

static inline bool sink_full(const struct sink *s)
{
	return s->text.n - s->sent > SINK_FULL;
}

/* 0, or -errno: it can't be written any more, and what waited is dropped. */
int sink_push(struct sink *s);
/* The same, but waits until all is written. */
int sink_flush(struct sink *s);
void sink_fini(struct sink *s);

#endif
