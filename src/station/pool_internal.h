/*
 * pool_internal.h - the state of shunt-pool. Everything belongs to one loop in one thread.
 */
#ifndef STATION_POOL_INTERNAL_H
#define STATION_POOL_INTERNAL_H

#include <uv.h>

#include "base/map.h"
#include "net/link.h"
#include "net/listener.h"
#include "station/census.h"
#include "station/discover.h"
#include "station/gossip.h"
#include "station/pool_home.h"
#include "station/pool_load.h"
#include "station/pool_table.h"
#include "station/pool_task.h"
#include "station/pool_waiting.h"
#include "station/removed.h"
#include "station/sentry.h"

struct pool;
struct guest;

/* ---- links that we opened: to hosts of our tasks (pool_links.c) ---- */

struct host {
	struct pool *pool;
	struct host *next;
	char name[PEER_NAME_SIZE];
	struct link *link; /* NULL: not connected */
	bool welcome;	   /* true if it takes tasks */
	/* ms: when we last answered its ping; our tasks there end at most one lease later */
	int64_t answered;
	int64_t retry_at;     /* ms: when to connect again */
	int failures;	      /* failed attempts to connect in a row */
	int tasks;	      /* our tasks there or on their way */
	int64_t wanted_until; /* ms: in a gossiping pool, the link may be closed after this */
	char *rumors;	      /* text to send once the link is open */
	uint64_t told;	      /* number of the newest list of removed stations sent there */
};
int links_start(struct pool *p, struct err *err);
void links_stop(struct pool *p);
void links_tick(struct pool *p); /* called once an interval */
/* Adds or updates a member; returns true if it is new or has moved. A removed station is ignored
 * unless it has joined again. */
bool member_learn(struct pool *p, const char *name, const char *where, uint64_t join);
struct host *host_find(struct pool *p, const char *name);
/* Returns when none of our tasks can be running there any more, if we do not answer again. */
int64_t pool_lease_end(const struct pool *p, const struct host *h);
int64_t pool_now(void); /* ms since the machine started, including suspend */

/* ---- gossip in large pools (pool_gossip.c) ---- */

bool pool_gossips(const struct pool *p);
int64_t pool_round(const struct pool *p);    /* length of a round, ms */
int64_t pool_interval(const struct pool *p); /* ms within which every live station is heard from */
/* Opens its link if needed and keeps it for a while. */
struct host *host_want(struct pool *p, const char *name);
void gossip_tick(struct pool *p, int64_t now);
void rumors_send(struct host *h);
void rumors_take(struct pool *p, const json_t *head);

/* ---- stations that were removed (pool_removed.c) ---- */

int removed_load(struct pool *p, struct err *err); /* -EKEYREVOKED: this station was removed */
void removed_send(struct host *h);		   /* unless we have already sent it the list */
void removed_hear(struct pool *p, const json_t *head);
/* Removes a member. Runs on the station that has the authority; all others are notified. */
int member_remove(struct pool *p, const char *name, struct err *err);

/* ---- this station's certificate (pool_identity.c) ---- */

struct identity {
	struct tls_context *calls, *listens;
	uint64_t join;
	int64_t from, until; /* seconds since 1970 */
	int64_t asked;	     /* ms: when a renewal was last requested; 0: never */
};
int identity_load(struct pool *p, struct err *err);
void identity_drop(struct pool *p);
void identity_turn(struct pool *p, int64_t now); /* requests a renewal in time */
/* Requests a renewal now. Waiting clients (`renews`) get the answer. */
int identity_renew(struct pool *p, struct err *err);
void renewal_take(struct host *h, const char *type, const json_t *head);
void renewal_serve(struct guest *g, const json_t *head);

/* ---- our tasks on other stations (pool_origin.c) ---- */

struct client {
	struct pool *pool;
	struct client *next;
	struct link *link;
	bool paused;
	bool renews;	       /* waits for this station's new certificate */
	struct errand *reader; /* task that gets its input */
	uint64_t number;       /* number of its job, from 1 */
	size_t waiting;	       /* number of its tasks without a station */
	uint64_t turn;	       /* while it has any: its place among the jobs that wait */
	bool live;
};
struct errand; /* a task, from its client's request to its result */
struct errands {
	struct errand *first, *last; /* all tasks, in order of arrival */
	struct waiting_list waiting; /* tasks without a station */
	uint64_t turns;		     /* given out so far */
	struct map placed;	     /* placed tasks by id */
	size_t limbo, finished;	     /* number of tasks in each of these stages */
};
/* Adds a task; `start` is copied. With `input`, more follows by errand_input(). */
void errand_add(struct pool *p, struct client *c, int number, const struct peer_start *start,
		const struct pool_need *need, bool live, bool input);
/* Passes input on; n == 0 ends it. */
void errand_input(struct pool *p, struct client *c, int number, const char *data, size_t n);
void origin_signal(struct pool *p, struct client *c, int signal);
/* Drops the tasks of a client that has gone. */
void errands_drop(struct pool *p, struct client *c);
void errands_drained(struct pool *p, struct client *c);
/* Returns true if too much input is queued. */
bool errands_flooded(const struct pool *p, const struct client *c);
void origin_frame(struct host *h, const char *t, json_t *head, const char *data, size_t n);
void origin_welcome(struct host *h); /* its link is open */
void origin_lost(struct host *h);    /* its link is closed */
void origin_place(struct pool *p);   /* places every task that can be placed now */
size_t origin_waiting(const struct pool *p);
void origin_stop(struct pool *p);

