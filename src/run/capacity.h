/*
 * capacity.h - how much disk and swap this machine has for jobs.
 */
#ifndef RUN_CAPACITY_H
#define RUN_CAPACITY_H

#include <stdint.h>

/* KiB of the file system that a directory is on, without what is kept for root; 0: it can't be read. */
int64_t capacity_disk(const char *directory);
/* KiB of all swap areas that are in use; 0: none, or not known. */
int64_t capacity_swap(void);

#endif
