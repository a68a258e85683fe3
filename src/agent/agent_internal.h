/*
 * agent_internal.h - the agent, and what its parts are to each other.
 *
 *	main.c		coming up and going; the log
 *	join.c		how a machine becomes a node
 *	session.c	the connection to the server: who speaks first, how it is found again, the lease
 *	orders.c	parts of jobs: from the server to engine/local.h, and what became of them back
 *	credential.c	key and certificate, and how they are renewed
 *	peers.c		links from other hosts
 *	terminal.c	interactive jobs, from here to the server
 *	streams.c	files that the server wants to read
 *	spool.c		what users of this host leave while the server is down
 *	views.c		the queue as last seen, for them
 *	callers.c	users of machines without an agent, for both
 *	guard.c		the owner of a workstation comes first
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
	char *trouble;	    /* why no job can be started here, or NULL */
	uint64_t beginning; /* uv_now() */
	bool again;	    /* start anew instead of ending */

	/* credential.c */
	struct keys keys;
	int64_t valid_from, valid_until;     /* of its certificate; until 0: nobody knows */
	struct tls_context *calls, *listens; /* as a client, as a server */
	struct revoked revoked;		     /* nodes that both refuse; session.c learns who, agent.json has them */
	char *fresh_key;		     /* of a certificate that was asked for */
	uint64_t asked;			     /* ... at uv_now(); 0: never */

	/* session.c */
	struct session *session;

	/* orders.c */
	struct errands *errands;
	struct local *local; /* behind them */
	uv_prepare_t turn;
	name_list cleaned;   /* lost attempts of which nothing runs any more, and */
	name_list unclaimed; /* ... those that are forgotten as soon as they have ended */

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

	struct guard *guard; /* guard.h */
};

/* join.c: `where` "host[:port]". Prints what it did. */
struct join_options {
	const char *where, *token, *name;
	int port; /* of the agent's own listener; -1: as it was, or the usual */
	int cpus; /* as in struct member, */
	int64_t memory;
	bool guest;
	const char *workstation; /* its policy (station/owner.h); NULL: it is none */
	int64_t leaves;		 /* when the machine is not ours any more; 0: never */
};
int machine_join(struct home *h, const struct join_options *o, struct err *err);

/* credential.c */
int credential_load(struct agent *a, struct err *err);
bool credential_expired(const struct agent *a);		 /* only another join helps; */
bool credential_replaced(const struct agent *a);	 /* ... and there was one */
void credential_turn(struct agent *a);			 /* connected: is a new certificate due? */
void credential_take(struct agent *a, const char *cert); /* here it is */
void credential_drop(struct agent *a);			 /* of a node that was removed */
void credential_fini(struct agent *a);
bool revoked_take(struct agent *a, const json_t *list); /* {NAME: JOIN}: true if one of them is new */
json_t *revoked_give(const struct agent *a);

/* session.c */
void session_start(struct agent *a);
void session_stop(struct agent *a);

/* session_link.c */
/* Sends a frame if the server listens. If not, nothing is kept: the next hello's inventory has it all. */
void session_tell(struct agent *a, const struct strbuf *head);
struct link *session_link(const struct agent *a);  /* NULL: no server listens */
const char *session_server(const struct agent *a); /* its address; NULL: none listens */
void session_facts(struct agent *a);		   /* they have changed */
void session_health(struct agent *a);		   /* that, too: not to wait for the next heartbeat */

/* orders.c */
int orders_start(struct agent *a, struct err *err);
void orders_inventory(struct agent *a, struct strbuf *out);
/* True: it was for us. */
bool orders_frame(struct agent *a, const char *type, const json_t *head, const char *data, size_t n);
void orders_abandon(struct agent *a); /* this node was removed: nothing may run on */
void orders_stop(struct agent *a);

/* peers.c */
int peers_start(struct agent *a, struct err *err);
void peers_identity(struct agent *a);	       /* there is another certificate */
void peers_revoke(struct agent *a);	       /* a node was removed */
void peers_trust(struct agent *a, bool stops); /* the server has spoken, or says that it stops */
void peers_stop(struct agent *a);

/* terminal.c */
int terminal_start(struct agent *a, struct err *err);
void terminal_cut(struct agent *a); /* the server is lost: their shepherds call again */
void terminal_stop(struct agent *a);

/* spool.c */
int spool_start(struct agent *a, struct err *err);
void host_spool_lease(struct agent *a, struct link *server,
		      const json_t *lease); /* a welcome; `lease` NULL: it says nothing of it */
void spool_done(struct agent *a, struct link *server, const json_t *head); /* it has a change, or refuses it */
void host_spool_turn(struct agent *a, struct link *server);		   /* at each heartbeat */
const struct offer *spool_offer(const struct agent *a);			   /* NULL: none */
/* Keeps a change that came from elsewhere, as a command here would. -ESTALE: it is sealed for another lease. */
int spool_keep(struct agent *a, const struct kept *x, uint64_t *ret_number, struct err *err);
void spool_stop(struct agent *a);

/* views.c */
void views_start(struct agent *a);
void views_frame(struct agent *a, const json_t *head, const char *data, size_t n); /* a piece of one */
bool views_has(const struct agent *a, const char *name);
int views_read(const struct agent *a, const char *name, struct strbuf *ret);
void views_stop(struct agent *a);

/* callers.c */
void caller_serve(struct agent *a, int fd); /* a connection, decrypted; taken over */
void callers_stop(struct agent *a);

/* streams.c: what the server asks for by `dial`; `where` it is called */
void streams_dial(struct agent *a, const json_t *head, const char *where);
void streams_stop(struct agent *a);

#endif
