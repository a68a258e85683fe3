/* prepare_files.h - files carried between hosts for a job. */
#ifndef SERVER_PREPARE_FILES_H
#define SERVER_PREPARE_FILES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct arena;
struct server;

/* A host of this cluster (prepare_files.c). */
struct spot {
	bool here; /* the host is the server's machine; otherwise `node` is set */
	uint32_t node;
	const char *host;    /* name used by the engine */
	const char *title;   /* name used by users */
	const char *address; /* address where other hosts reach it */
	uint64_t join;
};
/* Where a job's output belongs. */
struct home {
	const char *path;
	/* its name among the files that the server keeps, if home is not a host of the cluster */
	const char *kept;
	bool error; /* for the error output, if that is a file of its own */
	bool known; /* home is a host of the cluster: `spot` */
	struct spot spot;
	/* the job came from another site: the server keeps its output until that site fetches it */
	bool away;
	bool stays;  /* output stays on the host where the job runs: -k */
	bool shared; /* the directory is shared by all hosts */
};
void output_home(struct server *s, uint32_t id, const json_t *body, bool error, struct arena *a, struct home *ret);

#endif
