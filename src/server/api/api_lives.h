/*
 * api_lives.h - what happened to a node or a queue.
 */
#ifndef SERVER_API_LIVES_H
#define SERVER_API_LIVES_H

struct server;
struct http_request;
struct asker;

void api_node_events(struct server *s, struct http_request *r, const struct asker *w, const char *name);
void api_queue_events(struct server *s, struct http_request *r, const struct asker *w, const char *name);

#endif
