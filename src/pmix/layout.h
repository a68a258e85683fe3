/*
 * layout.h - which ranks of a program run on which hosts, and what they are: what `shunt launch` tells every shunt-pmix (`setup` in protocol.h).
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
	const char *name;   /* of its first node */
	uint32_t cpus;	    /* that the job has there */
	VEC(uint32_t) rank; /* derived, ascending */
};

struct layout_rank {
	uint32_t node, host; /* virtual nodes may be several on a host */
	uint32_t local;	     /* derived: which of its host's it is */
};

struct layout {
	struct arena *arena;	      /* owns the texts, and `rank` */
	const char *name;	      /* of the program's run, which nobody can guess: who knows it may take part */
	uint32_t size, here;	      /* how many ranks; which of the hosts this is */
	VEC(const char *) node;	      /* of the job, by PBS_NODENUM */
	VEC(struct layout_host) host; /* those with ranks */
	struct layout_rank *rank;
	const char *workdir;
	char **argv, **env; /* NULL-terminated; `env` is added to what the host's part of the job has */
	bool bind;	    /* ranks to CPUs of their own */
	const char *
		file; /* a copy of it goes to every host, where words of argv that are this path mean the copy; NULL: none */
	const char *text; /* ... what is in it */
	size_t ntext;
};

/* Fills in what is derived, when hosts, ranks and `size` are known. */
void layout_derive(struct layout *l);
/* The frame: its head, and as data the texts, which need not be UTF-8. */
json_t *layout_head(const struct layout *l);
void layout_data(const struct layout *l, struct strbuf *out);
/* -EINVAL: that is none. */
int layout_read(const json_t *head, const char *data, size_t n, struct layout *ret, struct err *err);
void layout_fini(struct layout *l);

#endif
