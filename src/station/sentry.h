/*
 * sentry.h - what the guards of a node (agent/guard.c) and of a station (pool_guard.c) share: the
 * policy and its owners, what is observed, the pause, and who has the machine now.
 */
#ifndef STATION_SENTRY_H
#define STATION_SENTRY_H

#include <jansson.h>

#include "base/vec.h"
#include "station/door.h"
#include "station/owner.h"
#include "station/people.h"
#include "station/senses.h"

struct sentry {
	struct owner_rules rules;
	struct owner_claim claim;
	enum owner_act act;
	int64_t claimed_at;    /* seconds since 1970: when the claim began */
	struct senses *senses; /* NULL: the owner's activity is not watched */
	struct seen seen;
	double running; /* running or runnable threads of others, averaged over the last seconds */
	struct owner_pause pause;
	VEC(uid_t) owners; /* uids of rules.owners, as far as they are known */
	struct owners_look *look;
	struct door *door;
};

/* Returns the directory of devices, usually /dev; a test may give another one if `tested`. */
const char *sentry_devices(bool tested);
/* Sets the policy, and looks up the owners that it names unless they are the same as before. */
void sentry_rules(struct sentry *s, uv_loop_t *loop, const struct owner_rules *r);
/* Forgets owners and stops watching. */
void sentry_stop(struct sentry *s);
/* Returns true for an owner. If the policy names none, everyone who has a terminal is one. */
bool sentry_owns(const struct sentry *s, uid_t user);
/* Adds what was seen to the average of others' threads; `ours` of them belong to our tasks, and
 * `weight` is that of one sample. */
void sentry_average(struct sentry *s, int ours, double weight);
/* Returns the free memory beyond what the policy keeps free, bytes; negative: it is too little. */
int64_t sentry_memory(const struct sentry *s);
/* Folds what was seen into the claim, and returns what our tasks do now. */
enum owner_act sentry_decide(struct sentry *s, uv_loop_t *loop, bool paused);

/* Adds the claim, and who uses the machine, to the answer for `shunt owner`. */
void sentry_show(const struct sentry *s, uv_loop_t *loop, json_t *o);
/* Parses an order. Root, `trusted` and the machine's owners may give it: the users that the policy
 * names or, if it names none, everyone who has a terminal here; never a process of a task (`ours`).
 * Returns NULL with the end of the pause, 0 to resume; or the refusal, which names the daemon and
 * the place that has the policy. */
json_t *sentry_order(const struct sentry *s, const char *line, const struct ucred *who, bool ours, bool trusted,
		     const char *daemon, const char *place, int64_t *ret_until);
json_t *sentry_refusal(const char *reason);

#endif
