/*
 * journal.h - the event log: STATE/events.log, a line for each event of the kinds that the attribute log_events names, as text or JSON (log_format).
 *
 * Lines are written after the commit of what they tell. A crash between the two loses them: what must not be lost is in the accounting.
 */
#ifndef SERVER_JOURNAL_H
#define SERVER_JOURNAL_H

#include <stdbool.h>

struct server;
struct store_event;
struct store_move;

/* All of them remember, and journal_flush() writes. */
void journal_event(struct server *s, const struct store_event *e);
void journal_move(struct server *s, const struct store_move *m); /* of quota */
void journal_heard(struct server *s, const char *text);		 /* what the server's own log says */
void journal_startup(struct server *s);
void journal_shutdown(struct server *s, bool complete);
void journal_flush(struct server *s);

#endif
