/*
 * pmi1.h - how ranks of MPICH and its relatives find each other: PMI-1, as mpiexec.hydra serves it.
 *
 * Each rank inherits a socket (PMI_FD) and asks by lines, "cmd=put kvsname=X key=K value=V". What ranks put is known to all after a barrier: then a host
 * gives what its ranks have put since the last one to the launcher, which gives everybody's to all hosts, as a fence of PMIx (protocol.h).
 */
#ifndef PMIX_PMI1_H
#define PMIX_PMI1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/names.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "pmix/layout.h"

#define PMI1_WHO "*pmi1" /* what its fences are called: all hosts take part */
#define PMI1_LINE 65536	 /* bytes */

enum pmi1_deed {
	PMI1_NOTHING, /* but answered */
	PMI1_CONNECTED,
	PMI1_FINALIZED,
	PMI1_FENCE, /* the last rank of this host waits in the barrier: `fresh` is for the other hosts, then pmi1_pass() */
	PMI1_ABORT, /* it wants all to end, with `status` */
	PMI1_SPAWN, /* it wants more ranks, which it can't have */
	PMI1_UNFIT, /* it wants something else that is not there: `reason` */
};

struct pmi1_rank {
	int fd; /* our end; -1: closed */
	struct strbuf in;
	bool waits; /* in the barrier */
};

struct pmi1 {
	const struct layout *l;
	VEC(struct pmi1_rank) rank; /* of this host */
	size_t waiting;
	struct names keys;
	VEC(char *) values; /* by the key's number */
	struct strbuf fresh;
	int status;
	char reason[200];
};

void pmi1_init(struct pmi1 *p, const struct layout *l);
/* A socket for a rank: the end that it is to inherit, close-on-exec; or -errno. */
int pmi1_open(struct pmi1 *p, size_t local);
/* One line, without its end, and the answer to it. Anybody may have written it. */
enum pmi1_deed pmi1_line(struct pmi1 *p, size_t local, const char *line, struct strbuf *answer);
/* What a rank has sent: false if there is no whole line. Answers are sent. */
bool pmi1_next(struct pmi1 *p, size_t local, enum pmi1_deed *ret);
/* Reads; call pmi1_next() until it is false. */
void pmi1_read(struct pmi1 *p, size_t local);
/* Everybody's data: those who wait go on. */
void pmi1_pass(struct pmi1 *p, const char *data, size_t n);
void pmi1_fini(struct pmi1 *p);

#endif
