/*
 * priority_past.h - what other weights of priorities would have done to jobs of the past.
 */
#ifndef CMD_PRIORITY_PAST_H
#define CMD_PRIORITY_PAST_H

#include <jansson.h>

#include "cmd/lib/command.h"

/* Replays the jobs that ended since an instant with the site's weights, and with those of a trial
 * (rules/priority.h). *ret: how long they waited, all together and by user and account; NULL: no
 * job ended since then. EXIT_OK, or the code after the sentence was printed. */
int priority_past(const struct command *c, const char *try, int64_t since, json_t **ret);
void priority_past_print(const json_t *past);

#endif
