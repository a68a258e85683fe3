/*
 * gather.h - a VFS of SQLite that writes the frames of a commit to the log at once.
 */
#ifndef STORE_GATHER_H
#define STORE_GATHER_H

#include <sqlite3.h>

#define GATHER_VFS "gather" /* the name to open a database with, for synchronous = FULL */

/* Registers the VFS. */
void gather_register(void);
/* Drops what a transaction that was rolled back has left to be written. */
void gather_forget(sqlite3 *db);

#endif
