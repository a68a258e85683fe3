/*
 * artaras.h - configuration files of the scheduler Artaras become directives for qmgr: its settings (figure 3.4 of its description) and its program classes (3.5). Which of them a
 * file is shows in its first line: settings have a '='.
 *
 *	Interactive limit = 0:45			# Class  Checkpoint periodic sig  Checkpoint preempt sig  Restart action
 *	Log entries = startup, jobsubmit		SPMD     30                       31                      arg
 *
 * Its file of quota (3.3) is what `shunt quota import` reads.
 */
#ifndef CLIENT_ARTARAS_H
#define CLIENT_ARTARAS_H

#include "base/err.h"
#include "base/lines.h"
#include "base/strbuf.h"

/* -EINVAL: what is wrong in which line; then nothing is added to `out`. */
int artaras_convert(struct lines *in, struct strbuf *out, struct err *err);

#endif
