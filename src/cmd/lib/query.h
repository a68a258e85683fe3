/*
 * query.h - requests for lists: paths with queries, and answers of tab-separated lines.
 */
#ifndef CMD_QUERY_H
#define CMD_QUERY_H

#include "base/strbuf.h"
#include "client/client.h"

/* Makes a path: api_path("/v1/quota/%s?month=%s&all=1", user, month). Texts are quoted; a query
 * without a value (NULL or "") is left out. Borrowed until the next call. */
const char *api_path(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Appends "?key=value" or "&key=value", quoted; nothing when value is NULL or "". */
void query_add(struct strbuf *path, const char *key, const char *value);
/* Appends "user=a,b" for "a@host,b". */
void users_query(struct strbuf *path, const char *users);
/* Reads a list as tab-separated text and calls `row` with the cells of each row. For tens of
 * thousands of rows. Returns -errno as client_read() does. */
int tsv_read(struct client *client, const char *path, int columns, void (*row)(void *context, char *const *cell),
	     void *context, struct err *err);
/* Parses a number like strtoll(), in a fifth of the time: long lists have many. */
int64_t cell_number(const char *cell);
/* Extracts the queue, perhaps "", from "QUEUE[@SERVER]" or "@SERVER". Returns -ENOENT if SERVER is
 * not the server being asked. */
int queue_here(struct client *client, const char *text, char ret[256], struct err *err);
/* Returns the name of the calling user. Borrowed. */
const char *user_name(void);

#endif
