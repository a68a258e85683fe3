/*
 * slurm_list.c - what squeue prints.
 */
#include <stdlib.h>
#include <string.h>

#include "bag/slurm.h"

static enum request_state state_of(const char *word, size_t n)
{
	static const struct {
		const char *word;
		enum request_state state;
	} known[] = {
		{"PENDING", REQUEST_PENDING},	    {"CONFIGURING", REQUEST_PENDING},
		{"REQUEUED", REQUEST_PENDING},	    {"REQUEUE_HOLD", REQUEST_PENDING},
		{"RESV_DEL_HOLD", REQUEST_PENDING}, {"SPECIAL_EXIT", REQUEST_PENDING},
		{"RUNNING", REQUEST_RUNNING},	    {"SUSPENDED", REQUEST_RUNNING},
		{"STOPPED", REQUEST_RUNNING},	    {"SIGNALING", REQUEST_RUNNING},
		{"STAGE_OUT", REQUEST_RUNNING},	    {"RESIZING", REQUEST_RUNNING},
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strlen(known[i].word) == n && memcmp(known[i].word, word, n) == 0)
			return known[i].state;
	return REQUEST_ENDED; /* COMPLETING, COMPLETED, CANCELLED, FAILED, TIMEOUT, ... */
}

static bool line_parse(const char *line, size_t n, struct slurm_line *ret)
{
	const char *one = memchr(line, '|', n), *end = line + n;
	const char *two = one ? memchr(one + 1, '|', (size_t)(end - one - 1)) : NULL;

	if (!two || one == line || (size_t)(one - line) >= sizeof ret->job || two - one < 2 || two - one > 9)
		return false;
	for (const char *c = line; c < one; c++)
		if (*c < '0' || *c > '9')
			return false;
	int number = 0;
	for (const char *c = one + 1; c < two; c++) {
		if (*c < '0' || *c > '9')
			return false;
		number = number * 10 + (*c - '0');
	}
	memcpy(ret->job, line, (size_t)(one - line));
	ret->job[one - line] = '\0';
	ret->number = number;
	ret->state = state_of(two + 1, (size_t)(end - two - 1));
	return true;
}

bool slurm_next(const char *text, size_t n, size_t *at, struct slurm_line *ret)
{
	while (*at < n) {
		const char *line = text + *at, *end = memchr(line, '\n', n - *at);
		size_t size = end ? (size_t)(end - line) : n - *at;
		*at += size + (end != NULL);
		if (line_parse(line, size, ret))
			return true;
	}
	return false;
}
