/*
 * names.h - strings numbered consecutively from 0 in the order they were first seen.
 */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/trial.h"

struct names {
	char **name; /* NULL: removed */
	size_t n, cap;
	struct map index; /* hash of a name -> id + 1 of the first name with that hash */
	uint32_t *next;	  /* id + 1 of the next name with the same hash */
	uint32_t *held;	  /* number of trials that hold it; 0: permanent (trial.h) */
	trial_vec spare;  /* ids of removed names, for reuse */
	trial_vec *trial; /* trial that holds new names; NULL: new names are permanent */
};

void names_fini(struct names *s);		       /* {0} is empty */
uint32_t names_add(struct names *s, const char *name); /* returns the id, new or existing */
bool names_find(const struct names *s, const char *name, uint32_t *ret_id);
/* Ends a trial and empties it. */
void names_end(struct names *s, trial_vec *trial, bool keep);
const char *names_get(const struct names *s, uint32_t id); /* borrowed; NULL if there is none */

#endif
