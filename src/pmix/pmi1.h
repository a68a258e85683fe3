/*
 * pmi1.h - PMI-1, as served by mpiexec.hydra: how ranks of MPICH and its relatives find each other.
 *
 * Each rank inherits a socket (PMI_FD) and sends requests as lines, "cmd=put kvsname=X key=K
 * value=V". What ranks put becomes visible to all after a barrier: the host sends what its ranks
 * have put since the last one to the launcher, which sends everybody's to all hosts, like a PMIx
 * fence (protocol.h).
 */
#ifndef PMIX_PMI1_H
#define PMIX_PMI1_H

#include <stdbool.h>
#include <stddef.h>

#include "base/names.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "pmix/layout.h"

#define PMI1_WHO "*pmi1" /* name of its fences: all hosts take part */
#define PMI1_LINE 65536	 /* largest line, bytes */

enum pmi1_deed {
	PMI1_NOTHING, /* answered; nothing else to do */
	PMI1_CONNECTED,
	PMI1_FINALIZED,
	/* the last rank of this host has entered the barrier: send `fresh` to the other hosts,
	 * then call pmi1_pass() */
	PMI1_FENCE,
	PMI1_ABORT, /* the rank requests that all ranks end, with `status` */
	PMI1_SPAWN, /* the rank requests more ranks, which is not supported */
	PMI1_UNFIT, /* the rank requests something else that is not supported: `reason` */
};

struct pmi1_rank {
	int fd; /* our end; -1: closed */
	struct strbuf in;
	bool waits; /* true while it is in the barrier */
};

struct pmi1 {
	const struct layout *l;
	VEC(struct pmi1_rank) rank; /* ranks of this host */
	size_t waiting;
	struct names keys;
	VEC(char *) values; /* by index in `keys` */
	struct strbuf fresh;
	int status;
	char reason[200];
};

void pmi1_init(struct pmi1 *p, const struct layout *l);
/* Creates the socket of a rank. Returns the end to be inherited, close-on-exec, or -errno. */
int pmi1_open(struct pmi1 *p, size_t local);
/* Handles one line, without its newline, and appends the answer. The line is untrusted. */
enum pmi1_deed pmi1_line(struct pmi1 *p, size_t local, const char *line, struct strbuf *answer);
/* Handles the next line of a rank and sends the answer; returns false if there is no whole line. */
bool pmi1_next(struct pmi1 *p, size_t local, enum pmi1_deed *ret);
/* Reads from a rank; then call pmi1_next() until it returns false. */
void pmi1_read(struct pmi1 *p, size_t local);
/* Ends the barrier with everybody's data: waiting ranks continue. */
void pmi1_pass(struct pmi1 *p, const char *data, size_t n);
void pmi1_fini(struct pmi1 *p);

#endif
