/* nodes.h - the server's nodes, on this machine and on others. */
#ifndef SERVER_NODES_H
#define SERVER_NODES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "core/node.h"
#include "core/res.h"
#include "engine/frames.h"

struct json;
struct node_health;
struct node_owner;
struct link;
struct server;

/* A host with an agent (agents.c); owned by its node. */
struct visit; /* a link from the host */
struct agent {
	struct visit *visit; /* NULL: not connected */
	json_t *facts;	     /* docs/protocol.md; never NULL */
	char address[80];    /* where its tasks are reached; "": not known */
	char version[32];    /* version of its program */
	/* version in its last hello (net/protocol.h); 0: none since the server started */
	int protocol;
	/* time of its last ping on the clock that is never set (clock.boot_us) */
	int64_t heard_us;
	int64_t heard;		 /* instant of its last ping; 0: never */
	int64_t since;		 /* instant when the connection began or was lost */
	struct host_state state; /* in its last ping */
	/* seconds by which its clock was ahead of this machine's at the last ping, if `timed` */
	int64_t ahead;
	bool timed;
	bool ended; /* the agent's process had ended when its last connection was lost */
	/* it knows that the server stops: its leases are suspended until it is welcomed again */
	bool bye;
};

struct node_info {
	char *note;
	struct node_life life; /* changed only by life/world/lives.c */
	struct node_life base; /* its life before the first event in the store */
	/* the first event's number is greater than base_seq; last_seq is the last one's */
	uint64_t base_seq, last_seq;
	uint32_t nevents;	     /* number of events in the store */
	char *unwell;		     /* failure reported by its health check, or NULL */
	struct node_owner *owner;    /* owner of a workstation (owners.h), or NULL */
	struct node_health *failing; /* failed starts of jobs, or NULL (failures.h) */
	char *class;		     /* or NULL; counts as a feature */
	struct agent *agent;	     /* agent of a joined node */
	uint64_t join;
	/* expiry of the last certificate it was given; 0: not known */
	int64_t certified;
	/* boot_us at which a leaving node is given up; 0: not decided */
	int64_t leave_by;
	bool *gpu_used;	   /* by index */
	bool mentioned;	   /* an event in the store refers to it */
	bool *cpu_used;	   /* by index; set by world_cpus_mark() and those who take free ones */
	int64_t cpus_held; /* how many are set */
	/* lengths of cpu_used and gpu_used: greater than the present numbers if it had more */
	int64_t cpu_room, gpu_room;
	struct kib used;		/* used by attempts */
	int64_t cpus_limit, gpus_limit; /* administrator's limits of a joined node; -1: all */
	bool shared;			/* its CPUs are divided among jobs with a price (docs/libra.md) */
	/* features of a joined node, joined by commas, without its class; or NULL */
	char *features;
	bool drained; /* state known to the scheduler */
	/* instant of its leaving, as the scheduler knows it; 0: none */
	int64_t leaves;
};

struct hosts {
	VEC(struct node_info) nodes; /* indexed by the core's node ids */
	uint32_t here;		     /* number of nodes of the configuration, on this machine */
	uint32_t layout;	     /* incremented by each layout */
	/* Takes over a link that a node has opened for a file or a terminal; false: it was not
	 * requested. */
	bool (*stream)(struct server *s, uint32_t node, struct link *l, const json_t *head);
	/* Returns what a node may do while the server is down, for its welcome, as a new object;
	 * and handles frames about what it did (offline/spool.h). */
	json_t *(*lease)(struct server *s, uint32_t node);
	void (*kept)(struct server *s, uint32_t node, const json_t *head, const char *data, size_t n);
	uint64_t next_join; /* number of the next node that joins or rejoins */
	/* instant at which a node may have been silent for too long; 0: check at once */
	int64_t agents_at;
	int64_t agents_us; /* boot_us of the last check */
};

bool agent_connected(const struct node_info *info);
/* Restores an agent from the node's record, at recovery. */
int agent_restore(struct server *s, uint32_t node, const json_t *o, struct err *err);
/* Writes its members of the node's record. */
void agent_store(const struct node_info *info, struct json *j);
struct agent *agent_create(struct server *s, const json_t *facts);

#endif
