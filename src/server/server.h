/*
 * server.h - the server's state. Every component includes this, and the headers of the parts it
 * uses.
 *
 * One thread owns all of it. A turn of the loop (loop.c): input has changed the state, each change
 * being an event or a record for the store; then the scheduler decides; then everything is
 * committed; and only then replies, orders, mails and streams are sent.
 *
 * Owners of the state:
 *
 *	core, plan, sched            state, nodes and times of each job
 *	struct entry, struct spec    other data of a job: its submission, why it is blocked
 *	struct attempt               processes that were ordered and have not ended
 *	the store                    everything, permanently
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
struct log;
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
struct templates;
struct turn;
struct users;
struct world;

struct server {
	uv_loop_t *loop;
	/* scheduling */
	struct cluster *cluster;
	struct plan *plan;
	struct sched *sched;
	struct gate *gate;     /* eligibility of jobs */
	struct limits *limits; /* limits on running jobs */
	/* services */
	struct store *store;
	struct http *http;
	struct engine *engine;
	/* state, lowest component first */
	struct instance *instance; /* base/ */
	struct log *log;	   /* NULL: lines are not kept */
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
	struct templates *templates;
	struct jobs *jobs; /* job/ */
	struct agenda *agenda;
	struct hosts *hosts; /* node/ */
	struct books *books; /* book/ */
	struct realm *realm; /* site/ */
	struct coordinators *coordinators;
	struct hooks *hooks; /* NULL: not started */
	struct world *world; /* life/ */
	struct outlook *outlook;
	struct audience *audience; /* api/ */
};

/* Returns an empty server. It lives as long as the process. */
struct server *server_create(void);

#endif
