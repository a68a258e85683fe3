/*
 * program.h - finds the files of this program and of the other programs of Shunt; starts programs.
 */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include <stddef.h>
#include <sys/types.h>

struct err;

/* Stores the path of this program's file. */
int program_self(char *ret, size_t size, struct err *err);
/* Stores the path of another program of Shunt, installed or in the build directory. -ENOENT if
 * it is missing. */
int program_beside(const char *name, char *ret, size_t size, struct err *err);

#define PROGRAM_NULL (-1)  /* /dev/null */
#define PROGRAM_SHARE (-2) /* our descriptor of that number, unless it is closed on exec */

enum {
	PROGRAM_SESSION = 1 << 0, /* it leads a session of its own */
	PROGRAM_GROUP = 1 << 1,	  /* it leads its own process group, and no signal is ignored in it */
};

/* Starts a program by its path, or through PATH if its name has no slash. Unlike fork(), this does
 * not copy the page tables of a large process. No signal is blocked in it. env: NULL for ours.
 * fd[i] becomes its descriptor i, or is one of the constants above; a descriptor below `n` could be
 * overwritten before it is copied. Returns 0 or -errno. */
int program_start(const char *program, char *const *argv, char *const *env, const int *fd, int n, unsigned how,
		  pid_t *ret_pid);

#endif
