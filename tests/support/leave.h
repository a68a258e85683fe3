/*
 * leave.h - ends a child process of a test at once: no search for leaks, no handlers.
 */
#ifndef SUPPORT_LEAVE_H
#define SUPPORT_LEAVE_H

#ifdef SHUNT_COVERAGE
void __gcov_dump(void);
#else
static inline void __gcov_dump(void)
{
}
#endif

/* Ends the process. tools/coverage counts what it ran. */
static inline void leave(int status)
{
	__gcov_dump();
	_exit(status);
}

#endif
