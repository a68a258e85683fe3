/*
 * amount.h - amounts for people.
 */
#ifndef BASE_AMOUNT_H
#define BASE_AMOUNT_H

#include <stddef.h>
#include <stdint.h>

/* KiB: "1.5 GB". Returns buf. */
const char *memory_human(int64_t kib, char *buf, size_t size);

#endif
