/*
 * workdir.h - a directory of a process in TMPDIR. It holds a file `lock`, which is locked while its owner lives: what one left that was killed is removed by the next one who makes a
 * directory here.
 */
#ifndef BAG_WORKDIR_H
#define BAG_WORKDIR_H

#include "base/err.h"
#include "base/strbuf.h"

/* Makes $TMPDIR/PREFIX-XXXXXX, for this process and those that it forks, and removes those of this user that nobody has any more. Before there are threads. */
int workdir_make(const char *prefix, struct strbuf *ret, struct err *err);

#endif
