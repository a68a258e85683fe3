/*
 * tray.h - the spool: changes that commands leave in files for the next start of the server.
 *
 *	STATE/offline/offer		by the server: where changes go, and their first number
 *	STATE/offline/TRAY/		one directory per start of the server
 *	STATE/offline/TRAY/t01ab...	a change that a command is writing
 *	STATE/offline/TRAY/13		change 13 is spooled; a submission becomes job 13
 *	STATE/offline/TRAY/m13-T	taken over by the server until applied; T: when spooled, us
 *	STATE/offline/TRAY/13/request	the request
 *
 * There are no locks. A change is a directory. It gets its number, and the name under which the
 * server finds it, in one rename that fails if the number is taken; before the rename it does not
 * count, and afterwards it is complete. A command that is stopped at any point blocks nobody.
 *
 * The owner of the directory made the change. A directory cannot be hard-linked, nor moved by
 * somebody who may not write to it, so nobody can place one that belongs to another user. A file
 * would not do: its owner may have left it where others can move it. In system mode the tray
 * belongs to the server's account and has its group, which the changes inherit (set-group-ID): only
 * their owner and the server can read them.
 *
 * While a tray is open to all users, any of them can create any name in it, even m13-T. So the
 * server closes it before it takes anything over. The sticky bit shows which names can be trusted:
 * while it is set, users may have made any of them; without it, only the server made names with an
 * m.
 *
 * Nothing is lost because of the order of events. The server listens, then writes the offer; the
 * next server replaces the offer by that of another tray, or removes it, then reads the tray. A
 * command reads the offer, finds that no server listens, puts its change into the tray, and checks
 * that the offer is still the same: then the next server has not read the tray yet. If the offer
 * has changed, the command takes its change back, unless the server was faster.
 *
 * On other hosts the agent makes the offer, under a lease from the server, and the trays are below
 * the agent's STATE. The agent is not trusted to say who made a change, so each is sealed with the
 * secret of its user's login token: seal_text() builds the text that the seal covers, and
 * secret_mac() computes the seal with the secret's hash, which the server keeps. Each host has its
 * own block of numbers (server/job/jobs.h).
 *
 * The server gives jobs only numbers below `next` of its offer (it writes a new offer first), so
 * they never collide with numbers of the spool.
 */
#ifndef CLIENT_TRAY_H
#define CLIENT_TRAY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/schema.h"
#include "base/strbuf.h"
#include "base/vec.h"

#define TRAY_NAME 64
#define TRAY_LEASE 128
#define TRAY_VIEW "shunt view" /* the seal of this text names a user's view at an agent */
#define TRAY_MOST (16u << 20)  /* size limit of a change, bytes */
#define TRAY_GAP 20000	       /* larger gaps between numbers cannot come from our commands */

struct offer {
	char tray[TRAY_NAME]; /* name of the directory */
	uint64_t next;	      /* first number for changes */
	uint64_t end;	      /* numbers stay below this; 0: no limit */
	char server[256];     /* part of job ids after the number */
	bool shared;	      /* the server serves many users */
	/* how long a command waits for the server before it uses the spool, s */
	int wait;
	/* agent only: lease that seals are bound to; "": changes are not sealed */
	char lease[TRAY_LEASE];
	/* agent only: name of the user's view, if known (agent/views.c) */
	char view[TRAY_LEASE];
	char cluster[TRAY_LEASE]; /* agent only: fingerprint of the cluster's CA, as in tokens */
};

/* Reads the offer in `dir`, which is STATE/offline. Returns -ENOENT if there is none, so that the
 * spool cannot be used; other errors if it cannot be read or is not an offer. */
int offer_read(const char *dir, struct offer *ret, struct err *err);
int offer_parse(const char *text, size_t n, struct offer *ret, struct err *err);
extern const struct schema offer_schema;
/* Reads an offer that need not name a tray: a lease of the server's. */
int offer_load(const json_t *o, struct offer *ret, struct err *err);
/* Replaces the offer durably. */
int offer_write(const char *dir, const struct offer *l, struct err *err);
int offer_remove(const char *dir, struct err *err); /* succeeds if there is none */

