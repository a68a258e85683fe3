/* copystore.h - the command `shunt store copy`. */
#ifndef SERVER_COPYSTORE_H
#define SERVER_COPYSTORE_H

#include <stdbool.h>

struct err;

/* Copies a store and prints what was copied. `from` and `to`: as for store_open(), or
 * "conf:FILE". */
int copy_store(const char *from, const char *to, bool json, struct err *err);

/* How a copy is made and reported. */
struct copy_words {
	const char *done; /* "Copied" */
	const char *name; /* what the copy, a file, is called once it is whole; NULL: it keeps its name */
	bool live;	  /* a server may be using the original */
	bool json;
};
/* Copies a store and prints what was copied. */
int copy_show(const struct copy_words *w, const char *from, const char *to, struct err *err);

#endif
