/*
 * simulate_site.h - a site for a simulation: queues and limits in the language of qmgr, nodes and
 * policy from the server's configuration file.
 */
#ifndef CMD_SIMULATE_SITE_H
#define CMD_SIMULATE_SITE_H

#include "base/hostlist.h"
#include "rules/queue.h"

struct simulate_site {
	struct ruleset rules;
	bool ruled;	  /* qmgr's output was read */
	name_list shared; /* nodes that divide their CPUs among jobs with a budget */
	char *machine;	  /* nodes in the form of machine_build(); NULL: not known */
	/* why a configuration file did not give the nodes; NULL: none */
	const char *unknown;
	char *policy; /* NULL: not given */
	bool hooks;   /* has hooks (hooks/), which are not simulated */
};

void simulate_site_init(struct simulate_site *s);
void simulate_site_fini(struct simulate_site *s);
/* Reads files separated by commas, each either the output of `qmgr -c 'print server'` or a
 * configuration file of the server, and adds them to `s`. -EINVAL names file and line. */
int simulate_site_read(const char *paths, struct simulate_site *s, struct err *err);
/* Parses a text like simulate_site_read(); `path` is its name in messages. */
int simulate_site_parse(const char *path, const char *text, size_t n, struct simulate_site *s, struct err *err);

#endif
