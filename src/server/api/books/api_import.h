/*
 * api_import.h - jobs that another system ran come into the history.
 */
#ifndef SERVER_API_IMPORT_H
#define SERVER_API_IMPORT_H

struct call;
struct server;

/* POST /v1/history: each of its jobs once, however often it is sent. */
void api_import(struct server *s, const struct call *c);

#endif
