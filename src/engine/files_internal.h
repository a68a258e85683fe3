/*
 * files_internal.h - what both ends of a file's way share: files.c is called, carry.c calls.
 */
#ifndef ENGINE_FILES_INTERNAL_H
#define ENGINE_FILES_INTERNAL_H

#include "base/map.h"
#include "base/vec.h"
#include "engine/files.h"

#define CHUNK 262144	      /* bytes of a data frame */
#define SEND_AHEAD (1u << 20) /* bytes that may wait in a link */
#define PATIENCE_MS 30000     /* without a move, of who waits for the other end */
#define GUEST_MS 120000	      /* ... and of who may be called again */
#define LINGER_MS 10000	      /* a connection is kept for the next file */
#define DOUBT "this host has not heard from the server for too long to trust other nodes"
#define CRC_MOST (INT64_C(64) << 20) /* bytes that are read again to see what has arrived */

/* A connection that waits for its next file. */
struct spare_link {
	struct files *f;
	struct link *link;
	char *address;
	uint64_t join;
	uint64_t since;
};

struct files {
	uv_loop_t *loop;
	struct opener *opener;
	char *name, *ca, *keep; /* NULL: not known yet; `keep` may stay NULL */
	struct tls_context *tls;
	struct guest *guests;
	int nguests;
	const struct revoked *revoked;
	int64_t trusted; /* time since boot until which the last word of the server counts; 0: for ever */
	int64_t booted;	 /* when this host did, by the server's clock; 0: it has said nothing yet */
	struct carry *carries;
	VEC(struct spare_link *) spare;
	struct map
		notes; /* hash of job, path and what -> the latest attempt that wrote there; when it was asked last */
	uv_timer_t timer; /* who makes no move */
};

void files_serve_own(struct files *f, struct link *l); /* from this host itself */
bool files_doubt(const struct files *f);	       /* what the server said last is too old to trust another node */
void files_watch(struct files *f);		       /* there is somebody who may make no move */
void carries_tick(struct files *f);		       /* those that make no move; connections that nobody needs */
void carries_revoke(struct files *f);		       /* those with a host that was revoked */
void carries_stop(struct files *f);
int64_t file_crc(int fd, int64_t from, int64_t n); /* CRC-32; -1: it can't be read */

#endif
