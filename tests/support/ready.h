/*
 * ready.h - between a test (door.c) and a program that runs itself as often as it is asked
 * (ready.c). A request is one message: the number of words and their texts, then those of the
 * environment, each with its NUL; and the descriptors from 0 on. The answer is the wait status.
 */
#ifndef SUPPORT_READY_H
#define SUPPORT_READY_H

#define READY_FD 3	   /* the program's end of the socket, if the variable READY is set */
#define READY_BYTES 131072 /* size limit of a request */
#define READY_TEXTS 256	   /* words, or variables, with the NULL at their end */
#define READY_FDS 8	   /* descriptors */

#endif
