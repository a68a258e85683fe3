/*
 * tmpwatch.h - keeps room on the file system that jobs' $TMPDIR shares with what Shunt itself
 * needs: the server's store, live files, an agent's state.
 *
 * While it has less than half of its reserve free (spare.h), the attempts of users whose $TMPDIR
 * hold more than the reserve are ended, the largest of the user who has most first, until
 * enough is free. Undelivered output leaves the whole reserve free, so that it never causes this.
 * The same holds for files (inodes). Nothing is ended where tmp/ is a file system of its own.
 *
 * While there is room it costs one statvfs() a second, and nothing where no attempt has a $TMPDIR.
 * Only then a process of its own, which may take long, reads the directories.
 */
#ifndef RUN_TMPWATCH_H
#define RUN_TMPWATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* An order to end an attempt for what is in its $TMPDIR, sent where a signal is expected
 * (nursery.h): the low bits are MB, or with TMPDIR_FILES the number of its files. */
#define TMPDIR_WORD (1 << 28)
#define TMPDIR_FILES (1 << 27)
#define TMPDIR_MOST (TMPDIR_FILES - 1)
static inline bool is_tmpdir_word(int word)
{
	return word >= TMPDIR_WORD && word < TMPDIR_WORD << 1;
}

struct tmpwatch {
	int live;		      /* LIVE, next to tmp/ */
	pid_t pid;		      /* process that reads the directories; 0: none */
	int fd;			      /* what it found */
	int64_t since;		      /* boot_us() at which it was started */
	int64_t look_at;	      /* boot_us() of the next look; INT64_MAX: none */
	int64_t pause;		      /* us after a reading */
	void (*leave)(void *context); /* closes what a forked child must not hold */
	void *context;
};

/* Looks again from now on: there is an attempt, or may be one. */
void tmpwatch_begin(struct tmpwatch *w);
/* Call it when `look_at` has come. `idle`: no attempt runs, as far as is known. */
void tmpwatch_look(struct tmpwatch *w, bool idle);
/* Takes the end of a child. Calls `end` for each attempt that must end. Returns false if it is not
 * the reading process. */
bool tmpwatch_reaped(struct tmpwatch *w, pid_t pid, void (*end)(void *context, const char *tag, int word));

/* Writes the reason of an attempt that was ended with `word`. */
struct strbuf;
void tmpwatch_say(int word, const char *tmpdir, struct strbuf *say);

#endif
