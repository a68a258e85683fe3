/*
 * checkpoint.c - the words for causes of checkpoints.
 */
#include "run/checkpoint.h"

#include <stddef.h>

const char *const save_words[] = {"periodic", "asked", "preempted", "time_limit", "shutdown", "move", NULL};
const char save_choice[] = "periodic|asked|preempted|time_limit|shutdown|move";

bool save_word_read(int word, enum checkpoint_cause *ret_cause, int64_t *ret_seconds)
{
	int cause = (word & ~SAVE_WORD) >> 24;

	if (word < 0 || !(word & SAVE_WORD) || cause >= SAVE_CAUSES)
		return false;
	*ret_cause = (enum checkpoint_cause)cause;
	*ret_seconds = word & SAVE_SECONDS;
	return true;
}
