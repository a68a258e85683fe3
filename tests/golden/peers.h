/*
 * peers.h - what test_peers.c plays for the whole server: links, whose frames it prints, and the
 * attempts that the engine is ordered to start.
 */
#ifndef GOLDEN_PEERS_H
#define GOLDEN_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/link.h"
#include "tls/pki.h"

#define LINKS 16
#define LIVES 16
#define SHOWN 20000 /* bytes of data that are shown */

struct site;
extern struct site *site;
extern int64_t now_us; /* all clocks of the server */
extern bool quiet;     /* nothing is recorded */

/* Records a line, without what differs from run to run. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- links (links.c) ---- */

struct link {
	char name[32], address[64];
	struct cert_names who;
	const struct link_events *events;
	void *context;
	size_t queued;
	bool orphaned;
	char *over; /* why the server has closed it; NULL: it has not */
};

struct link **link_at(const char *name);	/* NULL: a free place; returns NULL if it is not found */
void link_begin(char *args);			/* opens "LINK server|NODE JOIN ADDRESS" */
void frame_deliver(struct link *l, char *text); /* delivers "{HEAD} DATA"; DATA "*N": N bytes */
void link_free(struct link **at, const char *reason);
void links_end(void);	 /* reports the end of links that the server has closed */
void links_forget(void); /* frees all links, when their server is gone */

/* ---- attempts (lives.c) ---- */

void lives_begin(void);		   /* nothing runs */
void life_starts(const char *tag); /* "1" stands for the tag of its attempt */
/* It exits with a status, or its host, if not NULL, is given up. */
void life_ends(const char *tag, int status, const char *host);
/* What a server that is started learns of it: "lost", "ended", "never". */
void life_fate(const char *tag, const char *fate);
bool life_uses(const char *tag, int64_t cpu_ms, int64_t memory_kib); /* false: it was not ordered */

#endif
