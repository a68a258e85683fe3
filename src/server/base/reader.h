/*
 * reader.h - long reading in the store, beside the server's work: on libuv's pool, by connections of its own, one question after the other.
 *
 * Questions that are answered at once (a job by its id) do not wait for those that may look at millions of rows: each lane has its connection.
 */
#ifndef SERVER_READER_H
#define SERVER_READER_H

#include <stdbool.h>
#include <uv.h>

#include "base/err.h"
#include "base/vec.h"

struct server;
struct store;

enum reader_lane { LANE_QUICK, LANE_LONG, LANE_COUNT };

/* Embedded in what is asked; of the caller until done() is called. */
struct read_work {
	/* On another thread: it must not look at anything of the server that changes. 0, or -errno with a sentence in w->err. */
	int (*read)(struct read_work *w, struct store *store);
	void (*done)(struct read_work *w); /* in the loop; frees it */
	int rc;
	struct err err;
	/* the reader's */
	struct server *server;
	enum reader_lane lane;
	uv_work_t work;
};

/* What the server has of it. */
struct reader {
	char *url; /* of the store */
	struct lane {
		struct store *store;	/* NULL: not connected. Of the one that reads now */
		struct read_work *busy; /* NULL: none */
		VEC(struct read_work *) waiting;
	} lane[LANE_COUNT];
};

/* false: too many wait already, and it was not taken. */
bool reader_add(struct server *s, enum reader_lane lane, struct read_work *w);

#endif
