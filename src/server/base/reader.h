/*
 * reader.h - long reads of the store beside the server's work.
 *
 * They run on libuv's thread pool over connections of their own, one query at a time. Each lane has
 * its own connection, so quick queries (a job by its id) do not wait for those that may read
 * millions of rows. In a lane users take turns, and one user can't take all places.
 */
#ifndef SERVER_READER_H
#define SERVER_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "base/err.h"
#include "base/vec.h"

struct server;
struct store;

enum reader_lane { LANE_QUICK, LANE_LONG, LANE_COUNT };

/* Embedded in the query; owned by the caller until done() is called. */
struct read_work {
	/* Runs on another thread: must not read server state that can change. Returns 0, or
	 * -errno with a sentence in w->err. */
	int (*read)(struct read_work *w, struct store *store);
	void (*done)(struct read_work *w); /* called in the loop; frees the work */
	int rc;
	struct err err;
	/* owned by the reader */
	struct server *server;
	uid_t user;
	uint64_t round;
	enum reader_lane lane;
	uv_work_t work;
};

/* The server's readers. */
struct reader {
	char *url; /* URL of the store */
	struct lane {
		struct store *store;	/* connection of the running query; NULL: not connected */
		struct read_work *busy; /* query that is running; NULL: none */
		uint64_t round;		/* round of the last one that was begun: one query of each user */
		VEC(struct read_work *) waiting;
	} lane[LANE_COUNT];
};

/* Queues a query of a user. Returns false if too many wait already, of all or of that user. */
bool reader_add(struct server *s, enum reader_lane lane, uid_t user, struct read_work *w);

#endif
