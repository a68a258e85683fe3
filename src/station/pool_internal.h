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
#include "station/door.h"
#include "station/gossip.h"
#include "station/owner.h"
#include "station/people.h"
#include "station/pool_home.h"
#include "station/pool_load.h"
#include "station/pool_table.h"
#include "station/pool_task.h"
#include "station/removed.h"
#include "station/senses.h"

struct pool;
struct guest;

/* ---- links that we opened: to hosts of our tasks (pool_links.c) ---- */

struct host {
	struct pool *pool;
	struct host *next;
	char name[PEER_NAME_SIZE];
	struct link *link; /* NULL: not now */
	bool welcome;	   /* it takes tasks */
	int64_t answered; /* ms: when we last answered its ping; what it runs of ours ends a lease later at the latest */
	int64_t retry_at;     /* ms */
	int failures;	      /* to connect, in a row */
	int tasks;	      /* of ours, there or on their way */
	int64_t wanted_until; /* of a pool that gossips: then it may be closed */
	char *rumors;	      /* to be sent once it is open */
	uint64_t told;	      /* the number of the list of removed stations that was sent there */
};
int links_start(struct pool *p, struct err *err);
void links_stop(struct pool *p);
void links_tick(struct pool *p); /* once an interval */
/* True: it was new, or has moved. Of a station that was removed nothing is learned unless it has joined again. */
bool member_learn(struct pool *p, const char *name, const char *where, uint64_t join);
struct host *host_find(struct pool *p, const char *name);
/* When nothing of ours can run there any more, if we don't answer again. */
int64_t pool_lease_end(const struct pool *p, const struct host *h);
int64_t pool_now(void); /* ms since the machine started, asleep or not */

/* ---- pools that are too large for that (pool_gossip.c) ---- */

bool pool_gossips(const struct pool *p);
int64_t pool_round(const struct pool *p);		  /* ms of a round */
int64_t pool_interval(const struct pool *p);		  /* ms within which a station that lives is heard of */
struct host *host_want(struct pool *p, const char *name); /* its link is opened, if it is not, and kept for some time */
void gossip_tick(struct pool *p, int64_t now);
void rumors_send(struct host *h);
void rumors_take(struct pool *p, const json_t *head);

/* ---- stations that were removed (pool_removed.c) ---- */

int removed_load(struct pool *p, struct err *err); /* -EKEYREVOKED: this station was */
void removed_send(struct host *h);		   /* unless its station knows it from us */
void removed_hear(struct pool *p, const json_t *head);
/* By the station that has the authority: all others hear of it. */
int member_remove(struct pool *p, const char *name, struct err *err);

/* ---- this station's certificate (pool_identity.c) ---- */

struct identity {
	struct tls_context *calls, *listens;
	uint64_t join;
	int64_t from, until; /* seconds since 1970 */
	int64_t asked;	     /* ms: when another was last asked for; 0: never */
};
int identity_load(struct pool *p, struct err *err);
void identity_drop(struct pool *p);
void identity_turn(struct pool *p, int64_t now); /* asks for another in time */
/* Asks now. Clients that wait (`renews`) get the answer. */
int identity_renew(struct pool *p, struct err *err);
void renewal_take(struct host *h, const char *type, const json_t *head);
void renewal_serve(struct guest *g, const json_t *head);

/* ---- tasks of ours (pool_origin.c) ---- */

struct client {
	struct pool *pool;
	struct client *next;
	struct link *link;
	bool paused;
	bool renews;	       /* waits for a new certificate of this station */
	struct errand *reader; /* who gets its input */
	bool live;
};
struct errand; /* a task, from its client's frame to its result */
struct errands {
	struct errand *first, *last;		     /* all, as they came, */
	struct errand *first_waiting, *last_waiting; /* ... and those without a place, the most urgent first */
	struct map placed;			     /* by their id */
	size_t waiting, limbo, finished;	     /* how many are in these stages */
};
/* `start` is copied. `input`: more comes by errand_input(). */
void errand_add(struct pool *p, struct client *c, int number, const struct peer_start *start,
		const struct pool_need *need, bool live, bool input);
void errand_input(struct pool *p, struct client *c, int number, const char *data, size_t n); /* n 0: that was all */
void origin_signal(struct pool *p, struct client *c, int signal);
void errands_drop(struct pool *p, struct client *c); /* it is gone, and nobody wants their results */
void errands_drained(struct pool *p, struct client *c);
bool errands_flooded(const struct pool *p, const struct client *c); /* more input waits than should */
void origin_frame(struct host *h, const char *t, json_t *head, const char *data, size_t n);
void origin_welcome(struct host *h); /* its link is open */
void origin_lost(struct host *h);    /* its link is closed */
void origin_place(struct pool *p);   /* whatever can be placed now */
size_t origin_waiting(const struct pool *p);
void origin_stop(struct pool *p);

/* ---- tasks of others (pool_host.c) ---- */

