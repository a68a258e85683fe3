/*
 * card.h - the part of a live file (run/live.h) that matters for a login at the node: whose job it
 * is, since when it runs, and in which control groups.
 *
 * Nothing here allocates or aborts: it runs in the address space of sshd.
 */
#ifndef PAM_CARD_H
#define PAM_CARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CARD_GROUPS 8
#define CARD_TEXT 16384 /* bytes read from a file; this part is at its beginning */

struct card {
	uid_t uid;
	int64_t since; /* microseconds since 1970 */
	char *id;      /* the job's id; points into the text, as do the groups */
	char *group[CARD_GROUPS];
	int ngroups;
	bool ended; /* true if the file has the job's result */
};

/* Parses the text up to its NUL, cutting it into lines. A line without its newline is ignored.
 * Returns false if it names no user or is malformed. */
bool card_read(char *text, struct card *ret);

#endif
