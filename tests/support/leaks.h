/*
 * leaks.h - looks for lost memory in a process that ends by _exit(), where the sanitizer does not.
 */
#ifndef SUPPORT_LEAKS_H
#define SUPPORT_LEAKS_H

#include <stdbool.h>

int __lsan_do_recoverable_leak_check(void); /* only there with the address sanitizer */

/* Returns true if the process has lost no memory, or is not to look (detect_leaks=0). Prints what
 * it has lost. */
static inline bool leaks_none(void)
{
#ifdef __SANITIZE_ADDRESS__
	return __lsan_do_recoverable_leak_check() == 0;
#else
	return true;
#endif
}

#endif
