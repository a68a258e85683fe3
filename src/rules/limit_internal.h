/*
 * limit_internal.h - rules, counters, classes and lines, for the files limit*.c.
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
	int64_t most[LIMIT_MEASURES]; /* below 0: any number */
	int64_t soft[LIMIT_MEASURES]; /* the same */
	uint32_t fallback;	      /* the rule that holds where this one has LIMIT_INHERIT; INDEX_NONE: none */
	uint32_t set;		      /* a bit for each measure with a limit of its own, hard or soft */
	bool exempt;		      /* of a QoS */
	uint32_t trials;	      /* base/trial.h */
};

struct counter {
	uint32_t rule, user;
	uint32_t trials;		/* base/trial.h */
	uint32_t up;			/* of an account: that of the one above; INDEX_NONE: none */
	uint32_t line;			/* the first that waits behind it; INDEX_NONE: none */
	bool fallen;			/* it is among those to be looked at */
	uint64_t fell;			/* stamp */
	int64_t active[LIMIT_MEASURES]; /* of CPU-seconds: those that don't fall, see counter_active() */
	int64_t falling;		/* CPUs of those that fall */
	int64_t ends;			/* the sum of their CPUs x end */
	int64_t due;			/* when it is looked at for that; TIME_NEVER: not known */
};

struct class
{
	uint32_t counter[LIMIT_KINDS];
	uint32_t n;
	uint32_t qos;	 /* its rule; INDEX_NONE: none */
	uint32_t trials; /* base/trial.h */
	uint64_t key;	 /* a hash of its party */
};

/* Jobs of one class that ask for the same, and wait. */
struct line {
	uint64_t key;
	uint32_t class;
	uint32_t behind;     /* the counter that it waits behind */
	uint32_t next, prev; /* others there; INDEX_NONE: none */
	struct limit_need need;
	uint64_t asked;	     /* stamp; those that fell before have no room for more of it */
	struct heap waiting; /* (rank, job); also some that have gone since */
};

/* What a job has taken. */
struct held {
	struct limit_need need;
	uint32_t class, times;
	bool runs;
	int64_t end; /* of one that runs, as long as its CPU-seconds fall; TIME_NEVER: none are left */
};

struct limits {
	VEC(struct rule) rules;
	VEC(struct counter) counters;
	VEC(struct class) classes;
	VEC(struct line) lines;
	VEC(struct held) held;
	VEC(uint32_t) spare_rules, spare_counters, spare_classes, spare_lines, spare_held;
	struct limits_trial *trial; /* by which new rules, counters and classes are held now; NULL: they are kept */
	uint32_t limiting;	    /* rules that limit anything: mostly none, and then nothing else is looked at */
	struct map rule_at, counter_at, class_at, line_at; /* hash of what it is -> index */
	struct map held_at;				   /* job -> index */
	VEC(uint32_t) fallen;				   /* counters behind which somebody may leave a line */
	bool changed;					   /* ... or behind any */
	bool all;					   /* ... of which some have not been looked at since */
	uint64_t stamp; /* counts when counters fall and lines are asked: what came later has a larger one */
	int64_t now;
	bool yields;	   /* there has been a soft limit */
	int64_t yield_due; /* when time alone may let somebody go whom only soft limits hold then */
	struct heap ends;  /* (end, job) of those whose CPU-seconds fall; also some that have gone since */
	struct heap due;   /* (when, counter) that may have room then; the same */
};

/* A free index, or one behind the end. */
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

/* Which limits count. */
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

/* How much of a measure a counter has now. */
static inline int64_t counter_active(const struct limits *l, const struct counter *c, int m)
{
	return m == LIMIT_CPU_SECONDS ? c->active[m] + c->ends - c->falling * l->now : c->active[m];
}

/* limit.c */
void counter_fell(struct limits *l, uint32_t at);

/* limit_room.c */
/* How many such jobs a counter has room for; the measure that says so. */
int64_t counter_room(const struct limits *l, const struct counter *c, const struct limit_need *need, enum firm firm,
		     int first, int *ret);
/* The counter with the least room for such a job; of several the narrowest, which is the most telling. INDEX_NONE: no limit holds. */
uint32_t limits_tightest(const struct limits *l, uint32_t class, const struct limit_need *need, enum firm firm,
			 int64_t *ret_room, int *ret_measure);

/* limit_count.c */
void counter_due(struct limits *l, uint32_t at, const struct limit_need *need);

#endif
