/*
 * spawn.h - starts a program beside the server.
 */
#ifndef SERVER_BASE_SPAWN_H
#define SERVER_BASE_SPAWN_H

#include <sys/types.h>

#define SPAWN_NULL (-1)	 /* /dev/null */
#define SPAWN_SHARE (-2) /* the server's own */

/* posix_spawn, and neither fork nor uv_spawn: it does not copy the page tables of a large server. The program leads a group of its own, and the server's signals are not its
 * business. fd: its descriptors 0, 1 and 2, or one of the above. 0, or -errno. */
int spawn_beside(const char *program, char *const argv[], char *const env[], const int fd[3], pid_t *ret);

#endif
