/*
 * server_internal.h - what the files of server/ have of each other.
 */
#ifndef SERVER_SERVER_INTERNAL_H
#define SERVER_SERVER_INTERNAL_H

#include <errno.h>
#include <jansson.h>
#include <uv.h>

#include "base/heap.h"
#include "base/json.h"
#include "base/map.h"
#include "client/where.h"
#include "core/array.h"
#include "core/depend.h"
#include "engine/engine.h"
#include "engine/tasks.h"
#include "net/http.h"
#include "net/listener.h"
#include "plan/pack.h"
#include "rules/gate.h"
#include "rules/limit.h"
#include "sched/explain.h"
#include "sched/forecast.h"
#include "sched/sched.h"
#include "server/api/audience.h"
#include "server/base/accounts.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/post.h"
#include "server/base/reader.h"
#include "server/base/stats.h"
#include "server/base/turn.h"
#include "server/base/work.h"
#include "server/book/accounting.h"
#include "server/book/books.h"
#include "server/book/mail.h"
#include "server/book/outbox.h"
#include "server/book/retention.h"
#include "server/job/agenda.h"
#include "server/job/attempt.h"
#include "server/job/entry.h"
#include "server/job/failures.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/job/stage.h"
#include "server/life/block.h"
#include "server/life/foresee.h"
#include "server/life/world.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/settings/setting.h"
#include "server/site/realm.h"
#include "store/store.h"
#include "tls/pki.h"

struct asker;	 /* who.c */
struct stream;	 /* events.c */
struct waiter;	 /* output.c */
struct terminal; /* terminal.c */

/* ---- jobs.c: finding, naming, counting ---- */
struct entry *entry_get(const struct server *s, uint32_t id);
static inline struct job *entry_job(const struct server *s, uint32_t id)
{
	return cluster_job(s->cluster, id);
}
/* It runs, or the order to start it is out. */
static inline bool entry_running(const struct server *s, uint32_t id)
{
	return entry_job(s, id)->state == STATE_NOW || entry_job(s, id)->state == STATE_RUNNING;
}

static inline bool entry_ended(const struct server *s, uint32_t id)
{
	return job_ended(cluster_job(s->cluster, id));
}
const char *word(const struct server *s, uint32_t id);				  /* "" for 0 */
uint32_t word_add(struct server *s, const char *text);				  /* NULL and "" are 0 */
void entry_id(const struct server *s, uint32_t id, struct strbuf *out);		  /* "12[3].name" */
void key_id(const struct server *s, uint64_t key, struct strbuf *out);		  /* the same by the key */
void array_id(const struct server *s, const struct array *a, struct strbuf *out); /* "12[].name" */
char entry_state(const struct server *s, uint32_t id);				  /* the letter */
struct array *array_find(const struct server *s, uint64_t number);
bool entry_find(const struct server *s, uint64_t number, int64_t index, uint32_t *ret);
struct queue *queue_named(const struct server *s, const char *name);
struct queue *queue_of(const struct server *s, uint32_t word); /* by the word of its name; NULL: there is none */
struct queue *queue_create(struct server *s, const char *name);
void queue_destroy(struct server *s, struct queue *q);
/* A number that holds for a job: its queue's, else the server's. */
int64_t setting_of(const struct server *s, const struct spec *p, const char *name);
/* By the words of their names, queue 0: in any. Made if new; valid until the next call. */
struct tally *tally_of(struct server *s, uint32_t user, uint32_t queue);
void spec_unref(struct spec *p);
void script_file_drop(struct server *s, uint64_t script);
void script_file_doubt(struct server *s, uint64_t script); /* it is written again before it is used again */

/* belongings.c: whose files those in the state directory are */
void belongings_begin(struct server *s);
int belongings_check(struct server *s, struct err *err); /* -ESTALE: another store's */
void belongings_mark(struct server *s);			 /* they are our store's */
void belongings_sweep(struct server *s);
/* In copystore.c: `from` and `to` as store_open() takes them, or "conf:FILE". Prints what was copied. */
int copy_store(const char *from, const char *to, bool json, struct err *err);
int belongings_set_aside(struct server *s, struct err *err); /* says on standard output what it did */
void entry_forget(struct server *s, uint32_t id);	     /* a job that ended long ago: out of memory and store */

