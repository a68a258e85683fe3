/*
 * journal.h - the event log: STATE/events.log, a line for each event of the kinds that the
 * attribute log_events names, as text or JSON (log_format).
 *
 * Lines are stored in the same commit as the events they describe, and then written
 * (server/book/outbox.h): a crash neither loses nor repeats any. Events that do not change the
 * store (errors, start and shutdown of the server) are part of the next commit.
 */
#ifndef SERVER_JOURNAL_H
#define SERVER_JOURNAL_H

#include <stdbool.h>

#include "base/logline.h"

struct server;
struct store_event;
struct store_move;

/* These functions collect lines, which journal_commit() stores. */
void journal_event(struct server *s, const struct store_event *e);
void journal_move(struct server *s, const struct store_move *m); /* adds a change of quota */
/* Adds a line of the server's own log. */
void journal_heard(struct server *s, enum severity severity, const char *text);
void journal_startup(struct server *s);
/* Logs the begin and the end of a shutdown, each once. Returns true if a line has to be stored
 * first. */
bool journal_shutdown(struct server *s, bool complete);
void journal_commit(struct server *s); /* called before a commit */
bool journal_waits(const struct server *s);

#endif
