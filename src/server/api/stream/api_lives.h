/*
 * api_lives.h - events of a node or a queue.
 */
#ifndef SERVER_API_LIVES_H
#define SERVER_API_LIVES_H

#include "server/api/frame/call.h"

struct json;
struct store_life;

handler api_node_events, api_queue_events;
void life_show(const struct store_life *e, struct json *j);

#endif
