/*
 * limit_internal.h - rules, counters, classes and lines, shared by limit*.c.
 */
#ifndef RULES_LIMIT_INTERNAL_H
#define RULES_LIMIT_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/heap.h"
#include "base/map.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "rules/limit.h"

#define INDEX_NONE UINT32_MAX

struct rule {
	enum limit_kind kind;
	uint64_t of;
	int64_t most[LIMIT_MEASURES]; /* negative: unlimited */
	int64_t soft[LIMIT_MEASURES]; /* soft limits; negative: none */
	/* rule that applies where this one has LIMIT_INHERIT; INDEX_NONE: none */
	uint32_t fallback;
	uint32_t set;	 /* bitmask of measures with a limit of its own, hard or soft */
	bool exempt;	 /* QoS only */
	uint32_t trials; /* base/trial.h */
};

struct counter {
	uint32_t rule, user;
	uint32_t trials; /* base/trial.h */
	uint32_t up;	 /* accounts only: counter of the parent; INDEX_NONE: none */
	uint32_t line;	 /* first line waiting behind it; INDEX_NONE: none */
	bool fallen;	 /* is in limits.fallen */
	uint64_t fell;	 /* stamp of its last fall */
	/* for CPU-seconds: those that do not decrease with time, see counter_active() */
	int64_t active[LIMIT_MEASURES];
	int64_t falling; /* CPUs of running jobs, whose CPU-seconds decrease */
	int64_t ends;	 /* sum of CPUs x end over those jobs */
	int64_t due;	 /* instant of its next check in limits.due; TIME_NEVER: none */
};

struct class
{
	uint32_t counter[LIMIT_KINDS];
	uint32_t n;
	uint32_t qos;	 /* rule of its QoS; INDEX_NONE: none */
	uint32_t trials; /* base/trial.h */
	uint64_t key;	 /* hash of its party */
};

/* Waiting jobs of one class with the same request. */
struct line {
	uint64_t key;
	uint32_t class;
	uint32_t behind;     /* counter it waits behind */
	uint32_t next, prev; /* neighbours behind the same counter; INDEX_NONE: none */
	struct limit_need need;
	uint64_t asked;	     /* stamp; counters that fell earlier have no room for more of this line */
	struct heap waiting; /* (rank, job); may contain jobs that have left */
};

/* The slot that a job holds. */
struct held {
	struct limit_need need;
	uint32_t class, times;
	bool runs;
	/* end of a running job while its CPU-seconds decrease; TIME_NEVER: none left */
	int64_t end;
};

struct limits {
	VEC(struct rule) rules;
	VEC(struct counter) counters;
	VEC(struct class) classes;
	VEC(struct line) lines;
	VEC(struct held) held;
	VEC(uint32_t) spare_rules, spare_counters, spare_classes, spare_lines, spare_held;
	/* trial that holds new rules, counters and classes; NULL: they are permanent */
	struct limits_trial *trial;
	/* number of rules that limit anything; usually 0, and then nothing else is examined */
	uint32_t limiting;
	struct map rule_at, counter_at, class_at, line_at; /* hash of the contents -> index */
	struct map held_at;				   /* job -> index */
	VEC(uint32_t) fallen;				   /* counters behind which a job may leave a line */
	bool changed;					   /* a job may leave a line behind any counter */
	bool all;	/* `fallen` has all counters after a change, and some are still unchecked */
	uint64_t stamp; /* increases whenever a counter falls or a line is offered a slot */
	int64_t now;
	bool yields;	   /* there has been a soft limit */
	int64_t yield_due; /* instant when time alone may release a job held only by soft limits */
	/* (end, job) of jobs whose CPU-seconds decrease; may contain jobs that have left */
	struct heap ends;
	/* (instant, counter) that may have room then; may contain outdated entries */
	struct heap due;
};

/* Returns a free index, or appends one. */
#define spare_or_new(spares, list, ...)                                                                                \
	__extension__({                                                                                                \
		uint32_t at_ = (uint32_t)(list)->n;                                                                    \
		if ((spares)->n)                                                                                       \
			at_ = (spares)->v[--(spares)->n];                                                              \
		else                                                                                                   \
			vec_push(list, __VA_ARGS__);                                                                   \
		(list)->v[at_] = (__VA_ARGS__);                                                                        \
		at_;                                                                                                   \
	})

/* Selects hard limits, or soft ones as well. */
enum firm { HARD, SOFT };

static inline uint64_t rule_key(enum limit_kind kind, uint64_t of)
{
	return hash_bytes((uint64_t[2]){kind, of}, 2 * sizeof(uint64_t));
}

static inline uint64_t counter_key(uint32_t rule, uint32_t user)
{
	return (uint64_t)rule << 32 | user;
}

static inline int64_t rule_most(const struct limits *l, const struct rule *r, int m, enum firm firm)
{
	const struct rule *f = r->fallback == INDEX_NONE ? r : &l->rules.v[r->fallback];
	int64_t most = r->most[m] == LIMIT_INHERIT ? f->most[m] : r->most[m],
		soft = r->soft[m] == LIMIT_INHERIT ? f->soft[m] : r->soft[m];

	return firm == SOFT && soft >= 0 && (most < 0 || soft < most) ? soft : most;
}

/* Returns how much of a measure a counter has now. */
static inline int64_t counter_active(const struct limits *l, const struct counter *c, int m)
{
	return m == LIMIT_CPU_SECONDS ? c->active[m] + c->ends - c->falling * l->now : c->active[m];
}

/* limit.c */
void counter_fell(struct limits *l, uint32_t at);

/* limit_room.c */
/* Returns how many such jobs a counter has room for, and stores the limiting measure. */
int64_t counter_room(const struct limits *l, const struct counter *c, const struct limit_need *need, enum firm firm,
		     int first, int *ret);
/* Returns the counter that has room for the fewest such jobs; among equals the most specific one,
 * which explains most. INDEX_NONE: no limit applies. */
uint32_t limits_tightest(const struct limits *l, uint32_t class, const struct limit_need *need, enum firm firm,
			 int64_t *ret_room, int *ret_measure);

/* limit_count.c */
void counter_due(struct limits *l, uint32_t at, const struct limit_need *need);

#endif
