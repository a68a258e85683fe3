/*
 * palette.h - the colors of pictures and of top: those of the 256 of a terminal that can be read on a light and on a dark background.
 *
 * The 8 classic colors are the terminal's own, and green, cyan and yellow text usually can't be read on white. Where a terminal has no more,
 * text has no color. tests/unit/test_palette.c checks the contrasts.
 */
#ifndef CMD_PALETTE_H
#define CMD_PALETTE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum palette_text { PALETTE_RUNNING = 28, PALETTE_HELD = 164, PALETTE_TROUBLE = 161 };

/* Of jobs in a picture, with black text on them. */
#define PALETTE_JOBS 6
static const uint8_t palette_job[PALETTE_JOBS] = {71, 173, 75, 170, 143, 103};

/* Red, green and blue of a color from 16 to 255, the same in all terminals. */
static inline void palette_rgb(int color, uint8_t rgb[3])
{
	static const uint8_t level[] = {0, 95, 135, 175, 215, 255};

	for (int i = 0; i < 3; i++)
		rgb[i] = color >= 232 ? (uint8_t)(8 + 10 * (color - 232))
				      : level[(color - 16) /
					      (i == 0	? 36
					       : i == 1 ? 6
							: 1) %
					      6];
}

/* Whether it is a terminal that wants colors (NO_COLOR, TERM=dumb: none), */
static inline bool palette_wanted(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fd) && (!no || !*no) && term && strcmp(term, "dumb") != 0;
}

/* ... and has these. */
static inline bool palette_has(void)
{
	const char *term = getenv("TERM"), *more = getenv("COLORTERM");

	return (term && strstr(term, "256color")) || (more && *more);
}

#endif
