/*
 * counted.h - included before every file by tools/coverage: a process that ends by _exit() writes
 * its counters as well.
 */
#ifndef SUPPORT_COUNTED_H
#define SUPPORT_COUNTED_H

#include <sys/syscall.h>

/* not from unistd.h, whose names some files have for functions of their own */
#define _exit(status) counted_exit(status)
long syscall(long number, ...);
void __gcov_dump(void);
void counted_exit(int status) __attribute__((weak, noreturn));

void counted_exit(int status)
{
	__gcov_dump();
	for (;;)
		syscall(SYS_exit_group, status);
}

#endif
