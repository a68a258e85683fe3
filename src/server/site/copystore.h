/* copystore.h - the command `shunt store copy`. */
#ifndef SERVER_COPYSTORE_H
#define SERVER_COPYSTORE_H

#include <stdbool.h>

struct err;

/* Copies a store and prints what was copied. `from` and `to`: as for store_open(), or
 * "conf:FILE". */
int copy_store(const char *from, const char *to, bool json, struct err *err);

/* Copies a store and prints the result, begun with `word`. `live`: a server may be using `from`. */
int copy_show(const char *from, const char *to, bool live, const char *word, bool json, struct err *err);

#endif
