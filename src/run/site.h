/*
 * site.h - the site's prologue and epilogue, which the shepherd runs before and after the job with
 * the nursery's rights.
 */
#ifndef RUN_SITE_H
#define RUN_SITE_H

#include "run/order.h"

/* Run with the arguments that PBS passes; their output goes to the job's. Return 0 if the program
 * exited with 0; else a sentence in err and -ECANCELED if a signal to the shepherd (SIGKILL or
 * SIGTERM by order) ended it, -EIO otherwise. */
int site_prologue(const struct order *o, int out_fd, int err_fd, struct err *err);
int site_epilogue(const struct order *o, const struct result *r, int out_fd, int err_fd, struct err *err);

#endif
