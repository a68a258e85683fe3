/*
 * speed.h - a node's speed relative to a standard node: "1.5".
 */
#ifndef CORE_SPEED_H
#define CORE_SPEED_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SPEED_USUAL 1000 /* thousandths */
#define SPEED_MAX 1000000

/* Reads 0.001 to 1000, with up to three decimals. -EINVAL with a message. */
int speed_parse(const char *text, uint32_t *ret, struct err *err);
/* Like speed_parse(), from a number. */
int speed_of(double value, uint32_t *ret, struct err *err);
char *speed_format(uint32_t speed, char *buf, size_t size);

#endif
