/*
 * where.h - finds the files of an instance.
 *
 *	SHUNT_HOME=D	everything under D: D/run, D/state, D/shunt.conf, D/log
 *	personal	$XDG_RUNTIME_DIR/shunt (or the state directory's run/),
 *			$XDG_STATE_HOME/shunt, $XDG_CONFIG_HOME/shunt
 *	system		/run/shunt, /var/lib/shunt, /etc/shunt, /var/log/shunt:
 *			if /etc/shunt/shunt.conf exists
 *
 * Commands use SHUNT_HOME if set; else the user's personal instance if its socket exists; else the
 * system's. client.h says which server they ask if this host has none of these.
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
	char conf[3072];  /* path of the configuration file */
	char log[3072];	  /* path of the log file */
};

/* Find an instance's paths. Return -EINVAL if HOME is not known or a path is too long for a socket;
 * the message says what to set. */
int where_personal(struct where *ret, struct err *err); /* SHUNT_HOME or XDG */
int where_system(struct where *ret, struct err *err);
int where_find(struct where *ret, struct err *err); /* in the order above */

/* Returns true if the server's socket exists; the server may still not answer. */
bool where_has_socket(const struct where *w);
/* Writes the directory of the clusters a user has logged in to: $XDG_CONFIG_HOME/shunt/clusters. */
int where_clusters(char ret[WHERE_PATH], struct err *err);
/* Writes the directory of what is known about clusters while they are unreachable:
 * $XDG_STATE_HOME/shunt/spool. */
int where_spools(char ret[WHERE_PATH], struct err *err);

#endif
