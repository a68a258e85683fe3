/*
 * server.h - the server's state. Every room includes this, and the headers of what it uses of it.
 *
 * One thread owns all of it. A turn of the loop (loop.c): what came in has changed the state, each change an event or a record that the store
 * remembers; then the scheduler decides; then everything is committed; and only then replies, orders, mails and streams leave.
 *
 * Who owns what:
 *	core, plan, sched	where a job is in its life, and on which nodes when
 *	struct entry, struct spec	what the server knows of a job besides: as it was submitted, why it is blocked
 *	struct attempt		processes that were ordered and have not ended
 *	the store		everything, for good
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include <uv.h>

struct agenda;
struct attrs;
struct audience;
struct books;
struct clock;
struct cluster;
struct conf;
struct coordinators;
struct engine;
struct gate;
struct hooks;
struct hosts;
struct http;
struct instance;
struct jobs;
struct limits;
struct names;
struct objects;
struct outlook;
struct plan;
struct post;
struct reader;
struct overlays;
struct remotes;
struct realm;
struct sched;
struct slices;
struct stats;
struct store;
struct turn;
struct users;
struct world;

struct server {
	uv_loop_t *loop;
	/* the core */
	struct cluster *cluster;
	struct plan *plan;
	struct sched *sched;
	struct gate *gate;     /* who is eligible */
	struct limits *limits; /* how many may run */
	/* what it works with */
	struct store *store;
	struct http *http;
	struct engine *engine;
	/* its state, lowest room first */
	struct instance *instance; /* base/ */
	struct clock *clock;
	struct turn *turn;
	struct slices *slices;
	struct post *post;
	struct names *words;
	struct users *users;
	struct stats *stats;
	struct reader *reader;
	struct conf *conf; /* settings/ */
	struct attrs *attrs;
	struct objects *objects;
	struct remotes *remotes;
	struct overlays *overlays;
	struct jobs *jobs; /* job/ */
	struct agenda *agenda;
	struct hosts *hosts; /* node/ */
	struct books *books; /* book/ */
	struct realm *realm; /* site/ */
	struct coordinators *coordinators;
	struct hooks *hooks; /* NULL: they have not begun */
	struct world *world; /* life/ */
	struct outlook *outlook;
	struct audience *audience; /* api/ */
};

/* All of it empty. It lives as long as the process. */
struct server *server_create(void);

#endif