/* ---- spec.c: from what clients send to specs, and to the store and back ---- */
struct submission {
	struct spec *spec;
	char *body;	/* JSON */
	bool guarantee; /* require_guarantee */
	struct array_spec array;
	struct reqtext text;
	const char *script; /* in the arena */
	size_t script_n;
};
/* Checks everything that does not depend on the state of the queue. The error's code in *ret_code. */
int spec_read(struct server *s, const struct asker *who, const json_t *job, bool script_needed, struct arena *a,
	      struct submission *ret, const char **ret_code, struct err *err);
void submission_keep_script(struct server *s, struct submission *x, const struct submission *before);
/* max_run_subjobs, if it is there: 0 is no limit. */
int throttle_get(const json_t *job, int64_t *ret, struct err *err);
void submission_fini(struct submission *x);
int mail_parse(const char *text, uint8_t *ret, struct err *err);
int holds_parse(const char *text, uint8_t *ret, struct err *err);
const char *power_name(int i);		      /* NULL: there are no more */
struct spec *spec_copy(const struct spec *p); /* a job's own, to be changed: no array's */
void spec_head(const struct server *s, const struct spec *p, struct strbuf *out);
const char *whole_name(enum wholeness whole); /* as the API calls it: none, node, host */
int spec_restore(struct server *s, const char *head, struct spec **ret, struct err *err);
/* Parses resources texts into a request: what is not given comes from the queue's and the server's defaults. `whole`: enum wholeness, whatever the
 * texts say of it; -1: as they say. */
int spec_request(struct server *s, const char *const *texts, int n, int whole, const char *queue, struct arena *a,
		 struct reqtext *text, struct spec *spec, struct err *err);

/* ---- submit.c ---- */
/* Takes a submission over: SUBMIT, holds, dependencies. `before`: the one that was taken over before it with the same request, or NULL. Returns the number. */
uint64_t submit(struct server *s, struct submission *x, const struct submission *before);
uint32_t entry_add(struct server *s, uint64_t key, struct spec *p);
struct array *array_add(struct server *s, uint64_t number, struct spec *p, const struct array_spec *spec);
int depend_check(struct server *s, const struct asker *who, const struct spec *p, struct err *err);
void total_count(struct server *s, const struct spec *p, int64_t sign);
int submit_check(struct server *s, const struct asker *who, const struct submission *x, int64_t ahead,
		 const char **ret_code, struct err *err);

/* ---- query.c: parameters ---- */
/* `path` is the route's, as the table in api.c has it. -EINVAL: a parameter is not what it may be. */
int query_check(const char *path, const struct http_request *r, struct err *err);
int64_t query_number(const char *path, const struct http_request *r, const char *name, int64_t otherwise);

/* ---- keys.c: a submission that is repeated ---- */
#define KEY_MAX 64
struct submission_key {
	uid_t uid;
	uint32_t count;	       /* jobs that it made: first, first + 1, ... */
	uint64_t first, print; /* a hash of the request's body */
	int64_t time;	       /* instant of the submission */
	char *arrays;	       /* a letter for each job: 'a' for an array, else 'j'; NULL: there is no array */
	char text[];
};
/* The value of the header, without its quotes. -EINVAL. */
int subkey_read(const char *text, char ret[KEY_MAX + 1], struct err *err);
const struct submission_key *subkey_find(struct server *s, uid_t uid, const char *text); /* NULL: not known */
void subkey_add(struct server *s, uid_t uid, const char *text, const struct submission_key *given);
int subkey_restore(struct server *s, const char *name, const json_t *o, struct err *err); /* at recovery */
void subkeys_turn(struct server *s);							  /* forgets old ones */
bool submit_repeats(struct server *s, struct http_request *r, const struct asker *w);

/* The header of a request: 1 with the key, 0: there is none, -EINVAL. */
int subkey_given(struct http_request *r, char ret[KEY_MAX + 1], struct err *err);
uint64_t
request_print(const struct http_request *r); /* a hash of its body, and of its path unless it is a submission */

