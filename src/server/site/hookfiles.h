/*
 * hookfiles.h - the files of a directory of hooks: NAME.lua, in the order of their names, that belong to root or to us, and that nobody else can write.
 *
 * Nothing here belongs to the server: it may run on another thread.
 */
#ifndef SERVER_SITE_HOOKFILES_H
#define SERVER_SITE_HOOKFILES_H

#include <stddef.h>
#include <sys/types.h>

#include "base/vec.h"

struct hookfile {
	char *name;
	char *text; /* NULL: it can't be used, ... */
	size_t n;
	char *problem;	/* ... why */
	char stamp[96]; /* another one when it has changed */
};

struct hookdir {
	VEC(struct hookfile) files; /* by name */
	char *problem; /* why none is used: others may write the directory, it can't be read; NULL: fine, or it is not there */
};

void hookdir_read(const char *path, struct hookdir *ret);
void hookdir_fini(struct hookdir *d);

#endif
