/*
 * output.h - a job's output, while it runs and afterwards.
 */
#ifndef SERVER_OUTPUT_H
#define SERVER_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct call;
struct link;
struct server;

void api_output(struct server *s, const struct call *c);
void output_opened(struct server *s, uint64_t id, int fd, const char *reason);
/* Takes over a link from a host that was asked for a file. */
bool stream_taken(struct server *s, uint32_t node, struct link *l, const json_t *head); /* hosts.stream */
void output_turn(struct server *s); /* serves followed outputs that grew or whose job ended */

#endif