struct guest { /* a link that another station opened */
	struct pool *pool;
	struct guest *next;
	struct link *link;
	char name[PEER_NAME_SIZE];
	bool hello;
	int lease_ms;
	struct pool_lease *lease;
	int tasks; /* that hold the lease's memory */
	bool gone;
};
void guest_serve(void *context, struct link *l);
void guests_tick(struct pool *p);
void guests_stop(struct pool *p);
void host_frame(struct guest *g, const char *t, json_t *head, const char *data, size_t n);
void host_drop(struct guest *g);			   /* it is gone: its tasks end */
void host_drained(struct guest *g);			   /* its link takes more */
int host_tasks(const struct pool *p, int64_t *ret_cpu_ms); /* that wait or run here; what all have used so far */
void host_stop(struct pool *p);
void host_hold(struct pool *p, bool hold); /* tasks stand still; to be repeated while they are to */
/* Tasks end, and are started elsewhere. Returns how many had begun. */
int host_leave(struct pool *p, int64_t *ret_cpu_ms);
json_t *host_list(const struct pool *p); /* of tasks that run here: [{from, tasks}] */
void host_go(struct pool *p);		 /* tasks that wait may start */
/* Tasks together may use so many bytes more than now; those that stand still are asked for theirs (run/hold.h). */
void host_memory(struct pool *p, int64_t spare);
void host_pids(const struct pool *p, pid_list *ret); /* of tasks' processes and their keepers, sorted */
int host_running(const struct pool *p);		     /* threads of tasks that run or are ready */
void guest_release(struct guest *g);

/* ---- the owner of this machine (pool_guard.c, pool_door.c) ---- */

#define PAUSE_NEVER_ENDS INT64_MAX

/* All that was counted since this machine is a station; kept. */
struct owner_book {
	int64_t given_ms;   /* processor time of tasks */
	int64_t claimed_ms; /* in which the owner had the machine */
	int64_t lost_ms;    /* processor time of tasks that had to leave, */
	int64_t left;	    /* ... how many those were, */
	int64_t stops;	    /* ... and how often tasks were stopped */
};
struct guard {
	struct owner_rules rules;
	struct owner_claim claim;
	struct senses *senses; /* NULL: nobody is looked for */
	enum owner_act act;
	double interactive, batch; /* processes of the owner that run or are ready, over the last seconds */
	int64_t counted;	   /* ms: when they were last counted */
	double running;		   /* threads of others that run or are ready, over the last seconds */
	int64_t pause_until;	   /* seconds since 1970; 0: none */
	int64_t claimed_at;	   /* seconds since 1970: when the claim began */
	struct seen seen;
	struct owner_book book;
	int64_t counted_to; /* ms: the books are kept up to then */
	int64_t spent_ms;   /* of all tasks, as last seen */
	VEC(uid_t) owners;  /* that the policy names, as far as they are known */
	struct owners_look *look;
	struct door *door;
	uint64_t gpus;	 /* that the owner uses, a bit each, */
	int ngpus;	 /* ... of so many; 0 where nobody is looked for */
	int64_t gpus_at; /* ms: when they were last looked at */
	uv_timer_t timer;
	bool up;
};
int pool_guard_start(struct pool *p, struct err *err);
void pool_guard_stop(struct pool *p);
void pool_pause(struct pool *p, int64_t until); /* 0: it ends */
bool pool_guard_owns(const struct pool *p, uid_t user);
void guard_spent(struct pool *p, int64_t ms); /* what all tasks have used so far */
void station_gpus_look(struct pool *p, const char *dev, int64_t now);
/* The environment of a task, with the GPUs that it may use. */
const char **station_gpus_environment(const struct pool *p, struct arena *a, const char **env);
void pool_door_open(struct pool *p);
void pool_door_close(struct pool *p);
void book_load(struct pool *p);
void book_store(struct pool *p);

/* ---- finding each other (pool_discover.c) ---- */

struct finder {
	int fd; /* -1: none */
	bool authority;
	struct discover mine;
	int64_t say_at; /* ms */
	uv_poll_t poll;
};
void discover_start(struct pool *p);
void discover_stop(struct pool *p);
void discover_tick(struct pool *p, int64_t now);

/* ---- commands of this machine (pool_client.c) ---- */

int clients_start(struct pool *p, struct err *err);
void clients_stop(struct pool *p);
void clients_tick(struct pool *p);

/* ---- joining (pool_join.c) ---- */

void joiner_serve(void *context, int fd, const char *address); /* who has no certificate, and may ask for one */
int pool_join(const struct pool_home *h, struct pool_conf *c, const char *seed, const char *token, struct err *err);

/* ---- all ---- */

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
	struct peer_report mine, told; /* now; what was sent last */
	int64_t looked;
	struct pool_user user; /* as whom tasks run */
	struct cgroup cgroup;  /* in which those are that have one */
	struct guard guard;
	struct finder discover;
	uv_timer_t tick;
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
	struct host_task *tasks; /* of others, here */
	int64_t spent_ms;	 /* processor time of those that have ended */
	struct client *clients;
	int socket;
	uv_poll_t accepts;
	uv_signal_t term, interrupt;
	bool stopping;
	void (*leave)(struct pool *p); /* the daemon ends */
};
/* The members as we know them changed: remembered for the next start. */
void members_store(struct pool *p);

#endif
