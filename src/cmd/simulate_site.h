/*
 * simulate_site.h - queues and limits of a site, for a simulation, in the language of qmgr.
 */
#ifndef CMD_SIMULATE_SITE_H
#define CMD_SIMULATE_SITE_H

#include "rules/queue.h"

/* What `qmgr -c 'print server'` printed. `ret` is initialized; commands about nodes are passed over. -EINVAL names the line. */
int simulate_site_read(const char *path, struct ruleset *ret, struct err *err);
int simulate_site_parse(const char *text, size_t n, struct ruleset *ret, struct err *err);

#endif