/* ---- acted.c: an action that is repeated ---- */
struct acted_job {
	uint64_t key;	      /* 0: the item as a whole */
	uint32_t item;	      /* which of the request's ids; ITEM_FILTER: it was not by an id */
	char *code, *message; /* an error, or NULL */
};
#define ITEM_FILTER UINT32_MAX
struct action;
struct acted {
	uid_t uid;
	uint64_t print; /* of the request */
	int64_t time;	/* instant of the first one */
	uint32_t parts; /* objects in the store */
	bool complete;
	struct action *running;	    /* NULL: none is under way */
	VEC(struct acted_job) done; /* what has been done */
	size_t kept;		    /* those that the store has been given */
	char text[];
};
struct acted *acted_find(const struct server *s, uid_t uid, const char *text); /* NULL: not known */
struct acted *acted_begin(struct server *s, uid_t uid, const char *text, uint64_t print);
void acted_add(struct acted *x, uint32_t item, uint64_t key, const char *code, const char *message);
void acted_keep(struct server *s, struct acted *x, bool complete); /* what was added goes into this turn's commit */
int acted_restore(struct server *s, const char *name, const json_t *o, struct err *err); /* at recovery */
void acted_turn(struct server *s);							 /* forgets old ones */

/* ---- depend.c ---- */
void depend_watch(struct server *s, uint32_t id); /* those it depends on are not forgotten before it has ended */

/* ---- dispatch.c: starts, ends ---- */
void dispatch_listener(void *context, const struct event *e); /* the scheduler's events */
void dispatch_starts(struct server *s);			      /* gives CPUs to starts; marks orders to be sent */
void dispatch_orders(struct server *s);			      /* after the commit */
void dispatch_overruns(struct server *s);
int64_t dispatch_next(const struct server *s); /* when to call that again */
void dispatch_withdraw(struct server *s,
		       uint32_t node); /* starts that wait for a node which is down go back to the queue */
extern const struct engine_listener dispatch_engine;
/* Ends one that does not run. Of the payload, which may be NULL, text, who and foreign count. */
void job_end_waiting(struct server *s, uint32_t id, enum end_cause cause, const struct payload *p);
/* Ends a running job's processes by its intent: SIGTERM, after `delay` seconds SIGKILL (< 0: as its queue says). */
void job_kill(struct server *s, uint32_t id, const struct payload *p);
void job_purge(struct server *s, uint32_t id, const struct payload *p);
void job_kill_again(struct server *s, uint32_t id, uint32_t attempt);
void signal_later(struct server *s, uint32_t id, uint32_t attempt, int signal); /* after the commit */
void turn_decide(struct server *s);
void server_decide(struct server *s);	/* a turn's decisions, in the middle of one */
void decide(struct server *s);		/* a cycle of the scheduler, or a part of one: then s->turn->undecided */
void dispatch_settle(struct server *s); /* what follows from events: dependencies, books, mail */

/* ---- walltime.c: another one for a job that runs ---- */
int walltime_check(struct server *s, uint32_t id, const struct asker *w, int64_t walltime, const char **code,
		   struct err *err);
const char *walltime_words(int64_t before, int64_t after, struct arena *a); /* for the log */
void walltime_changed(struct server *s, uint32_t id);			    /* its spec has it now */
void walltime_tell(struct server *s, uint32_t id, uint32_t attempt);	    /* its hosts, after the commit */
/* resources_max of queue and server. */
int walltime_allowed(struct server *s, uint32_t queue, int64_t walltime, const char **code, struct err *err);

/* ---- attempt.c: which CPUs and GPUs an attempt has, on which hosts ---- */
struct attempt *attempt_create(struct server *s, uint32_t id, uint32_t number, const int32_t *nodes, uint32_t n);
void attempt_free(struct server *s, struct attempt *t); /* gives back what it holds */
struct attempt *attempt_find(const struct server *s, uint32_t id, uint32_t attempt);
bool attempt_place(struct server *s,
		   struct attempt *t); /* CPUs and GPUs for every fragment, lowest first; all or none */
