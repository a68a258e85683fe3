/*
 * order_internal.h - rows that orders share with tasks, and how rows of orders and results are
 * written.
 *
 * A missing member has its default; an unknown one comes from a newer version. Members that are 0
 * are not written, because 0 is the default of every member.
 */
#ifndef RUN_ORDER_INTERNAL_H
#define RUN_ORDER_INTERNAL_H

#include "base/codec.h"
#include "base/schema.h"
#include "run/order.h"

/* Bounds for numbers that are added to others and multiplied by small factors. */
#define WIDE(type, member) .least = INT64_MIN / 4, .most = INT64_MAX / 4, MEMBER(type, member)
#define COUNTED(type, member) .least = 0, .most = INT64_MAX / 4, MEMBER(type, member)
#define USED(type, member) .least = 0, .most = RESULT_USE_MAX, MEMBER(type, member)
#define BYTES(type, member) MEMBER_AS(FORM_BYTES, type, member)

extern const struct schema host_schema; /* struct order_host */
/* Checks hosts that were read, and gives those without an address an empty one. */
int hosts_check(struct order_host *hosts, int n, struct err *err);

#endif
