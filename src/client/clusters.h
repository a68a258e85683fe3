/*
 * clusters.h - clusters that a user has logged in to: ~/.config/shunt/clusters/NAME, one file each.
 *
 *	{"name": "pine", "servers": ["pine:7722", "oak:7722"], "ca": "-----BEGIN CERTIFICATE-----...", "token": "u7.SECRET.FINGERPRINT"}
 *
 * The token is a secret: files are written with permissions 0600, and not used if others can read them.
 */
#ifndef CLIENT_CLUSTERS_H
#define CLIENT_CLUSTERS_H

#include "base/err.h"
#include "base/vec.h"

struct login {
	char *name;    /* letters, digits, '.', '_' and '-' */
	char *servers; /* "host:port", joined by blanks: to be tried in this order */
	char *ca;      /* PEM */
	char *token;
};
void login_fini(struct login *l); /* {0} is empty */

struct login_names {
	VEC(char *) list; /* sorted */
};
void login_names_fini(struct login_names *n);

/* -ENOENT: there is none of this name, and the sentence lists those there are; -EACCES: others can read it, and how to mend that; -EINVAL:
 * a name that can't be one, a file that is damaged. */
int login_read(const char *name, struct login *ret, struct err *err);
/* Writes it whole or not at all; makes the directories. */
int login_write(const struct login *l, struct err *err);
int login_remove(const char *name, struct err *err); /* -ENOENT */
int login_list(struct login_names *ret, struct err *err);
/* The only one there is, or the one named "default". -ENOENT: there is none; -EINVAL: several, and the sentence says how to choose. */
int login_choose(struct login *ret, struct err *err);

#endif
