/*
 * reserved.h - which reservations (rules/reservation.h) a job may use, and the one that it is bound to.
 */
#ifndef SERVER_RESERVED_H
#define SERVER_RESERVED_H

#include <stdint.h>

#include "rules/reservation.h"

struct server;
struct spec;

/* Whose job it is, as lists of reservations see it; `number` has room for its number. */
struct reservation_party reserved_party(const struct server *s, const struct spec *p, uint64_t job, char number[24]);
/* A job's keys, and what it is bound to: job.keys, job.bound. */
uint32_t reserved_keys(const struct server *s, const struct spec *p, uint64_t job);
uint32_t reserved_bound(const struct server *s, const struct spec *p, uint64_t job);

#endif
