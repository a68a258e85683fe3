/*
 * logline.c - see logline.h.
 */
#include "base/logline.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "base/timetext.h"

#define WHEN_LENGTH 19 /* characters of "2026-11-18 01:29:04" */

const char *const severity_names[SEVERITIES] = {"error", "warning", "notice", "debug"};

/* Numbers of syslog, which the journal takes. */
static const int syslog_level[SEVERITIES] = {3, 4, 5, 7};

bool severity_parse(const char *name, enum severity *ret)
{
	for (enum severity i = 0; i < SEVERITIES; i++)
		if (strcmp(severity_names[i], name) == 0) {
			*ret = i;
			return true;
		}
	return false;
}

bool log_is_journal(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM"); /* "DEVICE:INODE", set by systemd */
	char here[64];
	struct stat st;

	if (!stream || fstat(fd, &st) < 0)
		return false;
	snprintf(here, sizeof here, "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	return strcmp(stream, here) == 0;
}

const char *log_head(enum severity severity, int64_t now, bool journal, char *ret, size_t size)
{
	char when[40];

	if (journal)
		snprintf(ret, size, "<%d>", syslog_level[severity]);
	else
		snprintf(ret, size, "%s %s: ", instant_format(now, when, sizeof when), severity_names[severity]);
	return ret;
}

void log_line(enum severity severity, const char *fmt, ...)
{
	char head[64];
	va_list ap;

	log_head(severity, time(NULL), log_is_journal(STDERR_FILENO), head, sizeof head);
	va_start(ap, fmt);
	text_vprint(stderr, head, fmt, ap);
	va_end(ap);
}

int log_fatal(const char *program, const char *fmt, ...)
{
	char head[64];
	va_list ap;

	if (log_is_journal(STDERR_FILENO))
		log_head(SEVERITY_ERROR, 0, true, head, sizeof head);
	else
		snprintf(head, sizeof head, "%s: ", program);
	va_start(ap, fmt);
	text_vprint(stderr, head, fmt, ap);
	va_end(ap);
	return 1;
}

bool logline_parse(const char *line, struct logline *ret)
{
	char when[WHEN_LENGTH + 1];
	struct err err;

	if (strnlen(line, WHEN_LENGTH + 1) <= WHEN_LENGTH || line[WHEN_LENGTH] != ' ' || line[4] != '-')
		return false;
	memcpy(when, line, WHEN_LENGTH);
	when[WHEN_LENGTH] = '\0';
	if (instant_parse(when, 0, &ret->time, &err) < 0)
		return false;
	ret->severity = SEVERITY_NOTICE;
	ret->text = line + WHEN_LENGTH + 1;
	for (enum severity i = 0; i < SEVERITIES; i++) {
		size_t n = strlen(severity_names[i]);
		if (strncmp(ret->text, severity_names[i], n) == 0 && strncmp(ret->text + n, ": ", 2) == 0) {
			ret->severity = i;
			ret->text += n + 2;
			break;
		}
	}
	return true;
}
