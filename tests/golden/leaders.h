/*
 * leaders.h - a store that several servers share, played by a test: who leads, which leases are
 * renewed, and the timers of the server that stands by or leads.
 */
#ifndef GOLDEN_LEADERS_H
#define GOLDEN_LEADERS_H

#include <stdbool.h>
#include <stdint.h>

struct server;

/* What the test has for it. */
struct leaders_test {
	void (*say)(const char *format, ...) __attribute__((format(printf, 1, 2)));
	bool (*next)(void); /* plays the next command of this run; false: it has ended */
	int64_t *now_us;
	void (*settle)(void);
};

/* Plays the store from now on; `t` NULL: the store is real. */
void leaders_begin(const struct leaders_test *t);
/* Plays a command of these; returns false for others. */
bool leaders_command(struct server *s, const char *word, const char *args);
/* Lets commits fail: "full", "broken"; "": they succeed again. */
void store_fails(const char *why);
bool leaders_standing(void); /* the server waits for the lead, and makes no turns */

#endif
