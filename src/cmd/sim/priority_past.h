/*
 * priority_past.h - replays past jobs with other priority weights.
 */
#ifndef CMD_PRIORITY_PAST_H
#define CMD_PRIORITY_PAST_H

#include <jansson.h>

#include "cmd/lib/command.h"

/* Replays the jobs that ended since `since` with the site's weights and with those of `try`
 * (rules/priority.h). *ret has their waits, in total and by user and account; NULL: no job ended
 * since then. Returns EXIT_OK, or the exit code after printing an error. */
int priority_past(const struct command *c, const char *try, int64_t since, json_t **ret);
void priority_past_print(const json_t *past);

#endif
