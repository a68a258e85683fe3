/*
 * outcome.h - how a job ended, in the words that people read everywhere.
 */
#ifndef BASE_OUTCOME_H
#define BASE_OUTCOME_H

#include <stddef.h>
#include <stdint.h>

/* Returns how a job ended, for people: "succeeded", "failed (9)", "killed (memory)". `cause`: as in
 * the API; "": it ended by itself. For a state of the history the status is ignored. */
const char *outcome_text(int64_t status, const char *cause, char *buf, size_t size);

#endif
