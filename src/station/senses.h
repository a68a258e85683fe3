/*
 * senses.h - detects who uses this machine now without a login manager, which is known to miss
 * users: keyboards, mice and touch screens by their devices (which covers X and Wayland),
 * terminals, including those of ssh, by the time of the last key, and the demand for processors and
 * memory.
 *
 * What is typed is never read. The kernel keeps a terminal's time in steps of 8 seconds, so the
 * first key after a pause is seen at once, and the time of the last key is known to within 8
 * seconds.
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
	void (*input)(void *context); /* called when input has just been seen */
	/* Returns true if a terminal counts: those of our jobs and of users who are not the
	 * owner do not. */
	bool (*counts)(void *context, dev_t device, uid_t user);
	void *context;
};

/* Starts watching; `dev` is the directory of the devices, usually /dev. */
struct senses *senses_create(uv_loop_t *loop, const char *dev, const struct senses_listener *l);
void senses_destroy(struct senses *s);
/* Restores what an earlier process saw: input `ago` milliseconds ago. A negative value (the
 * clock was set back) means now. */
void senses_remember(struct senses *s, int64_t ago);

/* Checks terminals and newly plugged-in devices. Call it several times a second. */
void senses_look(struct senses *s);

struct seen {
	int64_t input;	      /* uv_now() of the last input, negative if before the boot; or OWNER_NO_INPUT */
	char where[64];	      /* "a keyboard or mouse", "pts/3"; "": none */
	char who[64];	      /* user of that terminal, if known */
	double memory_free;   /* percent of memory */
	double memory_stalls; /* percent of the last 10 s; 0 if the kernel does not measure it */
	int runnable;	      /* running or runnable threads, ours included, without the calling one */
};
void senses_get(const struct senses *s, struct seen *ret);
/* Returns the number of keyboards, mice and similar devices watched. */
int senses_devices(const struct senses *s);
/* Returns true if the user has a terminal that counts. */
bool senses_logged_in(const struct senses *s, uid_t user);

#endif