/* ---- tasks of other stations, run here (pool_host.c) ---- */

struct guest { /* a link opened by another station */
	struct pool *pool;
	struct guest *next;
	struct link *link;
	char name[PEER_NAME_SIZE];
	bool hello;
	int lease_ms;
	struct pool_lease *lease;
	int tasks; /* tasks that use the shared lease */
	bool gone;
};
void guest_serve(void *context, struct link *l);
void guests_tick(struct pool *p);
void guests_stop(struct pool *p);
void host_frame(struct guest *g, const char *t, json_t *head, const char *data, size_t n);
void host_drop(struct guest *g);    /* the link is closed: its tasks end */
void host_drained(struct guest *g); /* its link has space again */
/* Returns the number of tasks queued or running here, and the processor time of all so far. */
int host_tasks(const struct pool *p, int64_t *ret_cpu_ms);
void host_stop(struct pool *p);
/* Freezes the tasks; repeat while they must stay frozen. */
void host_hold(struct pool *p, bool hold);
/* Ends the tasks here so that they start elsewhere. Returns how many had begun. */
int host_leave(struct pool *p, int64_t *ret_cpu_ms);
json_t *host_list(const struct pool *p); /* tasks running here: [{from, tasks}] */
void host_go(struct pool *p);		 /* starts queued tasks */
/* Limits all tasks together to `spare` bytes more than they use now; frozen tasks are made to
 * give back memory (run/hold.h). */
void host_memory(struct pool *p, int64_t spare);
/* Collects the processes of tasks and their keepers, sorted. */
void host_pids(const struct pool *p, pid_list *ret);
int host_running(const struct pool *p); /* running or runnable threads of tasks */
void guest_release(struct guest *g);

/* ---- the owner of this machine (pool_guard.c, pool_door.c) ---- */

struct guard {
	struct sentry sentry;
	/* running or runnable processes of the owner, averaged over the last seconds */
	double interactive, batch;
	int64_t counted; /* ms: when they were last counted */
	struct owner_book book;
	int64_t counted_to; /* ms: end of the time that `book` covers */
	int64_t spent_ms;   /* processor time of all tasks, as last seen */
	uint64_t gpus;	    /* GPUs that the owner uses, one bit each */
	int ngpus;	    /* number of GPUs; 0 where the owner's are not watched */
	int64_t gpus_at;    /* ms: when they were last checked */
	uv_timer_t timer;
	bool up;
};
int pool_guard_start(struct pool *p, struct err *err);
void pool_guard_stop(struct pool *p);
void pool_pause(struct pool *p, int64_t until); /* 0 ends the pause */
void guard_spent(struct pool *p, int64_t ms);	/* processor time of all tasks so far */
void station_gpus_look(struct pool *p, const char *dev, int64_t now);
/* Returns the environment of a task, with the GPUs that it may use. */
const char **station_gpus_environment(const struct pool *p, struct arena *a, const char **env);
void pool_door_open(struct pool *p);
void pool_door_close(struct pool *p);
void book_load(struct pool *p);
void book_store(struct pool *p);

/* ---- discovery by multicast (pool_discover.c) ---- */

struct finder {
	int fd; /* -1: none */
	bool authority;
	struct discover mine;
	int64_t say_at; /* ms: time of the next announcement */
	uv_poll_t poll;
};
void discover_start(struct pool *p);
void discover_stop(struct pool *p);
void discover_tick(struct pool *p, int64_t now);

/* ---- commands on this machine (pool_client.c) ---- */

int clients_start(struct pool *p, struct err *err);
void clients_stop(struct pool *p);
void clients_tick(struct pool *p);

/* ---- joining (pool_join.c) ---- */

/* Serves a peer without a certificate, which may request one. */
void joiner_serve(void *context, int fd, const char *address);
int pool_join(const struct pool_home *h, struct pool_conf *c, const char *seed, const char *token, struct err *err);

/* ---- the daemon ---- */

struct pool {
	uv_loop_t *loop;
	struct pool_home home;
	struct pool_conf conf;
	struct identity identity;
	struct listener *listener;
	int port;
	uint64_t run;
	struct removed removed;
	struct pool_table table;
	struct pool_load *load;
	struct peer_report mine, told; /* current report; last report sent */
	int64_t looked;
	struct pool_user user; /* account that runs the tasks */
	struct cgroup cgroup;  /* parent of the tasks' control groups */
	struct guard guard;
	struct finder discover;
	uv_timer_t tick;
	uv_timer_t leases; /* runs out when the next lease of a running task may be over */
	struct host *hosts;
	struct gossip gossip;
	VEC(char *) numbered; /* names, by pool_entry.number; 0 is our own */
	int64_t next_round;
	uint64_t gossiped_seq;
	int quiet_rounds;
	bool members_new; /* not stored yet */
	struct guest *guests;
	struct errands errands;
	uint64_t next_id;
	uint64_t next_job;	 /* number of the last client */
	struct host_task *tasks; /* other stations' tasks, here */
	int64_t spent_ms;	 /* processor time of tasks that have ended */
	struct client *clients;
	int socket;
	uv_poll_t accepts;
	uv_signal_t term, interrupt;
	bool stopping;
	void (*leave)(struct pool *p); /* called when the daemon ends */
};
/* Stores the known members for the next start. */
void members_store(struct pool *p);

#endif
