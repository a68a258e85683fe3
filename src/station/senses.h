/*
 * senses.h - who uses this machine now, without asking a login manager, which is known to miss it: keyboards, mice and touch screens by their devices (that is X and
 * Wayland, too), terminals (also those of ssh) by when somebody last typed there, and how much the processors and the memory are wanted.
 *
 * What is typed is not looked at. A terminal's time has steps of 8 seconds in the kernel, so the first key after a rest is seen at once, and the time
 * of the last one is known to 8 seconds.
 */
#ifndef STATION_SENSES_H
#define STATION_SENSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "station/owner.h"

struct senses;

struct senses_listener {
	void (*input)(void *context); /* somebody is there: seen just now */
	/* Whether a terminal counts: those of our own jobs, and of users who are not the owner, don't. */
	bool (*counts)(void *context, dev_t device, uid_t user);
	void *context;
};

/* `dev`: where devices are, usually /dev. */
struct senses *senses_create(uv_loop_t *loop, const char *dev, const struct senses_listener *l);
void senses_destroy(struct senses *s);
/* Takes over what an earlier one has seen: input `ago` milliseconds ago; negative (a clock was set back) is now. */
void senses_remember(struct senses *s, int64_t ago);

/* Looks at terminals, and for devices that were plugged in. To be called several times a second. */
void senses_look(struct senses *s);

struct seen {
	int64_t input;	      /* uv_now() of the last input, negative if before the boot; or OWNER_NO_INPUT */
	char where[64];	      /* "a keyboard or mouse", "pts/3"; "": nowhere */
	char who[64];	      /* at that terminal, as far as it is known */
	double memory_free;   /* percent */
	double memory_stalls; /* percent of the last 10 s; 0 where the kernel does not count */
	int runnable;	      /* threads that run or are ready, ours and others, without the one that asks */
};
void senses_get(const struct senses *s, struct seen *ret);
int senses_devices(const struct senses *s);		   /* keyboards, mice and the like that are watched */
bool senses_logged_in(const struct senses *s, uid_t user); /* has a terminal that counts */

#endif