int64_t attempt_asked(const struct server *s, const struct attempt *t,
		      uint32_t frag); /* CPUs: with whole nodes it has more */
void attempt_exec_host(const struct server *s, const struct attempt *t, struct strbuf *out); /* "n1/0+n1/1" */
void attempt_write(const struct attempt *t, struct json *j); /* for the store, once it has them: members; */
struct attempt *attempt_restore(struct server *s, uint32_t id, uint32_t attempt, const int32_t *nodes, uint32_t n,
				const json_t *data); /* ... and back */
void attempt_discard(struct server *s, uint32_t id, uint32_t number);
void attempts_hold(struct server *s);
bool attempt_lingers(const struct server *s, uint32_t id, uint32_t before); /* an earlier one has not ended */
/* The name of all that an attempt has outside of the store: NUMBER[-INDEX][-xORIGIN].ATTEMPT. No other attempt of any job is called the same, not
 * even when a backup was put back and its number given again. */
void attempt_tag(const struct server *s, uint32_t id, uint32_t attempt, char tag[64]);
bool tag_parse(const struct server *s, const char *tag, uint32_t *ret, uint32_t *ret_attempt); /* false: no job here */
bool tag_known(void *context, const char *tag);
pid_t attempt_session(const struct server *s, uint32_t id); /* of a running job, from its live file; 0: none yet */
/* The hosts that it touches, that of the first fragment first; into `part` the index of each fragment's host, unless NULL. Borrowed names; the
 * array is the caller's. */
int attempt_hosts(const struct server *s, const struct attempt *t, const char ***ret, int *part);
bool attempt_on(const struct attempt *t, uint32_t node);
/* All that have not ended, in no order. The function must not end any. */
void attempts_each(const struct server *s, void (*one)(void *context, struct attempt *t), void *context);

/* ---- prepare.c, prepare_env.c: what an attempt needs to run ---- */
/* An order for each of its hosts; all is the arena's. */
int attempt_prepare(struct server *s, const struct attempt *t, struct arena *a, struct engine_part **ret, int *ret_n,
		    struct err *err);
int body_read(struct server *s, uint32_t id, json_t **ret, struct err *err);
/* Where output goes: absolute; "err" joined with the other is NULL. */
void output_paths(struct server *s, uint32_t id, const json_t *body, struct arena *a, const char **ret_out,
		  const char **ret_err);
/* prepare_files.c: a host of this cluster, */
struct spot {
	bool here;	     /* the server's machine, else: */
	uint32_t node;	     /* ... */
	const char *host;    /* as the engine has it */
	const char *title;   /* as users do */
	const char *address; /* where other hosts call it */
	uint64_t join;
};
bool spot_find(const struct server *s, const char *host, struct spot *ret); /* false: it is none */
/* ... and where a job's output belongs: */
struct home {
	const char *path;
	const char *kept; /* its name among what the server keeps, if home is no host of the cluster */
	bool error;	  /* it is the error output's own */
	bool known;	  /* home is `spot` */
	struct spot spot;
	bool stays;  /* on the host where the job runs: -k */
	bool shared; /* the directory is the same everywhere */
};
void output_home(struct server *s, uint32_t id, const json_t *body, bool error, struct arena *a, struct home *ret);

/* ---- foresee.c: when waiting jobs will start ---- */
#define FORECAST_OLD 10		      /* seconds, from which its age is mentioned */
void foresee(struct server *s);	      /* brings s->outlook->expected up to date, or a step nearer to it */
void foresee_again(struct server *s); /* the rules have changed: what was foreseen counts no longer */
void foresee_started(struct server *s, uint32_t id, int64_t now);
void foresee_forget(struct server *s, uint32_t id);
bool foresee_start(const struct server *s, uint32_t id, int64_t *ret); /* false: it is not known, */
bool foresee_not(const struct server *s, uint32_t id,
		 struct strbuf *why); /* ... and why not; false: it does not wait */

