/*
 * reader.c - see reader.h.
 */
#include <errno.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"
#include "server/base/clock.h"
#include "server/base/reader.h"
#include "server/base/turn.h"
#include "server/server.h"
#include "store/history.h"
#include "store/store.h"

#define WAITING 100	  /* maximum queries per lane that may wait */
#define WAITING_OF_ONE 25 /* maximum of one user */

static void work_read(uv_work_t *work)
{
	struct read_work *w = work->data;
	struct reader *reader = w->server->reader;
	struct lane *lane = &reader->lane[w->lane];

	if (!lane->store)
		w->rc = store_open_reader(reader->url, &lane->store, &w->err);
	if (w->rc == 0)
		w->rc = w->read(w, lane->store);
}

static void work_done(uv_work_t *work, int status);

/* Returns the oldest query of the earliest round. */
static size_t next_of(const struct lane *lane)
{
	size_t at = 0;

	for (size_t i = 1; i < lane->waiting.n; i++)
		if (lane->waiting.v[i]->round < lane->waiting.v[at]->round)
			at = i;
	return at;
}

static void lane_next(struct server *s, struct lane *lane)
{
	if (lane->busy || lane->waiting.n == 0)
		return;
	size_t at = next_of(lane);
	lane->busy = lane->waiting.v[at];
	lane->round = lane->busy->round;
	vec_remove(&lane->waiting, at);
	uv_queue_work(s->loop, &lane->busy->work, work_read, work_done);
}

static void work_done(uv_work_t *work, int status)
{
	struct read_work *w = work->data;
	struct server *s = w->server;
	struct lane *lane = &s->reader->lane[w->lane];

	lane->busy = NULL;
	if (s->turn->stopped) /* the request has ended */
		return;
	clock_read(s); /* the query may have taken long; a turn follows the poll */
	if (status < 0 && w->rc == 0)
		w->rc = err_set(&w->err, -ECANCELED, "%s", uv_strerror(status));
	if (w->rc < 0) { /* the next query opens a new connection */
		store_close(lane->store);
		lane->store = NULL;
	}
	w->done(w);
	lane_next(s, lane);
}

bool reader_add(struct server *s, enum reader_lane at, uid_t user, struct read_work *w)
{
	struct lane *lane = &s->reader->lane[at];
	uint64_t round = lane->round + (lane->busy && lane->busy->user == user);
	size_t own = 0;

	for (size_t i = 0; i < lane->waiting.n; i++)
		if (lane->waiting.v[i]->user == user) {
			own++;
			round = lane->waiting.v[i]->round + 1;
		}
	if (lane->waiting.n >= WAITING || own >= WAITING_OF_ONE)
		return false;
	w->server = s;
	w->lane = at;
	w->user = user;
	w->round = round;
	w->work.data = w;
	vec_push(&lane->waiting, w);
	lane_next(s, lane);
	return true;
}
