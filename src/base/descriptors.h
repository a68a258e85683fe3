/*
 * descriptors.h - the limit on open file descriptors of this process.
 *
 * A login session allows 1,024, which a single user could exhaust with that many connections to a
 * daemon.
 */
#ifndef BASE_DESCRIPTORS_H
#define BASE_DESCRIPTORS_H

#include <stdbool.h>

void descriptors_raise(void); /* raises the limit as far as the system allows, up to 65,536 */
int descriptors_left(void);   /* number of descriptors that can still be opened */
/* Restores the original limit, for a child. Returns true if it is lower: then raise it again. */
bool descriptors_lower(void);

#endif