/* ---- world.c: nodes, plan and scheduler ---- */
int world_nodes(struct server *s, struct err *err); /* by the configuration */
int world_node_restore(struct server *s, const char *name, const json_t *o, struct err *err);
void world_node_store(struct server *s, uint32_t node);
void world_begin(struct server *s); /* plan and scheduler, once all nodes are known; does nothing the second time */
enum fit world_could_hold(struct server *s, uint32_t request);			    /* all its nodes up and empty */
int world_refuse(struct server *s, uint32_t request, struct err *err);		    /* why they could not: -EINVAL */
enum fit world_could_hold_on(struct server *s, uint32_t request, uint32_t allowed); /* only those of a set */
void world_settings(struct server *s); /* attributes of the server have changed: world_rebuild(), if it is concerned */
void world_rebuild(
	struct server *s); /* the policy, a setting or the nodes have changed: the same places under other rules */
int world_node_add(struct server *s, const char *name, const struct res *total, struct err *err); /* -EEXIST */
void world_node_size(struct server *s, uint32_t node, const struct res *total); /* it has more, or less, than before */
int world_node_features(struct server *s, uint32_t node, struct err *err);	/* features and class anew; -ENOSPC */
void world_node_gate(struct server *s, uint32_t node); /* lets the scheduler use it, or not, by its state */
void world_gates(struct server *s);		       /* all of them, with a new scheduler */
void world_changed(struct server *s);		       /* nodes were added, changed or removed */
int64_t world_cpus_used(const struct server *s, uint32_t node);
int64_t world_gpus_used(const struct server *s, uint32_t node);
bool world_node_past(const struct server *s, uint32_t node); /* only history knows it */

/* ---- recover.c ---- */
const char *boot_id(char id[64]); /* what this start of the machine is called; "": not known */
int recover(struct server *s, struct err *err);
void recover_defaults(struct server *s); /* of a new store */
void recover_attempts(struct server *s); /* once the engine is there */

/* ---- loop.c ---- */
void server_turn(struct server *s); /* one turn, without what comes in and goes out by sockets */
int loop_open(struct server *s, int listening, struct err *err); /* the API's socket, and signals */
void loop_run(struct server *s);				 /* until it is told to stop */

/* ---- accounts.c ---- */
const struct account *account_of(struct server *s, uid_t uid); /* NULL: there is none; borrowed until the next call */

/* ---- standby.c: several servers on one store ---- */
/* Takes the lead, and with it a higher epoch (s->realm->epoch). -EBUSY: another leads; -EPERM: this one can't be a standby, nor have one. */
int lead_take(struct server *s, struct err *err);
int standby_wait(struct server *s); /* answers that another leads, until it is this one: 0; 1: it was told to stop */
int lead_start(struct server *s, struct err *err); /* it is up: from now on the lease is short, and renewed */
/* Nothing may be told unless this is so. Renews the lease if it is over; the process ends if another leads. */
bool lead_holds(struct server *s);
void lead_end(struct server *s); /* in order: another may lead at once */
void lead_deposed(const struct server *s, const struct err *err) __attribute__((noreturn));
bool lead_leased(const struct server *s); /* there may be other servers */
bool lead_standing(const struct server *s);
bool lead_answers(struct server *s,
		  struct http_request *r); /* that another leads; false: this one does, and it was not answered */
void lead_link(void *context, struct link *l);
void standby_link(struct server *s, struct link *l);

/* ---- cluster.c: the authority, this server's certificate, and the servers there are; kept in the store ---- */
/* What recover() has not found is made. */
int cluster_begin(struct server *s, struct err *err);
int cluster_load(struct server *s, struct err *err); /* what a standby needs to know before recovery */
void cluster_locate(struct server *s);		     /* cluster_address() by the configuration and the open port */
int cluster_register(struct server *s, bool stopped, struct err *err);	/* tells the other servers of this one */
int cluster_look(struct server *s, bool *ret_changed, struct err *err); /* what the others have told; NULL: whatever */
/* Another that runs, or may: any, or one with jobs on its own machine. NULL: there is none. */
const char *cluster_other(const struct server *s, bool any, bool *ret_jobs);
int cluster_object(struct server *s, const char *name, const json_t *o, struct err *err); /* at recovery */
/* Opens the port, if there is one to open: API and agents. */
int cluster_listen(struct server *s, void (*link)(void *context, struct link *l), struct err *err);
int cluster_certify(struct server *s, const char *csr, size_t n, const char *node, uint64_t join,
		    struct strbuf *ret_cert, struct err *err);
