/*
 * ticket.h - permission for a host to access files of other hosts, for one attempt of a job: a text
 * that the server signs with the cluster's authority.
 *
 *	{"by":"n2:7","tag":"12.1","user":"alice","until":SECONDS,"files":[
 *	 {"op":"put","at":"n1","path":"/home/alice/x.o12","mode":384,"append":false}, ...]}
 *
 * A host trusts no other host, only tickets: a compromised one can write the output of the jobs
 * that were given to it, and nothing else. `by` is the host that may use the ticket, and the join
 * of its certificate; "" is the server's machine. The files are those of the order, in the same
 * sequence.
 */
#ifndef ENGINE_TICKET_H
#define ENGINE_TICKET_H

#include "base/arena.h"
#include "run/order.h"
#include "tls/pki.h"

#define TICKET_MAX (1u << 20) /* bytes */

/* One file of a ticket. Strings are in the arena. */
struct ticket {
	const char *tag, *user, *path;
	bool put;    /* true: write; false: read */
	bool append; /* append to what exists */
	int mode;    /* mode of a new file */
};

struct ticket_terms {
	const char *by; /* the node; "": the server's machine */
	uint64_t join;	/* join of its certificate */
	int64_t until;	/* expiry, seconds since 1970 */
	const char *authority_key;
};
/* Writes a ticket for all files that the order carries: sets o->ticket and o->signature, in the
 * arena. */
int ticket_write(struct order *o, const struct ticket_terms *t, struct arena *a, struct err *err);

struct ticket_question {
	const char *text, *signature;
	int file;		       /* index of the file */
	const char *authority;	       /* certificate of the authority */
	const char *at;		       /* this host's name in tickets */
	const struct cert_names *peer; /* the host that shows it; NULL: this host itself */
	int64_t now;
};
/* Returns 0, or -EKEYREJECTED, -EKEYEXPIRED, -EPERM or -EINVAL and a sentence. */
int ticket_check(const struct ticket_question *q, struct arena *a, struct ticket *ret, struct err *err);

#endif
