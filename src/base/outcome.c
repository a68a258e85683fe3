/*
 * outcome.c - see outcome.h.
 */
#include "base/outcome.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *outcome_text(int64_t status, const char *cause, char *buf, size_t size)
{
	static const char *const words[][2] = {
		{"completed", "succeeded"},
		{"deleted", "cancelled"},
		{"walltime", "killed (walltime)"},
		{"memory", "killed (memory)"},
		{"dependency", "cancelled (dependency)"},
		{"not_started", "not started"},
		{"hung_up", "hung up"},
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(cause, words[i][0]) == 0)
			return words[i][1];
	if (*cause)
		snprintf(buf, size, "%s", cause);
	else if (status == 0)
		snprintf(buf, size, "succeeded");
	else
		snprintf(buf, size, status > 256 ? "failed (signal %" PRId64 ")" : "failed (%" PRId64 ")",
			 status > 256 ? status - 256 : status);
	return buf;
}