void cluster_roles(const struct server *s, struct json *j,
		   const char *key); /* [{address, role, seen}], this one first */
void cluster_servers(const struct server *s, struct json *j,
		     const char *key); /* an array of addresses, this one first */
const char *
cluster_address(const struct server *s); /* what others call this server, with its port; "": no port is open */
struct tls_context *
cluster_tls(struct server *s); /* for connections to others; borrowed until it is renewed; NULL: no port is open */
void cluster_files(struct server *s); /* who this machine is among those that files are carried between */
void cluster_close(struct server *s); /* the port; agents' links live on */
void api_cluster(struct server *s, struct http_request *r, const struct asker *w);

/* ---- tokens.c: joining, and users from other machines ---- */
int token_restore(struct server *s, const char *id, const json_t *o, struct err *err); /* at recovery */
/* Whom a token stands for. -EACCES: nobody (the sentence does not say which part was wrong); -EBUSY: too many wrong ones from there. */
int token_check(struct server *s, const char *text, const char *address, struct asker *ret, struct err *err);
bool token_right(struct server *s, const char *text, struct asker *ret); /* the same, and a wrong one does not count */
/* Whether the proof that was shown still counts: for answers that go on. */
bool token_holds(struct server *s, const struct asker *w);
void token_of_job(const struct server *s, const char *tag, char ret[TOKEN_SIZE]);
bool token_pass(struct server *s, uid_t uid,
		char ret[TOKEN_SIZE]); /* to the server that leads, for a user of this machine */
void api_tokens(struct server *s, struct http_request *r, const struct asker *w, const char *id);
void api_join(struct server *s, struct http_request *r); /* without an asker */
void api_login(struct server *s, struct http_request *r);
void api_whoami(struct server *s, struct http_request *r, const struct asker *w);

/* ---- agents.c: links from other hosts ---- */
void agents_link(struct server *s, struct link *l); /* the listener's: a certificate of this cluster was shown */
void agents_settings(struct server *s);		    /* attributes or configuration have changed: tell them */
/* Its link is closed, if there is one. retry: 0, it may come again at once; else what `sorry` says. */
void agents_cut(struct server *s, uint32_t node, int retry, const char *reason);
void agents_bye(struct server *s);	    /* leases are suspended, agents_farewell() having been committed */
bool agents_unsent(const struct server *s); /* something has not left yet */
bool agent_connected(const struct node_info *info);
json_t *agents_servers(const struct server *s); /* an array of addresses, this one first */
void agents_tell(struct server *s, const char *type, const char *key, json_t *value); /* a frame to all; borrowed */

/* ---- revoke.c: certificates that no longer count ---- */
/* That join of the node and those before it; `valid_until` as node_info.certified. Its links are ended, other nodes told after the commit. */
void node_revoke(struct server *s, const char *name, uint64_t join, int64_t valid_until);
int revoke_restore(struct server *s, const char *name, const json_t *o, struct err *err); /* at recovery */
const struct revoked *revoked_list(struct server *s);
json_t *revoked_json(struct server *s); /* {NAME: JOIN} */
json_t *revoked_news(struct server *s); /* the same of those that nobody was told of yet, once; NULL: none */
void revoke_turn(struct server *s);

/* ---- nodes.c: the life of nodes with an agent ---- */
/* A node that has just been given a certificate: made, or its facts renewed. *join: the number that it has from before; 0: it is given one.
 * -EEXIST: a node of the configuration has that name, or one that is connected; -EINVAL: bad name or facts. */
