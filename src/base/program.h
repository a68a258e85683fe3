/*
 * program.h - finds the files of this program and of the other programs of Shunt.
 */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include <stddef.h>

struct err;

/* Stores the path of this program's file. */
int program_self(char *ret, size_t size, struct err *err);
/* Stores the path of another program of Shunt, installed or in the build directory. -ENOENT if
 * it is missing. */
int program_beside(const char *name, char *ret, size_t size, struct err *err);

#endif
