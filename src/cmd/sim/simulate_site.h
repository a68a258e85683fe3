/*
 * simulate_site.h - a site for a simulation: its queues and limits in the language of qmgr, its
 * nodes and its policy in the server's configuration file.
 */
#ifndef CMD_SIMULATE_SITE_H
#define CMD_SIMULATE_SITE_H

#include "rules/queue.h"

struct simulate_site {
	struct ruleset rules;
	bool ruled;	     /* qmgr's output was read: there are rules */
	char *machine;	     /* its nodes, as machine_build() takes them; NULL: not known */
	const char *unknown; /* why a configuration file did not say them; NULL: there was none */
	char *policy;	     /* NULL: not said */
	bool hooks;	     /* it has some (hooks/), which are not simulated */
};

void simulate_site_init(struct simulate_site *s);
void simulate_site_fini(struct simulate_site *s);
/* Files with commas between them, each of which is either what `qmgr -c 'print server'` printed or
 * a configuration file of the server. Adds to `s`. -EINVAL names file and line. */
int simulate_site_read(const char *paths, struct simulate_site *s, struct err *err);
/* The same over a text; `path` is what messages call it. */
int simulate_site_parse(const char *path, const char *text, size_t n, struct simulate_site *s, struct err *err);

#endif