int agents_join(struct server *s, const char *name, const json_t *facts, uint64_t *join, struct err *err);
int agents_remove(struct server *s, uint32_t node, bool force, struct err *err); /* -EBUSY: jobs run there */
void agents_turn(struct server *s);						 /* who has been silent for too long */
int64_t agents_next(const struct server *s);
void agents_farewell(struct server *s); /* the server is about to stop: written down before it is told */
int agent_restore(struct server *s, uint32_t node, const json_t *o, struct err *err); /* at recovery */
void agent_store(const struct node_info *info, struct json *j);	       /* its members of the node's record */
int facts_check(const json_t *facts, struct err *err);		       /* -EINVAL: no machine is like that */
void node_facts(struct server *s, uint32_t node, const json_t *facts); /* checked ones */
void node_arrived(struct server *s, uint32_t node, const json_t *facts, bool moved); /* its hello was accepted */
void node_heard(struct server *s, uint32_t node, const char *health); /* a ping; NULL or "": it is well */
void node_certified(struct server *s, uint32_t node);		      /* it was given a certificate */
void node_resize(struct server *s, uint32_t node);		      /* by its facts and the administrator's limits */
const char *
node_state(const struct server *s,
	   uint32_t node); /* the words of docs/cluster.md, joined by commas; borrowed until the next call */

/* ---- terminal.c: interactive jobs ---- */
int terminals_begin(struct server *s, struct err *err); /* takes terminals of jobs on this machine */
/* The terminal of a job on another host, which that has sent by a link of its own; false: it is none of a job there. */
bool terminal_link(struct server *s, uint32_t node, struct link *l, const json_t *head);
void api_terminal(struct server *s, struct http_request *r, const struct asker *w, const char *id);
void terminals_turn(struct server *s); /* clients that wait for jobs which have ended */
void terminals_end(struct server *s);

/* ---- who.c: who asks, and what may they ---- */
enum role { ROLE_USER, ROLE_OPERATOR, ROLE_MANAGER };
struct asker {
	uid_t uid;
	gid_t gid;
	char user[64];
	enum role role;
	enum { BY_SOCKET, BY_TOKEN, BY_JOB } by;
	char address[64]; /* of another machine; "" by the local socket */
	char token[64];	  /* the id of his token */
};
/* By the local socket the kernel says who; over TLS the token. -ENOENT: the account has no name; -EACCES, -EBUSY as token_check(). */
int who_asks(struct server *s, struct http_request *r, struct asker *ret, struct err *err);
bool who_known(void *server,
	       const struct http_request *r); /* over TLS: by the head alone, and without counting failures */
bool may_see(const struct server *s, const struct asker *w, const struct spec *p);
bool may_see_all(const struct server *s, const struct asker *w); /* jobs of all users */
bool may_change(const struct asker *w, const struct spec *p);

/* ---- order.c ---- */
void rank_set(struct server *s, uint32_t id, double rank); /* of a waiting job */
void reorder_later(struct server *s, uint32_t owner);	   /* by priority, among a user's waiting jobs */
void reorder_note(struct server *s, uint32_t owner);	   /* that it will have to be, for the case of a crash before */
void reorder_restore(struct server *s, const char *owner); /* at recovery: it was not complete */

