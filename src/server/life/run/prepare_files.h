/*
 * prepare_files.h - what is carried for a job between hosts.
 */
#ifndef SERVER_PREPARE_FILES_H
#define SERVER_PREPARE_FILES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct arena;
struct server;

/* prepare_files.c: a host of this cluster, */
struct spot {
	bool here;	     /* the server's machine, else: */
	uint32_t node;	     /* ... */
	const char *host;    /* as the engine has it */
	const char *title;   /* as users do */
	const char *address; /* where other hosts call it */
	uint64_t join;
};
/* ... and where a job's output belongs: */
struct home {
	const char *path;
	const char *kept; /* its name among what the server keeps, if home is no host of the cluster */
	bool error;	  /* it is the error output's own */
	bool known;	  /* home is `spot` */
	struct spot spot;
	bool away;   /* the job came from another site: the server keeps its output, and that site asks for it */
	bool stays;  /* on the host where the job runs: -k */
	bool shared; /* the directory is the same everywhere */
};
bool spot_find(const struct server *s, const char *host, struct spot *ret); /* false: it is none */
void output_home(struct server *s, uint32_t id, const json_t *body, bool error, struct arena *a, struct home *ret);

#endif
