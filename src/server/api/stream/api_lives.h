/*
 * api_lives.h - events of a node or a queue.
 */
#ifndef SERVER_API_LIVES_H
#define SERVER_API_LIVES_H

struct call;
struct json;
struct server;
struct store_life;

void api_node_events(struct server *s, const struct call *c);
void api_queue_events(struct server *s, const struct call *c);
void life_show(const struct store_life *e, struct json *j);

#endif
