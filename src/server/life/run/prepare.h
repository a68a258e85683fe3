/* prepare.h - builds what an attempt needs to run: an order for each of its hosts. */
#ifndef SERVER_PREPARE_H
#define SERVER_PREPARE_H

#include <jansson.h>
#include <stdint.h>

struct arena;
struct attempt;
struct part_order;
struct err;
struct server;

void script_file_drop(struct server *s, uint64_t script);
/* Writes the script again before its next use. */
void script_file_doubt(struct server *s, uint64_t script);
/* Builds an order for each of the attempt's hosts; all memory is the arena's. */
int attempt_prepare(struct server *s, const struct attempt *t, struct arena *a, struct part_order **ret, int *ret_n,
		    struct err *err);
/* Returns the absolute paths of the output files; an error output joined with the other is NULL. */
void output_paths(struct server *s, uint32_t id, const json_t *body, struct arena *a, const char **ret_out,
		  const char **ret_err);

#endif
