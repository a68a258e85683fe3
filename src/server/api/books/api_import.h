/*
 * api_import.h - imports jobs that another system ran into the history.
 */
#ifndef SERVER_API_IMPORT_H
#define SERVER_API_IMPORT_H

struct call;
struct server;

/* Answers POST /v1/history: imports each job once, however often it is sent. */
void api_import(struct server *s, const struct call *c);

#endif
