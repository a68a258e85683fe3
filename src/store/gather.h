/*
 * gather.h - a VFS of SQLite that writes the frames of a commit to the log at once.
 */
#ifndef STORE_GATHER_H
#define STORE_GATHER_H

#define GATHER_VFS "gather" /* the name to open a database with */

/* Registers the VFS. */
void gather_register(void);

#endif
