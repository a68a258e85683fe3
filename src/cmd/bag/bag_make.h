/*
 * bag_make.h - creates the directory of a bag.
 */
#ifndef CMD_BAG_MAKE_H
#define CMD_BAG_MAKE_H

#include "base/strbuf.h"
#include "cmd/lib/command.h"

/* The source of the tasks. */
struct bag_source {
	/* file of commands, or of values if `command` is set; "-": standard input; NULL: none */
	const char *file;
	const char *command; /* command with placeholders for values; NULL: none */
	struct texts globs;
	const char *csv;
	const char *need; /* requirements of all tasks; NULL: none */
};

/* Creates the directory with its tasks, or checks that an existing one has the same tasks. `dir`
 * may be NULL; without any source it must be a bag. The caller frees *ret_dir. */
int bag_make(const struct bag_source *source, const char *dir, bool restart, struct strbuf *ret_dir, struct err *err);

#endif
