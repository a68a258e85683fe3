/*
 * protocol.h - versions of what servers and agents say to each other; docs/protocol.md describes them.
 *
 * Both ends name theirs in hello and welcome, and each sends what the other understands. A change
 * that the other end can't just ignore is a new version.
 */
#ifndef NET_PROTOCOL_H
#define NET_PROTOCOL_H

#define PROTOCOL 2	  /* this program's */
#define PROTOCOL_OLDEST 1 /* the oldest that it still works with */

#define PROTOCOL_NODEFILE 2 /* first with an agent that makes its node file's directory */
#define PROTOCOL_LAUNCHER 2 /* first with an agent that is known to obey `launcher` (class spmd) */

#endif
