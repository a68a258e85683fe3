/*
 * events.h - streams of events.
 */
#ifndef SERVER_EVENTS_H
#define SERVER_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

struct call;
struct payload;
struct server;
struct store_event;
struct store_life;
struct strbuf;

void api_events(struct server *s, const struct call *c);
/* Adds an event of a node or a queue. */
void stream_life(struct server *s, const struct store_life *e);
/* Adds an event of a job, which is sent after the commit. */
void stream_event(struct server *s, const struct store_event *e);
void stream_flush(struct server *s);
/* Returns true if the listeners are not sent anything now: they just were. */
bool streams_rest(const struct server *s);
/* Returns the instant of the next stream_flush() with something to send, microseconds. */
int64_t streams_next(const struct server *s);
void stream_tick(struct server *s);
/* Writes an event as a sentence. */
void event_words(const struct server *s, const struct store_event *e, const struct payload *p, struct strbuf *out);
const char *event_name(int type, const struct payload *p);

#endif
