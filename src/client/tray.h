/*
 * tray.h - changes that commands leave in files while no server runs, for its next start.
 *
 *	STATE/offline/offer		from the server: where changes go, and from which number on
 *	STATE/offline/TRAY/		one for each start of the server
 *	STATE/offline/TRAY/t01ab...	a change that a command is writing
 *	STATE/offline/TRAY/13		change 13 is in the spool; if it is a submission, its job is number 13
 *	STATE/offline/TRAY/m13-T	the server has taken it over, and will remove it when it has been made; T: when it got its number, in microseconds
 *	STATE/offline/TRAY/13/request	what to do
 *
 * Nobody locks anything. A change is a directory, so that it gets its number, and the name under which the server finds it, in one rename that fails if another has
 * that number; until then it is nothing, and afterwards it is complete. A command that was stopped anywhere holds up nobody.
 *
 * Who made it: the owner of the directory. A directory can't be linked, nor moved out of its parent by somebody who may not write to it; so nobody can make one
 * that belongs to another user. A file would not do: its owner may have left it where others can move it. In system mode the tray belongs to the server's
 * account and has its group, which the changes inherit (set-group-ID): only their owner and the server can read them.
 *
 * While a tray is open to all users, each can make any name in it, m13-T included. So the server closes it before it takes anything over, and the sticky bit
 * says which names can be trusted: while it is set users may have made them all; without it only the server made those with an m.
 *
 * The order of events by which nothing is lost: the server listens, and then writes the offer; the next server removes the offer, and then looks what is in the
 * tray. A command reads the offer, then finds that no server listens, puts its change into the tray, and then finds that the offer is still the same: so the
 * next server has not looked yet. If the offer is another one, the command takes its change back, unless the server was faster.
 *
 * On other hosts the offer is the agent's, with a lease that the server gave it, and the trays are below the agent's STATE. The agent is not trusted with whose changes they are, so each is
 * sealed by the secret of its user's login token: seal_text() is what the seal covers, and secret_mac() with the secret's hash, which the server keeps, makes it. Numbers come from a
 * block that no other host has (server/job/jobs.h).
 *
 * The numbers: the server never gives a job a number that is not below `next` of its offer (it writes a new offer first), so numbers of the spool are not given to others.
 */
#ifndef CLIENT_TRAY_H
#define CLIENT_TRAY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"

#define TRAY_NAME 64
#define TRAY_LEASE 128
#define TRAY_VIEW "shunt view" /* whose seal is the name of a user's view at an agent */
#define TRAY_MOST (16u << 20)  /* bytes of a change */
#define TRAY_GAP 20000	       /* a number that is further from the one before was not given by our commands */

struct offer {
	char tray[TRAY_NAME];	  /* the directory's name */
	uint64_t next;		  /* numbers of changes begin here, */
	uint64_t end;		  /* ... and are below this; 0: there is no end */
	char server[256];	  /* what follows the number in job ids */
	bool shared;		  /* of a server for many users */
	int wait;		  /* seconds that a command waits for the server before it uses the spool */
	char lease[TRAY_LEASE];	  /* of an agent: what seals are for; "": changes are not sealed */
	char view[TRAY_LEASE];	  /* of an agent: the name of the user's view, if that is known (agent/views.c) */
	char cluster[TRAY_LEASE]; /* of an agent: the fingerprint of the cluster's authority, as tokens have it */
};

/* `dir` is STATE/offline. -ENOENT: there is none, so the spool can't be used. Other errors: it can't be read, or is not an offer. */
int offer_read(const char *dir, struct offer *ret, struct err *err);
int offer_parse(const char *text, size_t n, struct offer *ret, struct err *err);
/* Replaces it; it is on disk then. */
int offer_write(const char *dir, const struct offer *l, struct err *err);
int offer_remove(const char *dir, struct err *err); /* none there is fine */

/* A change: one request of the API. */
struct kept {
	uint64_t number;
	uid_t uid;
	int64_t time_us; /* when it got its number */
	char *path;	 /* of a POST: "/v1/jobs", or "/v1/jobs/" and an action */
	json_t *body;	 /* an object */
	char *sealed;	 /* its text as it was sealed; NULL: it has no seal */
	char *lease, *nonce, *token,
		*seal; /* of a sealed one: for which lease; what no other change has; by which token (its id); the seal */
};
void kept_fini(struct kept *x);
/* Reads `request`. -EINVAL. */
int kept_parse(const char *text, size_t n, struct kept *ret, struct err *err);

/* What a user asks for. */
struct change {
	const char *path, *body;	  /* as in struct kept; the body's text */
	const char *nonce, *token, *seal; /* for an offer with a lease, as in struct kept; else NULL */
};
/* The text of `request`. */
void change_format(const struct offer *l, const struct change *c, struct strbuf *out);
/* What a seal covers. */
void seal_text(const char *lease, const char *nonce, const char *path, const char *body, struct strbuf *ret);

/* Puts a change into the spool; it is on disk then. *ret_number is the one it got. -ESTALE: a server has been started meanwhile, and the change is not
 * in the spool: ask the server. */
int tray_put(const char *dir, const struct offer *l, const struct change *c, uint64_t *ret_number, struct err *err);

/* The names of the changes in a tray, in the order of their numbers. */
struct tray_name {
	uint64_t number;
	bool taken;	 /* by the server */
	int64_t time_us; /* of one that was taken: when it got its number; 0: not known */
};
typedef VEC(struct tray_name) tray_names;
void tray_name_format(const struct tray_name *x, char ret[TRAY_NAME]);
int tray_list(const char *dir, const char *tray, tray_names *ret, struct err *err);
/* Reads a change, and makes sure whose it is. `tray` is a descriptor. `group`: the server's, which may be that of the change; (gid_t)-1: the reader's own changes are looked at.
 * -ENODATA: nothing is in it; a server was killed while it removed it. -EACCES, -EINVAL, -EFBIG: it is not one, with the reason; its owner is in ret->uid unless that is not known, which is (uid_t)-1. */
int tray_read(int tray, const struct tray_name *name, gid_t group, struct kept *ret, struct err *err);
/* The same, but what was written is not looked into. *ret_text is appended to. */
int tray_text(int tray, const struct tray_name *name, gid_t group, struct kept *ret, struct strbuf *ret_text,
	      struct err *err);
/* Makes a tray with a random name. `shared`: for everybody. */
int tray_make(const char *dir, bool shared, char ret[TRAY_NAME], struct err *err);
/* Closes a tray to its users, who can still read it. A name with an m that is not the server's becomes that of a change without it. */
int tray_close(int tray);
/* Takes a change over from a closed tray, under `number`; it was not made before `least_us`. -ENOENT: it was taken back. */
int tray_take(int tray, struct tray_name *name, uint64_t number, int64_t least_us);
int tray_remove(int tray, const struct tray_name *name); /* one that was taken */
void tray_sweep(int tray);				 /* removes what commands began and never finished */

#endif
