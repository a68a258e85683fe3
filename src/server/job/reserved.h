/*
 * reserved.h - which reservations (rules/reservation.h) a job may use, and the one it is bound to.
 */
#ifndef SERVER_RESERVED_H
#define SERVER_RESERVED_H

#include <stdint.h>

#include "rules/reservation.h"

struct server;
struct spec;

/* Returns the party that the lists of a reservation match a job against; `number` is a buffer for
 * the job's number. */
struct reservation_party reserved_party(const struct server *s, const struct spec *p, uint64_t job, char number[24]);
/* Return a job's keys and its bound reservation: job.keys and job.bound. */
uint32_t reserved_keys(const struct server *s, const struct spec *p, uint64_t job);
uint32_t reserved_bound(const struct server *s, const struct spec *p, uint64_t job);

#endif
