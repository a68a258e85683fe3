/*
 * qmgr.h - the two halves of qmgr: qmgr.c changes, qmgr_show.c lists and prints.
 */
#ifndef CMD_QMGR_H
#define CMD_QMGR_H

#include "client/qmgr.h"
#include "cmd/lib/change.h"

/* Lists attributes for people ("list"), or prints the commands that recreate them ("print"). */
void qmgr_show(struct change *ch, const struct qmgr_command *m);

#endif
