/*
 * files_internal.h - shared by both ends of a file transfer: files.c is called, carry.c calls.
 */
#ifndef ENGINE_FILES_INTERNAL_H
#define ENGINE_FILES_INTERNAL_H

#include "base/map.h"
#include "base/vec.h"
#include "engine/files.h"

#define CHUNK 262144	      /* maximum bytes of a data frame */
#define SEND_AHEAD (1u << 20) /* maximum bytes waiting in a link */
#define PATIENCE_MS 30000     /* ms without progress after which the calling end gives up */
#define GUEST_MS 120000	      /* ms without progress after which the called end gives up */
#define LINGER_MS 10000	      /* ms that a connection is kept for the next file */
#define DOUBT "this host has not heard from the server for too long to trust other nodes"
#define CRC_MOST (INT64_C(64) << 20) /* maximum bytes read again to see what has arrived */

/* The frames of a transfer (docs/protocol.md); each has only some of the members. */
struct file_frame {
	/* file */
	const char *ticket, *signature, *boot; /* boot: the kernel's boot id of the calling host */
	int file;			       /* index in the ticket */
	int64_t asked;			       /* time since boot, microseconds: numbers requests */
	/* have, took, end, done; in `file` the size last heard of; -1: none */
	int64_t size;
	int64_t extra, crc; /* have: bytes beyond that size, and their CRC-32 */
	int mode;	    /* have: permissions */
	int64_t to;	    /* data, took: offset of the end of the data */
	const char *reason; /* failed */
	bool again;	    /* failed: the client should ask again a little later */
};
void file_frame_send(struct link *l, const char *type, const struct file_frame *x, const void *data, size_t n);
/* If a member has a wrong type, all count as missing. */
void file_frame_read(const json_t *head, struct file_frame *ret);

/* An idle connection, kept for the next file. */
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
	int64_t trusted; /* time since boot until which the server's last word counts; 0: forever */
	/* boot time of this host by the server's clock; 0: the server was not heard from yet */
	int64_t booted;
	struct carry *carries;
	VEC(struct spare_link *) spare;
	/* hash of job, path and kind -> latest attempt that wrote there; time of the latest
	 * request */
	struct map notes;
	uv_timer_t timer; /* finds connections without progress */
};

void files_serve_own(struct files *f, struct link *l); /* serves this host itself */
/* Returns true if the server's last word is too old to trust another node. */
bool files_doubt(const struct files *f);
void files_watch(struct files *f);    /* starts the timer */
void carries_tick(struct files *f);   /* ends transfers without progress and idle connections */
void carries_revoke(struct files *f); /* ends transfers with revoked hosts */
void carries_stop(struct files *f);
int64_t file_crc(int fd, int64_t from, int64_t n); /* returns the CRC-32; -1: can't be read */

#endif
