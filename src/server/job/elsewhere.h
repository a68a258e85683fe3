/*
 * elsewhere.h - state of a job that is moving to another site or is there. Only entry_apply()
 * changes it; life/peers/away.h explains it.
 */
#ifndef SERVER_ELSEWHERE_H
#define SERVER_ELSEWHERE_H

#include <stdint.h>

enum away_phase {
	AWAY_NOT,     /* the job is here */
	AWAY_OFFERED, /* the site may have accepted it: it must not run here */
	AWAY_THERE,   /* the site has it */
};
enum away_wish { WISH_NONE, WISH_DELETE, WISH_RETURN };

#define AWAY_REFUSED 4

/* State of a job that is, or has been, in a queue of another site (settings/remotes.h). See
 * life/peers/away.h. */
struct away {
	uint8_t phase; /* enum away_phase */
	uint8_t wish;  /* enum away_wish: what its owner has asked for meanwhile */
	char state[2]; /* AWAY_THERE: its state letter there */
	uint32_t try;  /* number of hand-overs so far; each has its own key */
	/* word of the local queue it was in before, or is to return to; 0: none */
	uint32_t from;
	uint32_t refused[AWAY_REFUSED]; /* queues of sites that refused it; routing skips them */
	char *id;			/* AWAY_THERE: its id there */
};

#endif
