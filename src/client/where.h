/*
 * where.h - where an instance's files are.
 *
 *	SHUNT_HOME=D	everything under D: D/run, D/state, D/shunt.conf, D/log
 *	personal	$XDG_RUNTIME_DIR/shunt (or the state directory's run/), $XDG_STATE_HOME/shunt, $XDG_CONFIG_HOME/shunt
 *	system		/run/shunt, /var/lib/shunt, /etc/shunt, /var/log/shunt: when /etc/shunt/shunt.conf is there
 *
 * Commands use SHUNT_HOME if set; else the user's personal instance if its socket is there; else the system's. (Which server they ask
 * when there is none of these on this host: client.h.)
 */
#ifndef CLIENT_WHERE_H
#define CLIENT_WHERE_H

#include <stdbool.h>

#include "base/err.h"

#define WHERE_PATH 3072

struct where {
	bool system;
	char home[3000];  /* SHUNT_HOME, or "" */
	char run[3072];	  /* shuntd.sock (the API), shuntd.pid, engine.sock (results) */
	char state[3072]; /* shunt.db, live/, spool/, accounting/ */
	char conf[3072];  /* the file */
	char log[3072];	  /* the file */
};

/* -EINVAL: HOME is not known, a path is too long for a socket (the sentence says what to set). */
int where_personal(struct where *ret, struct err *err); /* SHUNT_HOME or XDG */
int where_system(struct where *ret, struct err *err);
int where_find(struct where *ret, struct err *err); /* as commands do */

/* Is a server's socket there? Whether it answers is another question. */
bool where_has_socket(const struct where *w);
/* The directory of the clusters that a user has logged in to: $XDG_CONFIG_HOME/shunt/clusters. */
int where_clusters(char ret[WHERE_PATH], struct err *err);
/* Of what is known of them while they can't be reached: $XDG_STATE_HOME/shunt/spool. */
int where_spools(char ret[WHERE_PATH], struct err *err);

#endif
