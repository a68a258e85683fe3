/*
 * ticket.h - what a host may do with files of other hosts, for one attempt of a job: text that the server signs with the cluster's
 * authority.
 *
 *	{"by":"n2:7","tag":"12.1","user":"alice","until":SECONDS,"files":[{"op":"put","at":"n1","path":"/home/alice/x.o12","mode":384,"append":false}, ...]}
 *
 * A host believes no other host, only tickets: one that was broken into can write the output of the jobs that were given to it, and nothing
 * else. `by` is the host that may use it, and the join of its certificate; "" is the server's machine. The files are those of the order, in
 * its sequence.
 */
#ifndef ENGINE_TICKET_H
#define ENGINE_TICKET_H

#include "base/arena.h"
#include "run/order.h"
#include "tls/pki.h"

#define TICKET_MAX (1u << 20) /* bytes */

/* One file of a ticket. Strings are the arena's. */
struct ticket {
	const char *tag, *user, *path;
	bool put;    /* it may be written, else read */
	bool append; /* ... after what is there already */
	int mode;    /* of a new one */
};

struct ticket_terms {
	const char *by; /* the node; "": the server's machine */
	uint64_t join;	/* of its certificate */
	int64_t until;	/* instant */
	const char *authority_key;
};
/* For all files that the order carries: fills o->ticket and o->signature, from the arena. */
int ticket_write(struct order *o, const struct ticket_terms *t, struct arena *a, struct err *err);

struct ticket_question {
	const char *text, *signature;
	int file;		       /* which of its files */
	const char *authority;	       /* certificate */
	const char *at;		       /* this host, as tickets call it */
	const struct cert_names *peer; /* who shows it; NULL: this host itself */
	int64_t now;
};
/* -EKEYREJECTED, -EKEYEXPIRED, -EPERM, -EINVAL and a sentence. */
int ticket_check(const struct ticket_question *q, struct arena *a, struct ticket *ret, struct err *err);

#endif
