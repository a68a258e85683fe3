/*
 * query.h - asking for lists: paths with their queries, and answers of tab-separated lines.
 */
#ifndef CMD_QUERY_H
#define CMD_QUERY_H

#include "base/strbuf.h"
#include "client/client.h"

/* "/v1/jobs/" and the id, quoted, and what follows. */
void show_job_path(struct strbuf *path, const char *id, const char *rest);
/* Appends "?key=value" or "&key=value", quoted; nothing when value is NULL or "". */
void query_add(struct strbuf *path, const char *key, const char *value);
/* Appends "user=a,b" for "a@host,b". */
void users_query(struct strbuf *path, const char *users);
/* Reads a list as tab-separated text: calls `row` with its cells. For tens of thousands of rows. -errno as
 * client_read(). */
int tsv_read(struct client *client, const char *path, int columns, void (*row)(void *context, char *const *cell),
	     void *context, struct err *err);
/* As strtoll() reads it, in a fifth of the time: a long list has many. */
int64_t cell_number(const char *cell);
/* "QUEUE[@SERVER]", or "@SERVER": the queue, perhaps "". -ENOENT: SERVER is not the one that is asked. */
int queue_here(struct client *client, const char *text, char ret[256], struct err *err);
/* Who asks, by name. Borrowed. */
const char *user_name(void);

#endif
