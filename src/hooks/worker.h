/*
 * worker.h - the process in which hooks run (the program shunt-hook), apart from the server.
 * It reads requests (frames.h) from its standard input, which is a socket, and answers there.
 */
#ifndef HOOKS_WORKER_H
#define HOOKS_WORKER_H

/* Drops all privileges and answers until its input ends; returns the exit status. */
int hook_command(void);

#endif
