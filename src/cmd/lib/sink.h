/*
 * sink.h - writes to a descriptor that other processes share (a standard output) without blocking,
 * and without making it non-blocking, which would affect them all.
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

/* Writes what it can. Returns 0, or -errno if the descriptor failed; pending text is then
 * dropped. */
int sink_push(struct sink *s);
/* Writes everything, waiting as needed. */
int sink_flush(struct sink *s);
void sink_fini(struct sink *s);

#endif
