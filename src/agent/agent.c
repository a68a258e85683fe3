/*
 * agent.c - what all of the agent use: its log, and its end.
 */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "agent/agent_internal.h"
#include "base/text.h"

void agent_say(const char *fmt, ...)
{
	time_t now = time(NULL);
	struct tm tm;
	char when[32];
	va_list ap;

	strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S ", localtime_r(&now, &tm));
	va_start(ap, fmt);
	text_vprint(stderr, when, fmt, ap); /* much of it was written by nodes and users */
	va_end(ap);
}

void agent_stop(struct agent *a)
{
	uv_stop(a->loop);
}
