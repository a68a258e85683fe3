/*
 * protocol.h - versions of the protocol between servers and agents; docs/protocol.md describes
 * them.
 *
 * Both ends name their version in hello and welcome, and each sends what the other understands. A
 * change that the other end cannot simply ignore needs a new version.
 */
#ifndef NET_PROTOCOL_H
#define NET_PROTOCOL_H

#define PROTOCOL 3	  /* version of this program */
#define PROTOCOL_OLDEST 1 /* oldest version it still works with */

#define PROTOCOL_NODEFILE 2 /* first version whose agent creates its node file's directory */
#define PROTOCOL_LAUNCHER 2 /* first version whose agent is known to obey `launcher` (class spmd) */
#define PROTOCOL_SCRIPT 3   /* first version that takes scripts of more than SCRIPT_BEFORE bytes */
#define SCRIPT_BEFORE (1u << 20)

#endif
