/*
 * agent_internal.h - the agent, shared by its files.
 *
 *	main.c		start and shutdown; the log
 *	join.c		how a machine becomes a node
 *	session.c	the connection to the server: greeting, reconnecting, the lease
 *	orders.c	parts of jobs: orders from the server to engine/local.h, outcomes back
 *	credential.c	key and certificate, and how they are renewed
 *	peers.c		links from other hosts
 *	terminal.c	interactive jobs, from here to the server
 *	streams.c	files that the server reads
 *	spool.c		changes that users of this host submit while the server is down
 *	views.c		the queue as last seen, for these users
 *	callers.c	users of machines without an agent, who use both
 *	guard.c		gives the owner of a workstation precedence
 *	home.c		directories and files; facts.c, health.c: this machine
 *
 * Everything belongs to one loop in one thread.
 */
#ifndef AGENT_INTERNAL_H
#define AGENT_INTERNAL_H

#include <jansson.h>
#include <uv.h>

#include "agent/home.h"
#include "engine/errands.h"
#include "engine/tasks.h"
#include "net/link.h"
#include "net/listener.h"

struct guard;
struct health;
struct kept;
struct offer;

struct agent {
	uv_loop_t *loop;
	struct home home;
	struct member member;
	json_t *facts;
	struct health *health;
	char *trouble; /* why no job can be started here, or NULL */
	bool again;    /* restart instead of exiting */

	/* credential.c */
	struct keys keys;
	int64_t valid_from, valid_until;     /* validity of its certificate; until 0: not known */
	struct tls_context *calls, *listens; /* for connections made; for connections accepted */
	/* removed nodes, which both contexts refuse; session.c receives them, agent.json stores
	 * them */
	struct revoked revoked;
	char *fresh_key; /* key for the certificate that was requested */
	uint64_t asked;	 /* uv_now() of that request; 0: never */

	/* session.c */
	struct session *session;

	/* orders.c */
	struct errands *errands;
	struct local *local; /* the engine behind the errands */
	uv_prepare_t turn;
	name_list scripts;   /* names of the files of scripts here */
	name_list cleaned;   /* lost attempts of which nothing runs any more */
	name_list unclaimed; /* attempts to forget as soon as they have ended */

	/* peers.c */
	struct listener *listener;
	struct tasks *tasks;

	/* terminal.c */
	struct terminals *terminal_socket;
	struct terminal *terminals;

	/* spool.c */
	struct spool *spool;
	struct views *views; /* views.c */

	/* callers.c */
	struct caller *callers;
	int ncallers;

	/* streams.c */
	struct reader *readers;
	int nreaders;

	struct guard *guard; /* see guard.h */
};

/* join.c: joins the cluster at `where`, "host[:port]". Prints what it did. */
struct join_options {
	const char *where, *token, *name;
	int port; /* port of the agent's own listener; -1: unchanged, or the default */
	int cpus; /* see struct member */
	int64_t memory;
	bool guest;
	/* policy of a workstation (station/owner.h); NULL: not a workstation */
	const char *workstation;
	int64_t leaves; /* when the machine is to be given back; 0: never */
};
int machine_join(struct home *h, const struct join_options *o, struct err *err);

/* credential.c */
int credential_load(struct agent *a, struct err *err);
bool credential_expired(const struct agent *a);	 /* returns true if only another join helps */
bool credential_replaced(const struct agent *a); /* returns true if there was another join */
/* Requests a new certificate if it is due, while connected. */
void credential_turn(struct agent *a);
void credential_take(struct agent *a, const char *cert); /* takes the new certificate */
void credential_drop(struct agent *a);			 /* deletes the credentials of a node that was removed */
void credential_fini(struct agent *a);
/* Takes {NAME: JOIN}; returns true if one of them is new. */
bool revoked_take(struct agent *a, const json_t *list);
json_t *revoked_give(const struct agent *a);

/* session.c */
void session_start(struct agent *a);
void session_stop(struct agent *a);

/* session_link.c */
/* Sends a frame if a server is connected. Otherwise drops it: the inventory in the next hello has
 * everything. */
void session_tell(struct agent *a, const struct strbuf *head);
struct link *session_link(const struct agent *a);  /* NULL: no server is connected */
const char *session_server(const struct agent *a); /* its address; NULL: none is connected */
void session_facts(struct agent *a);		   /* sends changed facts */
/* Sends changed health without waiting for the next heartbeat. */
void session_health(struct agent *a);

/* orders.c */
int orders_start(struct agent *a, struct err *err);
void orders_inventory(struct agent *a, struct strbuf *out);
/* Takes an order, or a frame about a part of a job; ignores all others. */
void orders_frame(struct agent *a, const char *type, const json_t *head, const char *data, size_t n);
void orders_abandon(struct agent *a); /* ends everything: this node was removed */
void orders_stop(struct agent *a);

/* peers.c */
int peers_start(struct agent *a, struct err *err);
void peers_identity(struct agent *a); /* the certificate has changed */
void peers_revoke(struct agent *a);   /* a node was removed */
/* Notes that the server was heard from, or announced that it stops. */
void peers_trust(struct agent *a, bool stops);
void peers_stop(struct agent *a);

/* terminal.c */
int terminal_start(struct agent *a, struct err *err);
/* Closes all terminals when the server is lost: their shepherds will connect again. */
void terminal_cut(struct agent *a);
void terminal_stop(struct agent *a);

/* spool.c */
int spool_start(struct agent *a, struct err *err);
/* Handles a welcome; `lease` NULL: it does not mention a lease. */
void host_spool_lease(struct agent *a, struct link *server, const json_t *lease);
/* Handles the server's answer to a change: stored, or refused. */
void spool_done(struct agent *a, struct link *server, const json_t *head);
void host_spool_turn(struct agent *a, struct link *server); /* called at each heartbeat */
const struct offer *spool_offer(const struct agent *a);	    /* NULL: none */
/* Stores a change that came from another machine, as a command here would. Returns -ESTALE if it is
 * sealed for another lease. */
int spool_keep(struct agent *a, const struct kept *x, uint64_t *ret_number, struct err *err);
void spool_stop(struct agent *a);

/* views.c */
void views_start(struct agent *a);
/* Takes a piece of a view. */
void views_frame(struct agent *a, const json_t *head, const char *data, size_t n);
bool views_has(const struct agent *a, const char *name);
int views_read(const struct agent *a, const char *name, struct strbuf *ret);
void views_stop(struct agent *a);

/* callers.c */
void caller_serve(struct agent *a, int fd); /* takes over a decrypted connection */
void callers_stop(struct agent *a);

/* streams.c: opens the connection that the server requests by `dial`; `where`: address to call */
void streams_dial(struct agent *a, const json_t *head, const char *where);
void streams_stop(struct agent *a);

#endif
