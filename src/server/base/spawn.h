/*
 * spawn.h - starts a program beside the server.
 */
#ifndef SERVER_BASE_SPAWN_H
#define SERVER_BASE_SPAWN_H

#include <sys/types.h>

#define SPAWN_NULL (-1)	 /* /dev/null */
#define SPAWN_SHARE (-2) /* the server's own descriptor */

/* Starts a program by posix_spawn, which unlike fork and uv_spawn does not copy the page tables
 * of a large server. The program leads its own process group and does not get the server's
 * signals. fd: its descriptors 0, 1 and 2, or one of the constants above. Returns 0 or -errno. */
int spawn_beside(const char *program, char *const argv[], char *const env[], const int fd[3], pid_t *ret);

#endif
