/*
 * order_internal.h - rows that orders share with tasks.
 */
#ifndef RUN_ORDER_INTERNAL_H
#define RUN_ORDER_INTERNAL_H

#include "base/schema.h"
#include "run/order.h"

extern const struct schema host_schema; /* struct order_host */
/* Checks hosts that were read, and gives those without an address an empty one. */
int hosts_check(struct order_host *hosts, int n, struct err *err);

#endif
