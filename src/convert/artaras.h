/*
 * artaras.h - converts configuration files of the scheduler Artaras to directives for qmgr: its
 * settings (figure 3.4 of its description) and its program classes (3.5). The first line shows
 * which of the two a file is: settings have a '='.
 *
 *	Interactive limit = 0:45
 *	Log entries = startup, jobsubmit
 *
 *	# Class  Checkpoint periodic sig  Checkpoint preempt sig  Restart action
 *	SPMD     30                       31                      arg
 *
 * `shunt quota import` reads its quota file (3.3).
 */
#ifndef CLIENT_ARTARAS_H
#define CLIENT_ARTARAS_H

#include "base/err.h"
#include "base/lines.h"
#include "base/strbuf.h"

/* Appends directives to `out`. Returns -EINVAL with the line and what is wrong in it; `out` is then
 * unchanged. */
int artaras_convert(struct lines *in, struct strbuf *out, struct err *err);

#endif
