/*
 * history.h - a random history of a whole server, with a real store: what people and processes do
 * in it, and what is to be seen of it.
 *
 * history.c asks the server; history_people.c, history_sites.c, history_visits.c,
 * history_overlays.c, history_owners.c, history_hooks.c, history_floods.c, history_steps.c say what
 * happens; history_seen.c shows everything; history_books.c compares the books.
 */
#ifndef SHUNT_TESTS_HISTORY_H
#define SHUNT_TESTS_HISTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/rng.h"
#include "base/strbuf.h"

struct array;
struct http_request;
struct server;

#define EPOCH INT64_C(1800000000)

#define VISITS 12     /* keys of another site's submissions */
#define WAITING_MAX 4 /* requests that are under way */

struct history {
	struct server *s;
	struct http_request *waiting[WAITING_MAX]; /* NULL: none */
	struct rng rng;
	struct rng extra; /* for what came later: seeds mean what they meant before. Not seeded, none of it happens */
	struct rng sites; /* the same, for what happens to jobs at other sites */
	struct rng overlays;
	struct rng owners;
	struct rng visits;
	struct rng hooks;
	struct rng floods;
	char dir[64];
	int64_t now_us;
	uint64_t submitted;  /* the highest number given */
	struct map accepted; /* numbers that became jobs: not those of submissions that a restart cut off */
	struct map leased;   /* numbers that hosts gave to submissions */
	char token[256];     /* token of another site, which hands jobs over to this one */
	struct visited {
		char id[64];	/* answer that it got; "": none yet */
		bool withdrawn; /* the answer was that there is no such job and never will be */
	} visited[VISITS];
	uint64_t join;	 /* number of n4's join (history_owners.c) */
	bool connects;	 /* its agent does, and jobs go there */
	bool owned;	 /* n4 is a workstation from the beginning, whose owner comes and goes often */
	bool hooked;	 /* the site may have hooks */
	int patience;	 /* < 0: a request is begun, and not waited for */
	uint64_t digest; /* hash of the requests and the codes of their answers: the same on every machine */
	bool loud;
};

/* A server over the history's directory: from its store, if there is one. */
struct server *server_open(struct history *h);

/* Chance. */
int64_t below(struct history *h, int64_t n);
bool one_in(struct history *h, int64_t n);
const char *pick(struct history *h, const char *const *list);
#define PICK(h, ...) pick(h, (const char *const[]){__VA_ARGS__, NULL})

/* Root, who manages, and somebody else. */
uid_t someone(struct history *h);

/* A request; without patience it is begun only. The body is formatted. */
void ask(struct history *h, uid_t uid, const char *method, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* An attribute of the server or of a queue is set. */
void attribute(struct history *h, const char *path, const char *name, const char *value);

/* Sets an attribute; evaluates the arguments from left to right, so that several may draw.
 * Everywhere else a statement draws once: the compiler chooses which of two arguments is
 * evaluated first. */
#define ATTRIBUTE(h, path, name, value)                                                                                \
	do {                                                                                                           \
		const char *path_ = (path), *name_ = (name), *value_ = (value);                                        \
		attribute(h, path_, name_, value_);                                                                    \
	} while (0)

/* Requests that were answered meanwhile go; all of them do when their server has gone. */
void waiting_end(struct history *h, bool all);

/* Something that people do. */
void op_submit(struct history *h);
void op_alter(struct history *h);
void op_walltime(struct history *h);
void op_action(struct history *h);
void op_order(struct history *h);
void op_place(struct history *h);
void op_admin(struct history *h);

/* Jobs that another site may have. In the end all of them have ended there. */
void sites_add(struct history *h);
void op_sites(struct history *h);
void visits_realm(struct server *s); /* a server just opened can have tokens */
void visits_begin(struct history *h);
void op_visits(struct history *h);
void sites_drain(struct history *h);
void away_check(const struct history *h, const struct array *a); /* the number of elements that are away is right */
void op_overlays(struct history *h);
void owners_begin(struct history *h);
void op_owners(struct history *h);
void owners_hear(struct history *h); /* the machine is there, and nobody uses it */
void owners_away(struct history *h); /* its connection is lost */
void owners_silence(struct history *h);
void owners_go(struct history *h);    /* it has no owner any more */
void hooks_change(struct history *h); /* the site has other hooks, or none */
void op_hooks(struct history *h);
void op_floods(struct history *h);
/* Makes REFUSED_EACH requests that nobody made before, and that change nothing. */
#define REFUSED_EACH 32
void refused_ask(struct history *h, uint32_t i);
void away_see(const struct history *h, uint32_t id, struct strbuf *out);

/* One of everything that can happen, and a turn of the server. */
void step(struct history *h);

/* All that the API can show of a job, or of an array. */
void job_see(struct history *h, uint32_t id, const struct array *a, struct strbuf *out);

/* Everything that can be seen, a line each; and the lines that differ. */
void dump(struct history *h, struct strbuf *out);
void differ(const char *a, const char *b);

/* Which jobs another user may see and hold, checked: the server remembers what the user
 * coordinates, and must notice every change of it. */
void coordinated_see(struct history *h, struct strbuf *out);

/* Each user's quota is what was given, less what was taken. */
void quota_check(struct history *h);

/* Each job that was accepted has ended, once, and the ledger is what the history adds up to. */
bool books_balance(struct history *h);

/* The accounting files have each job's submission and end, once. */
bool lines_balance(struct history *h);

#endif
