/*
 * clusters.h - the clusters a user has logged in to: ~/.config/shunt/clusters/NAME, one file each.
 *
 *	{"name": "pine", "servers": ["pine:7722", "oak:7722"],
 *	 "ca": "-----BEGIN CERTIFICATE-----...", "token": "u7.SECRET.FINGERPRINT"}
 *
 * The token is a secret: files are written with permissions 0600, and not used if others can read
 * them.
 */
#ifndef CLIENT_CLUSTERS_H
#define CLIENT_CLUSTERS_H

#include "base/err.h"
#include "base/vec.h"

struct login {
	char *name;    /* letters, digits, '.', '_' and '-' */
	char *servers; /* "host:port", separated by blanks, in the order to try */
	char *ca;      /* PEM */
	char *token;
};
void login_fini(struct login *l); /* {0} is empty */

struct login_names {
	VEC(char *) list; /* sorted */
};
void login_names_fini(struct login_names *n);

/* Reads a login. Returns -ENOENT if there is none of this name, with a list of the others; -EACCES
 * if others can read the file, with the remedy; -EINVAL for a bad name or a damaged file. */
int login_read(const char *name, struct login *ret, struct err *err);
/* Writes a login atomically; creates the directories. */
int login_write(const struct login *l, struct err *err);
int login_remove(const char *name, struct err *err); /* -ENOENT */
int login_list(struct login_names *ret, struct err *err);
/* Reads the only login, or the one named "default". Returns -ENOENT if there is none, -EINVAL with
 * how to choose if there are several. */
int login_choose(struct login *ret, struct err *err);

#endif