/* ---- api*.c ---- */
void api_handle(void *context, struct http_request *r);
json_t *api_body(struct http_request *r, struct err *err); /* NULL: the sentence is set */
int api_status(const char *code);
void refuse_asker(struct http_request *r, int rc, const struct err *err); /* what who_asks() returned */
void scratch_fill(struct server *s, const struct spec *p);		  /* as if it were to be submitted now */
void api_submit(struct server *s, struct http_request *r, const struct asker *w);
void api_whatif(struct server *s, struct http_request *r, const struct asker *w);
void api_list(struct server *s, struct http_request *r, const struct asker *w);
void api_get(struct server *s, struct http_request *r, const struct asker *w, const char *id);
void api_script(struct server *s, struct http_request *r, const struct asker *w, const char *id);
void api_history(struct server *s, struct http_request *r, const struct asker *w, const char *id);
void api_why(struct server *s, struct http_request *r, const struct asker *w, const char *id);
void api_output(struct server *s, struct http_request *r, const struct asker *w, const char *id);
void api_action(struct server *s, struct http_request *r, const struct asker *w, const char *action);
void api_one(struct server *s, struct http_request *r, const struct asker *w, const char *action, const char *id);
void api_order(struct server *s, struct http_request *r, const struct asker *w);
void api_server(struct server *s, struct http_request *r, const struct asker *w);
void api_queues(struct server *s, struct http_request *r, const struct asker *w, const char *name);
void api_nodes(struct server *s, struct http_request *r, const struct asker *w, const char *name);
void cluster_sum(const struct server *s, int64_t *ret_nodes, int64_t *ret_cpus, int64_t *ret_used);
void nodes_metrics(const struct server *s, struct strbuf *out);
bool api_need(struct http_request *r, const struct asker *w, enum role role); /* false: it was answered */
void api_attributes(struct server *s, struct http_request *r, const struct asker *w);
void api_plan(struct server *s, struct http_request *r, const struct asker *w);
void api_events(struct server *s, struct http_request *r, const struct asker *w);
void api_log(struct server *s, struct http_request *r, const struct asker *w);
void api_metrics(struct server *s, struct http_request *r, const struct asker *w);
void api_shutdown(struct server *s, struct http_request *r, const struct asker *w);
void output_opened(struct server *s, uint64_t id, int fd, const char *reason);
/* A link from a host that was asked for a file: it is taken over. */
bool stream_taken(struct server *s, uint32_t node, struct link *l, const json_t *head); /* hosts.stream */
void output_stream(struct server *s, uint32_t node, struct link *l, const json_t *first);
void output_turn(struct server *s); /* followed outputs that grew, or whose job ended */
/* Jobs that a text of the API means. Arrays give all their elements. -ENOENT, -EINVAL. */
int jobs_named(const struct server *s, const char *text, job_vec *ret, struct array **ret_array, struct err *err);

/* ---- show.c: a job as JSON and as text ---- */
struct field_list {
	uint8_t v[96];
	int n;
	bool whole; /* some of them need the body */
};
int show_fields_parse(const char *fields, struct field_list *ret, struct err *err); /* NULL: all that a list has */
void show_whole(struct field_list *ret);					    /* all there are */
/* Members of the open object. `a`: an array as a whole, `id` being its first element. `body` may be NULL. */
void show_members(const struct server *s, struct json *j, uint32_t id, const struct array *a,
		  const struct field_list *f, const json_t *body);
void show_row(const struct server *s, struct strbuf *out, uint32_t id, const struct array *a,
	      const struct field_list *f);
void vnodes_format(const char *exec_host, struct strbuf *out);	 /* (n1:ncpus=2)+(n2:ncpus=2) of n1/0+n1/1+n2/0+n2/1 */
char array_state(const struct server *s, const struct array *a); /* the letter of an array as a whole */
void count_states(const struct server *s, const struct queue *q, int64_t counts[256]); /* q NULL: of all */
/* Of all queues in one pass: a row for each, in their order. The caller's. */
int64_t (*count_queues(const struct server *s))[256];

/* ---- events.c ---- */
void stream_event(struct server *s, const struct store_event *e); /* remembered until the commit, then sent */
void stream_flush(struct server *s);
void stream_tick(struct server *s);
void event_words(const struct server *s, const struct store_event *e, struct strbuf *out); /* a sentence */
const char *event_name(int type);

/* ---- ended.c: accounting and mail ---- */
void book_event(struct server *s, uint32_t id, char type);
void mail_event(struct server *s, uint32_t id, enum mail_point point);
void mails_send(struct server *s);
const char *group_name(struct server *s, const struct spec *p, char *buf, size_t size);

/* ---- history.c: what is kept for years ---- */
void history_stopped(struct server *s, const struct event *e,
		     const struct payload *p);	   /* PREEMPT, before it is applied */
void history_ended(struct server *s, uint32_t id); /* the job has ended */
/* ---- api_history.c ---- */
void api_past(struct server *s, struct http_request *r, const struct asker *w);
/* A job that the server does not know: from the history, or 404. */
void api_past_job(struct server *s, struct http_request *r, const struct asker *w, const char *id);
void api_past_sums(struct server *s, struct http_request *r, const struct asker *w);
void api_usage(struct server *s, struct http_request *r, const struct asker *w);

void history_begin(struct server *s); /* a store that is older than the history */

#endif
