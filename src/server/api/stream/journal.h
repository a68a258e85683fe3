/*
 * journal.h - the event log: STATE/events.log, a line for each event of the kinds that the attribute log_events names, as text or JSON (log_format).
 *
 * Lines are stored in the commit of what they tell, and then written (server/book/outbox.h): a crash loses none and repeats none. What is no change of
 * the store (errors, start and shutdown of the server) is in the next commit.
 */
#ifndef SERVER_JOURNAL_H
#define SERVER_JOURNAL_H

#include <stdbool.h>

struct server;
struct store_event;
struct store_move;

/* All of them remember, and journal_commit() has it stored. */
void journal_event(struct server *s, const struct store_event *e);
void journal_move(struct server *s, const struct store_move *m); /* of quota */
void journal_heard(struct server *s, const char *text);		 /* what the server's own log says */
void journal_startup(struct server *s);
/* Its begin and its end, each once. Whether there is a line to store first. */
bool journal_shutdown(struct server *s, bool complete);
void journal_commit(struct server *s); /* before a commit */
bool journal_waits(const struct server *s);

#endif
