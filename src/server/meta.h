/* meta.h - the store's data about the server itself: the next numbers to assign, and the boot of
 * the machine it ran on. */
#ifndef SERVER_META_H
#define SERVER_META_H

#include <jansson.h>

struct err;
struct server;

/* Stores the next numbers, as part of every commit. */
void meta_next_store(struct server *s);
void meta_boot_store(struct server *s);
int meta_restore(struct server *s, const char *name, const json_t *o, struct err *err);

#endif
