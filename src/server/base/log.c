/*
 * log.c - see log.h.
 */
#include "server/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "base/text.h"
#include "server/base/post.h"
#include "server/server.h"

void server_say(const struct server *s, const char *fmt, ...)
{
	struct timespec ts;
	struct tm tm;
	char when[32], text[1000];
	va_list ap;

	clock_gettime(CLOCK_REALTIME, &ts);
	localtime_r(&ts.tv_sec, &tm);
	strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S ", &tm);
	va_start(ap, fmt);
	text_vprint(stderr, when, fmt, ap); /* much of the text comes from nodes and users */
	va_end(ap);
	if (!s || !s->post || !s->post->heard)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	s->post->heard((struct server *)s, text);
}
