/*
 * workdir.h - a temporary directory of a process in TMPDIR. It contains a file `lock`, which is
 * locked while its owner lives. A directory left by a killed process is removed when the next one
 * is created.
 */
#ifndef BAG_WORKDIR_H
#define BAG_WORKDIR_H

#include "base/err.h"
#include "base/strbuf.h"

/* Creates $TMPDIR/PREFIX-XXXXXX for this process and its children, and removes those of this
 * user that have no owner any more. Call it before threads are started. */
int workdir_make(const char *prefix, struct strbuf *ret, struct err *err);

#endif
