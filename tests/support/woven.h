/*
 * woven.h - included before every file into which tools/mutate wove mutants: chooses the one that
 * this process runs, and keeps which of them it reaches. The link WOVEN_AT names either, a number
 * or the file in which each mutant has a byte. Only system calls: tests replace functions.
 */
#ifndef SUPPORT_WOVEN_H
#define SUPPORT_WOVEN_H

#include <sys/syscall.h>

__attribute__((weak)) int woven_on;		  /* the mutant that runs; 0: none */
__attribute__((weak)) unsigned char *woven_marks; /* NULL: nobody asks what is reached */

/* not from unistd.h, whose names some files have for functions of their own */
long syscall(long number, ...);

static inline void woven_reach(int mutant)
{
	if (woven_marks)
		woven_marks[mutant] = 1;
}

__attribute__((constructor(101))) static void woven_start(void)
{
	char to[256];
	long n, fd;

	if (woven_on || woven_marks)
		return;
	n = syscall(SYS_readlinkat, -100 /* AT_FDCWD */, WOVEN_AT, to, sizeof to - 1);
	if (n <= 0)
		return;
	to[n] = 0;
	for (n = 0; to[n] >= '0' && to[n] <= '9'; n++)
		woven_on = 10 * woven_on + to[n] - '0';
	if (n || (fd = syscall(SYS_openat, -100, to, 02 /* O_RDWR */, 0)) < 0)
		return;
	n = syscall(SYS_mmap, 0L, WOVEN_SIZE, 3L /* read, write */, 1L /* MAP_SHARED */, fd, 0L);
	woven_marks = n > -4096 && n < 0 ? 0 : (unsigned char *)n;
	syscall(SYS_close, fd);
}

#endif
