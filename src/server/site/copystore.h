/*
 * copystore.h - shunt store copy.
 */
#ifndef SERVER_COPYSTORE_H
#define SERVER_COPYSTORE_H

#include <stdbool.h>

struct err;

/* In copystore.c: `from` and `to` as store_open() takes them, or "conf:FILE". Prints what was copied. */
int copy_store(const char *from, const char *to, bool json, struct err *err);

#endif
