/*
 * descriptors.h - how many descriptors this process may have.
 *
 * A login gives 1,024, which one user with that many connections to a daemon would use up.
 */
#ifndef BASE_DESCRIPTORS_H
#define BASE_DESCRIPTORS_H

#include <stdbool.h>

void descriptors_raise(void); /* as many as the system lets us have, up to 65,536 */
int descriptors_left(void);   /* how many more it may open now */
bool descriptors_lower(void); /* as it was before: for a child; true if that is less, and to be raised again */

#endif
