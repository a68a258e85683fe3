/*
 * hookfiles.h - the files of a hook directory: NAME.lua, ordered by name, owned by root or by us,
 * and writable by nobody else.
 *
 * It uses no server state, so it may run on another thread.
 */
#ifndef SERVER_SITE_HOOKFILES_H
#define SERVER_SITE_HOOKFILES_H

#include <stddef.h>

#include "base/vec.h"

struct hookfile {
	char *name;
	char *text; /* NULL: the file cannot be used */
	size_t n;
	char *problem;	/* why it cannot be used */
	char stamp[96]; /* differs after any change of the file */
};

struct hookdir {
	VEC(struct hookfile) files; /* by name */
	/* why no file is used: others may write the directory, or it cannot be read; NULL: it is
	 * usable or missing */
	char *problem;
};

void hookdir_read(const char *path, struct hookdir *ret);
void hookdir_fini(struct hookdir *d);

#endif
