/*
 * elsewhere.h - what is known of a job that is on its way to another site, or is there. entry_apply() alone changes it; life/peers/away.h says what it means.
 */
#ifndef SERVER_ELSEWHERE_H
#define SERVER_ELSEWHERE_H

#include <stdint.h>

enum away_phase {
	AWAY_NOT,     /* it is here */
	AWAY_OFFERED, /* the site may have accepted it: it must not run here */
	AWAY_THERE,   /* the site has it */
};
enum away_wish { WISH_NONE, WISH_DELETE, WISH_RETURN };

#define AWAY_REFUSED 4

/* A job on its way to another site: only of those that are in, or have been in, a queue of one (settings/remotes.h). life/peers/away.h. */
struct away {
	uint8_t phase;			/* enum away_phase */
	uint8_t wish;			/* enum away_wish: what its owner wants of it meanwhile */
	char state[2];			/* AWAY_THERE: its letter there */
	uint32_t try;			/* hand-overs so far: each has a key of its own */
	uint32_t from;			/* the queue here that it was in before, or is wanted in, a word; 0: none */
	uint32_t refused[AWAY_REFUSED]; /* queues of sites that did not accept it: routing passes them over */
	char *id;			/* AWAY_THERE: what it is called there */
};

#endif
