/*
 * layout.h - which ranks of a program run on which hosts, and what they run: `shunt launch` sends
 * this to every shunt-pmix (`setup` in protocol.h).
 */
#ifndef PMIX_LAYOUT_H
#define PMIX_LAYOUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct layout_host {
	const char *name;   /* name of its first node */
	uint32_t cpus;	    /* CPUs that the job has there */
	VEC(uint32_t) rank; /* its ranks, ascending; derived */
};

struct layout_rank {
	uint32_t node, host; /* a host may have several virtual nodes */
	uint32_t local;	     /* index among its host's ranks; derived */
};

struct layout {
	struct arena *arena;	      /* owns the strings and `rank` */
	const char *name;	      /* name of this run; unguessable, since knowing it admits a process */
	uint32_t size, here;	      /* number of ranks; index of this host */
	VEC(const char *) node;	      /* nodes of the job, by PBS_NODENUM */
	VEC(struct layout_host) host; /* hosts that have ranks */
	struct layout_rank *rank;
	const char *workdir;
	/* NULL-terminated; `env` is added to the environment of the job on the host */
	char **argv, **env;
	bool bind; /* true to bind each rank to CPUs of its own */
	/* file copied to every host; words of argv equal to this path are replaced by the
	 * copy's; NULL: none */
	const char *file;
	const char *text; /* contents of the file */
	size_t ntext;
};

/* Fills in the derived fields once hosts, ranks and `size` are set. */
void layout_derive(struct layout *l);
/* Build the frame: its head, and as its data the strings, which need not be UTF-8. */
json_t *layout_head(const struct layout *l);
void layout_data(const struct layout *l, struct strbuf *out);
/* Returns -EINVAL with a message if the frame is not a valid layout. */
int layout_read(const json_t *head, const char *data, size_t n, struct layout *ret, struct err *err);
void layout_fini(struct layout *l);

#endif