/* Frames that bring changes from a command to an agent and on to the server, and views the other
 * way (docs/protocol.md). A frame has only some of these members; texts are borrowed. */
#define SPOOL_PIECE (512u * 1024) /* bytes of data in a frame, at most */
struct spool_frame {
	const char *view; /* spool: name of the caller's view */
	const char *name; /* view: its name */
	int64_t size;	  /* bytes of the whole change or view */
	int64_t at;	  /* view: where this piece begins */
	uint64_t number;  /* kept, done: number of the change */
	int64_t age;	  /* kept: microseconds since the change got its number */
	/* refused: the reason; done: why the server refused the change, NULL if it was made */
	const char *why;
	bool again;	   /* done: send the change again later */
	bool stale;	   /* refused: a server has started since the offer was made */
	const char *lease; /* emptied: the lease whose changes have all been sent */
};
extern const struct schema spool_frames;
/* A frame that cannot be read counts as one without members. */
void spool_frame_read(const json_t *head, struct spool_frame *ret);

/* A change in the spool: one API request. */
struct kept {
	uint64_t number;
	uid_t uid;
	int64_t time_us;		    /* when it got its number */
	char *path;			    /* path of a POST: "/v1/jobs", or "/v1/jobs/" and an action */
	json_t *body;			    /* an object */
	char *sealed;			    /* the text that was sealed; NULL: not sealed */
	char *lease, *nonce, *token, *seal; /* sealed only: the lease, a unique nonce, the token's id, the seal */
};
void kept_fini(struct kept *x);
/* Parses the file `request`. Returns -EINVAL if it is not a change. */
int kept_parse(const char *text, size_t n, struct kept *ret, struct err *err);

/* A change as a user requests it. */
struct change {
	const char *path, *body; /* see struct kept; the body as text */
	/* see struct kept; set if the offer has a lease; else NULL */
	const char *nonce, *token, *seal;
};
/* Formats a change as the text of the file `request`. */
void change_format(const struct offer *l, const struct change *c, struct strbuf *out);
/* Builds the text that a seal covers. */
void seal_text(const char *lease, const char *nonce, const char *path, const char *body, struct strbuf *ret);

/* Puts a change into the spool durably; *ret_number is its number. Returns -ESTALE if a server was
 * started meanwhile: the change is not in the spool, and the caller asks the server. */
int tray_put(const char *dir, const struct offer *l, const struct change *c, uint64_t *ret_number, struct err *err);

/* The name of a change in a tray. Lists are ordered by number. */
struct tray_name {
	uint64_t number;
	bool taken;	 /* taken over by the server */
	int64_t time_us; /* taken ones: when it got its number; 0: not known */
};
typedef VEC(struct tray_name) tray_names;
void tray_name_format(const struct tray_name *x, char ret[TRAY_NAME]);
int tray_list(const char *dir, const char *tray, tray_names *ret, struct err *err);
/* Reads a change and verifies its owner. `tray` is a descriptor. `group` is the server's group,
 * which the change may have; (gid_t)-1 reads the caller's own changes. Returns -ENODATA if it is
 * empty (a server was killed while removing it); -EACCES, -EINVAL or -EFBIG with the reason if it
 * is not a change. ret->uid is then its owner, or (uid_t)-1 if not known. */
int tray_read(int tray, const struct tray_name *name, gid_t group, struct kept *ret, struct err *err);
/* Reads a change like tray_read() without parsing it; appends its text to *ret_text. */
int tray_text(int tray, const struct tray_name *name, gid_t group, struct kept *ret, struct strbuf *ret_text,
	      struct err *err);
/* Creates a tray with a random name. `shared`: all users may write to it. */
int tray_make(const char *dir, bool shared, char ret[TRAY_NAME], struct err *err);
/* Closes a tray for writing by its users, who can still read it. A name with an m that the server
 * did not make loses its m. */
int tray_close(int tray);
/* Takes over a change from a closed tray under `number`; its time is at least `least_us`. Returns
 * -ENOENT if the user took it back. */
int tray_take(int tray, struct tray_name *name, uint64_t number, int64_t least_us);
int tray_remove(int tray, const struct tray_name *name); /* removes a change that was taken over */
/* Removes changes that commands never finished writing. */
void tray_sweep(int tray);

#endif
