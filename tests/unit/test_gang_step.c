/*
 * test_gang_step.c - what is decided for an attempt on several hosts, case by case.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "engine/engine_internal.h"

struct decision {
	const char *parts; /* Waits Ordered o(pening) Runs Away Ended Lost Never; small e, l: asked to, by the server */
	const char *
		flags; /* f: not flushed, s: start reported, x: ending, b: broken, t: end reported, v: the script failed */
	enum result_cause cause; /* cause of the script's end */
	enum gang_move move;
};

static const struct decision decisions[] = {
	/* an attempt on one host */
	{"W", "f", 0, MOVE_NONE},
	{"W", "", 0, MOVE_SCRIPT},
	{"O", "", 0, MOVE_NONE},
	{"R", "", 0, MOVE_STARTED},
	{"R", "s", 0, MOVE_NONE},
	{"E", "s", 0, MOVE_ENDED},
	{"E", "", 0, MOVE_ENDED},
	{"E", "s", CAUSE_LEASE, MOVE_LOST},
	{"E", "st", 0, MOVE_NONE},
	{"L", "s", 0, MOVE_LOST},
	{"N", "", 0, MOVE_REFUSED},
	{"A", "", 0, MOVE_NONE},
	/* all other parts first, then the script */
	{"WWW", "f", 0, MOVE_NONE},
	{"WWW", "", 0, MOVE_ROOMS},
	{"WOO", "", 0, MOVE_NONE},
	{"WRo", "", 0, MOVE_NONE},
	{"WRR", "", 0, MOVE_SCRIPT},
	{"ORR", "", 0, MOVE_NONE},
	{"RRR", "", 0, MOVE_STARTED},
	{"RRR", "s", 0, MOVE_NONE},
	/* one that does not start releases the others */
	{"WRN", "", 0, MOVE_END},
	{"WNO", "", 0, MOVE_END},
	{"WRE", "", 0, MOVE_END},
	{"WRL", "", 0, MOVE_END},
	{"WNN", "", 0, MOVE_END},
	{"NRN", "x", 0, MOVE_NONE},
	{"NEN", "x", 0, MOVE_REFUSED},
	{"NRR", "", 0, MOVE_END},
	{"NNN", "", 0, MOVE_REFUSED},
	/* the script ends, then the other parts */
	{"ERR", "s", 0, MOVE_END},
	{"ERR", "sx", 0, MOVE_NONE},
	{"EER", "sx", 0, MOVE_NONE},
	{"EAE", "sx", 0, MOVE_NONE},
	{"EEE", "sx", 0, MOVE_ENDED},
	{"EEL", "sx", 0, MOVE_ENDED},
	{"EEL", "sxv", 0, MOVE_LOST}, /* it may have failed because of that room */
	{"EEE", "sxv", 0, MOVE_ENDED},
	{"EEl", "sxv", 0, MOVE_ENDED},
	{"EEL", "sxv", CAUSE_WALLTIME, MOVE_ENDED},
	{"EEE", "sx", CAUSE_LEASE, MOVE_LOST},
	{"LEE", "sx", 0, MOVE_LOST},
	/* a room goes first */
	{"RRE", "s", 0, MOVE_END},
	{"RRL", "s", 0, MOVE_END},
	{"ORE", "", 0, MOVE_END},
	{"RRE", "sxb", 0, MOVE_NONE},
	{"EEE", "sxb", 0, MOVE_LOST},
	{"NEE", "xb", 0, MOVE_REFUSED},
	/* unless it was asked to: then the script decides */
	{"RRe", "s", 0, MOVE_NONE},
	{"Ree", "s", 0, MOVE_NONE},
	{"Eee", "s", CAUSE_ORDERED, MOVE_ENDED},
	/* after a new start of the server */
	{"ARR", "", 0, MOVE_NONE},
	{"AER", "", 0, MOVE_NONE},
	{"AEL", "", 0, MOVE_NONE},
	{"RAA", "s", 0, MOVE_NONE},
	{"EAA", "", 0, MOVE_END},
	{"NAA", "", 0, MOVE_END},
	{"EEE", "", 0, MOVE_ENDED},
	{"EEL", "", 0, MOVE_ENDED},
	{"EEL", "", CAUSE_ORDERED, MOVE_LOST},
	{"EEE", "", CAUSE_ORDERED, MOVE_ENDED},
};

static void test_step(void **state)
{
	static const char letters[] = "WOoRAELN";
	static const enum part_state states[] = {PART_WAITS, PART_ORDERED, PART_OPENING, PART_RUNS,
						 PART_AWAY,  PART_ENDED,   PART_LOST,	 PART_NEVER};

	for (size_t i = 0; i < sizeof decisions / sizeof *decisions; i++) {
		const struct decision *d = &decisions[i];
		struct result results[4] = {{.cause = d->cause, .status = strchr(d->flags, 'v') != NULL}};
		struct gang *g = mem_zalloc(sizeof *g + 4 * sizeof *g->part);
		g->n = (int)strlen(d->parts);
		for (int k = 0; k < g->n; k++) {
			char c = d->parts[k];
			g->part[k].gang = g;
			g->part[k].result = &results[k];
			g->part[k].asked = c == 'e' || c == 'l';
			c = c == 'e' ? 'E' : c == 'l' ? 'L' : c;
			g->part[k].state = states[strchr(letters, c) - letters];
		}
		g->released = !strchr(d->flags, 'f');
		g->started = strchr(d->flags, 's');
		g->ending = strchr(d->flags, 'x') ? SIGTERM : 0;
		g->broken = strchr(d->flags, 'b') ? 1 : 0;
		g->told = strchr(d->flags, 't');
		if (gang_step(g) != d->move)
			fail_msg("%s %s cause %d: move %d instead of %d", d->parts, d->flags, d->cause, gang_step(g),
				 d->move);
		free(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_step)};

	return cmocka_run_group_tests_name("gang-step", tests, NULL, NULL);
}
