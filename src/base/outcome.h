/*
 * outcome.h - how a job ended, in the words that people read everywhere.
 */
#ifndef BASE_OUTCOME_H
#define BASE_OUTCOME_H

#include <stddef.h>
#include <stdint.h>

/* Returns how a job ended, for people: "succeeded", "failed (9)", "killed (memory)". `cause`: as in
 * the API; "": it ended by itself. A state of the history gives a word without the status. */
const char *outcome_text(int64_t status, const char *cause, char *buf, size_t size);

#endif
