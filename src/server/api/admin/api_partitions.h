/*
 * api_partitions.h - what distinguishes partitions from other named objects (api_objects.c): their
 * nodes may not change under running jobs.
 */
#ifndef SERVER_API_PARTITIONS_H
#define SERVER_API_PARTITIONS_H

struct err;
struct object;
struct server;

/* Checks that a partition may become `next`, or be removed if that is NULL. *ret, for
 * partition_done(): the nodes that it gains and loses; NULL: none. */
int partition_check(struct server *s, const struct object *x, const struct object *next, void **ret, struct err *err);
void partition_done(struct server *s, void *nodes);

#endif
