/*
 * stage.h - file staging: the texts of -W stagein and stageout.
 */
#ifndef SERVER_STAGE_H
#define SERVER_STAGE_H

#include <stddef.h>

struct err;

#define STAGE_MAX 1000 /* maximum files of a job */

/* Checks the syntax of -W stagein and stageout. -EINVAL. */
int stage_check(const char *what, const char *text, struct err *err);
/* Returns the length of the first file's entry. */
size_t stage_next(const char *at);
/* Splits HERE@HOST:THERE: finds where the second and the third part begin. -EINVAL. */
int stage_split(const char *what, const char *at, size_t n, size_t *ret_here, size_t *ret_host, struct err *err);

#endif
