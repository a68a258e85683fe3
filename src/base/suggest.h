/*
 * suggest.h - "did you mean": the known word nearest to a misspelt one.
 */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include <stdbool.h>

#define SUGGEST_SIZE 64

/* Stores the nearest of `words`, which are separated by blanks, in `ret`; returns false if none
 * is near. */
bool suggest_word(const char *word, const char *words, char ret[SUGGEST_SIZE]);

#endif
