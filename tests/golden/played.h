/*
 * played.h - what a recorded test plays: clocks that move only by its commands, links whose frames
 * it prints, and the runs of its text.
 *
 * A line "= TITLE" of the text begins a run, "$ COMMAND" says what happens, and the other lines are
 * recorded: what was printed, with the time in seconds since the run began.
 */
#ifndef GOLDEN_PLAYED_H
#define GOLDEN_PLAYED_H

#include <stdbool.h>
#include <stdint.h>

#include "net/link.h"

#define PLAYED_BEGIN INT64_C(1000000000) /* wall clock at the beginning of a run; the others: 1000 */
#define PLAYED_SHOWN 100		 /* bytes of data that are printed; more are counted */

/* What processes of a test share. */
struct played {
	int64_t now_us; /* since the run began */
	int64_t ahead;	/* seconds that the wall clock was set ahead */
	size_t at;	/* offset of the next line of the text */
};
extern struct played *played;

void say(const char *format, ...) __attribute__((format(printf, 1, 2))); /* prints a line with the time */
extern bool played_quiet;						 /* nothing is said */
_Noreturn void die(const char *what, const char *text);			 /* the test itself is wrong */

/* ---- links ---- */

struct link {
	char name[64];
	int fd;
	const struct link_events *events;
	void *context;
	struct cert_names who;
	size_t queued;
	char *over; /* why it is closed; NULL: it is open */
};
extern const char *played_name;			/* name of the next link_open() */
extern void (*played_sent)(const json_t *head); /* called with each frame; may be NULL */

struct link *played_link(const char *name, const struct link_events *e, void *context, int fd);
struct link *played_find(const char *name); /* the newest open link of that name, or NULL */
/* Delivers "{HEAD} [DATA]"; DATA may be a number of bytes, as in "*70000". */
void played_deliver(struct link *l, char *text);
/* Reports the end of links, which their owners never hear within another call, and frees the links;
 * returns true if there was one. */
bool played_ends(void);

/* ---- the loop ---- */

/* Runs the loop until nothing is left to do at this time; calls `each`, if not NULL, after each
 * turn. */
void played_settle(uv_loop_t *loop, void (*each)(void));
/* Lets time pass, from one timer of the loop to the next. */
void played_wait(uv_loop_t *loop, int64_t ms, void (*each)(void));

/* ---- the text ---- */

/* Splits a line into words; the last one takes the rest. Returns their number. */
int words_split(char *line, char **words, int most);
/* Turns "\\0" and "\\n" into these bytes, in place; returns the length. */
size_t unescape(char *s);
/* Finds the next command of the run, and prints it; returns false at its end. */
bool played_next(char *ret, size_t size);
/* Runs the text of a file, and compares what was printed, or records it: `begin` is called at the
 * beginning of each run with a directory and the run's number, and with NULL at the end; `command`
 * with each command. */
void played_record(const char *path, void (*begin)(const char *dir, int number), void (*command)(char *line));

#endif
