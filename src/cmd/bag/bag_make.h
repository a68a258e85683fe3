/*
 * bag_make.h - a bag's directory, made from what the user gave.
 */
#ifndef CMD_BAG_MAKE_H
#define CMD_BAG_MAKE_H

#include "base/strbuf.h"
#include "cmd/lib/command.h"

/* Where tasks come from. */
struct bag_source {
	const char *file;    /* commands, or with `command` values; "-": standard input; NULL: none */
	const char *command; /* with places for values; NULL: none */
	struct texts globs;
	const char *csv;
	const char *need; /* of all tasks; NULL: nothing particular */
};

/* Makes the directory with its tasks, or finds that it is there already with the same ones. `dir`
 * may be NULL; with no source at all it must be a bag. `ret_dir` is the caller's. */
int bag_make(const struct bag_source *source, const char *dir, bool restart, struct strbuf *ret_dir, struct err *err);

#endif
