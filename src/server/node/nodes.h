/*
 * nodes.h - the nodes that the server has, on this machine and on others.
 */
#ifndef SERVER_NODES_H
#define SERVER_NODES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "core/node.h"
#include "core/res.h"

struct err;
struct json;
struct node_health;
struct node_owner;
struct link;
struct server;

/* A host with an agent (agents.c); owned by its node. */
struct visit; /* a link from it */
struct agent {
	struct visit *visit; /* NULL: not connected */
	json_t *facts;	     /* docs/protocol.md; never NULL */
	char address[80];    /* where its tasks are reached; "": not known */
	char version[32];    /* of its program */
	int protocol;	     /* of its last hello (net/protocol.h); 0: none since the server started */
	int64_t heard_us;    /* its last ping, on the clock that is never set (clock.boot_us) */
	int64_t heard;	     /* the same as an instant; 0: never */
	int64_t since;	     /* when the connection began, or was lost */
	double load;
	int64_t memory_free; /* KiB; -1: not told */
	int64_t users;
	int64_t disk_free; /* KiB where it keeps its state; -1: not told */
	int64_t ahead;	   /* seconds by which its clock was ahead of this machine's at the last ping, if `timed` */
	bool timed;
	bool ended; /* the agent's process was, when its last connection went */
	bool bye;   /* it was told that the server stops: its leases don't run until it is welcomed again */
};

struct node_info {
	char *note;
	struct node_life life;	     /* changed by life/world/lives.c alone */
	struct node_life base;	     /* what it was before the first event that the store has of it ... */
	uint64_t base_seq, last_seq; /* ... whose number is greater than the first; the last one, */
	uint32_t nevents;	     /* and how many there were */
	char *unwell;		     /* what its health check says, or NULL */
	struct node_owner *owner;    /* of a workstation (owners.h), or NULL */
	struct node_health *failing; /* jobs that could not be started there, or NULL (failures.h) */
	char *class;		     /* or NULL; counts as a feature */
	struct agent *agent;	     /* of a joined one */
	uint64_t join;
	int64_t certified;		/* when the last certificate that it was given expires; 0: not known */
	int64_t leave_by;		/* boot_us: a node that is leaving is given up then; 0: not decided */
	bool *gpu_used;			/* by index */
	bool mentioned;			/* by an event that the store has */
	bool *cpu_used;			/* by index */
	int64_t cpu_room, gpu_room;	/* how many those have room for: more than there are if it had more */
	struct kib used;		/* by attempts */
	int64_t cpus_limit, gpus_limit; /* the administrator's, of a joined one; -1: all there are */
	bool shared;			/* its CPUs are divided among jobs with a price (docs/libra.md) */
	char *features;			/* of a joined one, joined by commas, without its class; or NULL */
	bool drained;			/* as the scheduler was told */
	int64_t leaves;			/* the same: the instant at which it leaves; 0: it was not told of one */
};

struct hosts {
	VEC(struct node_info) nodes; /* by the ids that the core has for them */
	uint32_t here;		     /* nodes of the configuration, on this machine */
	uint32_t layout;	     /* grows whenever they are laid out anew */
	/* Takes over a link that a node has opened for a file or a terminal; false: nobody asked for it. */
	bool (*stream)(struct server *s, uint32_t node, struct link *l, const json_t *head);
	/* What a node may do while the server is down, for its welcome, new; and frames about what it did (offline/spool.h). */
	json_t *(*lease)(struct server *s, uint32_t node);
	void (*kept)(struct server *s, uint32_t node, const json_t *head, const char *data, size_t n);
	uint64_t next_join; /* the number of the next node that joins, or joins again */
	int64_t agents_at;  /* instant: somebody may have been silent for too long; 0: look at once */
	int64_t agents_us;  /* boot_us when that was last thought of */
};

bool agent_connected(const struct node_info *info);
int agent_restore(struct server *s, uint32_t node, const json_t *o, struct err *err); /* at recovery */
void agent_store(const struct node_info *info, struct json *j); /* its members of the node's record */
/* A new one. */
struct agent *agent_create(struct server *s, const json_t *facts);

#endif
