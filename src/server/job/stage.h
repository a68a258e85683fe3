/*
 * stage.h - stagein and stageout: the texts of -W.
 */
#ifndef SERVER_STAGE_H
#define SERVER_STAGE_H

#include <stddef.h>

struct err;

#define STAGE_MAX 1000 /* files of a job */

int stage_check(const char *what, const char *text, struct err *err); /* -EINVAL: not as -W stagein has it */
size_t stage_next(const char *at);				      /* the length of the first of them */
/* HERE@HOST:THERE: where the second and the third begin. -EINVAL. */
int stage_split(const char *what, const char *at, size_t n, size_t *ret_here, size_t *ret_host, struct err *err);

#endif
