/*
 * palette.h - the colors of pictures and of top: terminal colors (of 256) that are readable on
 * light and dark backgrounds.
 *
 * The terminal defines the 8 classic colors itself, and green, cyan and yellow text is usually
 * unreadable on white. On a terminal with only those, text has no color. tests/unit/test_palette.c
 * checks the contrasts.
 */
#ifndef CMD_PALETTE_H
#define CMD_PALETTE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum palette_text { PALETTE_RUNNING = 28, PALETTE_HELD = 164, PALETTE_TROUBLE = 161 };

/* Background colors of jobs in a picture, under black text. */
#define PALETTE_JOBS 6
static const uint8_t palette_job[PALETTE_JOBS] = {71, 173, 75, 170, 143, 103};

/* Returns red, green and blue of a color from 16 to 255, which are the same in all terminals. */
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

/* Returns true if `fd` is a terminal that wants colors (not with NO_COLOR or TERM=dumb). */
static inline bool palette_wanted(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fd) && (!no || !*no) && term && strcmp(term, "dumb") != 0;
}

/* Returns true if the terminal has 256 colors. */
static inline bool palette_has(void)
{
	const char *term = getenv("TERM"), *more = getenv("COLORTERM");

	return (term && strstr(term, "256color")) || (more && *more);
}

#endif
