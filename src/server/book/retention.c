/*
 * retention.c - see retention.h.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/timetext.h"
#include "rules/attr.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/reader.h"
#include "server/book/books.h"
#include "server/book/retention.h"
#include "server/server.h"
#include "store/history.h"

#define SLICE 200 /* rows deleted per commit */
#define PAUSE 1	  /* seconds until the next slice */
/* seconds after which the oldest row is checked in any case: an import may bring older
 * ones */
#define LOOK_MOST 3600

struct look {
	struct read_work work;
	int64_t oldest; /* instant at which it ended; 0: none */
};

static int look_read(struct read_work *w, struct store *store)
{
	return history_oldest(store, &((struct look *)w)->oldest, &w->err);
}

static void look_done(struct read_work *w)
{
	struct look *l = (struct look *)w;
	struct server *s = w->server;
	struct retention *r = &s->books->retention;
	int64_t leaves = l->oldest ? l->oldest + r->keep + 1 : TIME_NEVER;

	r->looking = false;
	r->due = s->clock->now + LOOK_MOST;
	if (w->rc < 0)
		server_log(s, SEVERITY_ERROR, "keep_history: the history can't be read: %s", w->err.text);
	else if (r->keep >= 0 && leaves <= s->clock->now) {
		store_trim_history(s->store, s->clock->now - r->keep, SLICE);
		r->due = s->clock->now + PAUSE;
	} else if (leaves < r->due)
		r->due = leaves;
	free(l);
}

void retention_turn(struct server *s)
{
	struct retention *r = &s->books->retention;
	int64_t keep = attrs_number(s->attrs, SET_KEEP_HISTORY);

	if (keep != r->keep)
		r->due = 0;
	r->keep = keep;
	if (keep < 0 || r->looking || s->clock->now < r->due)
		return;
	struct look *l = mem_zalloc(sizeof *l);
	l->work.read = look_read;
	l->work.done = look_done;
	r->looking = reader_add(s, LANE_LONG, (uid_t)-1, &l->work);
	r->due = s->clock->now + PAUSE;
	if (!r->looking)
		free(l);
}

int64_t retention_next(const struct server *s)
{
	return s->books->retention.keep < 0 || s->books->retention.looking ? TIME_NEVER
									   : s->books->retention.due * 1000000;
}
