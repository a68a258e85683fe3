/*
 * guard.h - keeps other users of the machine from the PMIx server of a program. Linking guard.c into a program is all that is needed.
 */
#ifndef PMIX_GUARD_H
#define PMIX_GUARD_H

#include <stdint.h>

/* The user who has the other end of a connection within this machine; -1: nobody, or not known. */
int64_t guard_owner(int fd);

#endif
