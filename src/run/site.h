/*
 * site.h - the site's prologue and epilogue: run by the shepherd before and after the job, with the nursery's rights.
 */
#ifndef RUN_SITE_H
#define RUN_SITE_H

#include "run/order.h"

/* Each gets the arguments that PBS gives; output goes to the job's. 0 if it left with 0; else a sentence in err: -ECANCELED if a signal to
 * the shepherd (SIGKILL or SIGTERM by order) ended it, -EIO otherwise. */
int site_prologue(const struct order *o, int out_fd, int err_fd, struct err *err);
int site_epilogue(const struct order *o, const struct result *r, int out_fd, int err_fd, struct err *err);

#endif
