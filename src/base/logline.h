/*
 * logline.h - writes the lines of a daemon's log, with severities, and reads them back.
 *
 *	2026-11-18 01:29:04 warning: node n3 ...	to a file or a terminal
 *	<4>node n3 ...					to systemd's journal, which adds the time
 */
#ifndef BASE_LOGLINE_H
#define BASE_LOGLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum severity {
	SEVERITY_ERROR,	  /* something failed, and an administrator must act */
	SEVERITY_WARNING, /* something is wrong, and Shunt copes with it */
	SEVERITY_NOTICE,  /* normal operation that an administrator wants to know about */
	SEVERITY_DEBUG,	  /* detail; not written unless asked for */
	SEVERITIES,
};

#define SEVERITY_WORDS(between) "error" between "warning" between "notice" between "debug"

extern const char *const severity_names[SEVERITIES];

/* Returns false if no severity has this name. */
bool severity_parse(const char *name, enum severity *ret);

/* Writes a line to standard error. Text that nodes and users wrote is cleaned and kept on one
 * line. */
void log_line(enum severity severity, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Writes why a program ends: an error in the journal, "PROGRAM: text" elsewhere. Returns its exit
 * status, 1. */
int log_fatal(const char *program, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Returns true if JOURNAL_STREAM says that `fd` leads to systemd's journal. */
bool log_is_journal(int fd);
/* Writes what precedes a line's text. Returns ret. */
const char *log_head(enum severity severity, int64_t now, bool journal, char *ret, size_t size);

struct logline {
	int64_t time; /* seconds since 1970 */
	enum severity severity;
	const char *text; /* points into the line */
};

/* Reads a line of a log file. A line without a severity is a notice. Returns false if it has no
 * time. */
bool logline_parse(const char *line, struct logline *ret);

#endif
