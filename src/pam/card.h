/*
 * card.h - what a live file (run/live.h) says of its job to somebody who knocks at the node: whose it is, since when, and in which control groups.
 *
 * Nothing here allocates, and nothing aborts: it runs in the address space of sshd.
 */
#ifndef PAM_CARD_H
#define PAM_CARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CARD_GROUPS 8
#define CARD_TEXT 16384 /* bytes of a file that are read: this is at its beginning */

struct card {
	uid_t uid;
	int64_t since; /* microseconds since 1970 */
	char *id;      /* the job's; in the text, as the rest */
	char *group[CARD_GROUPS];
	int ngroups;
	bool ended; /* its result is there */
};

/* Reads the text, which it cuts into lines, up to its NUL. A line counts when its newline is there. False: it says nothing of a user, or something that makes no sense. */
bool card_read(char *text, struct card *ret);

#endif
