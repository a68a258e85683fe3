/*
 * program.h - where this program's file is, and those of the others that belong to it.
 */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include <stddef.h>

struct err;

/* The path of this program's file. */
int program_self(char *ret, size_t size, struct err *err);
/* Another program of Shunt, by its name: where it is installed, or in the build directory. -ENOENT: it is missing. */
int program_beside(const char *name, char *ret, size_t size, struct err *err);

#endif
