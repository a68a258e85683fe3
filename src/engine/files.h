/*
 * files.h - file transfers between hosts, with the user's own rights at each end: output, stagein,
 * stageout.
 *
 *	part's host --(TLS, node certificates, a ticket)--> other host: its nursery opens
 *								the file as the user
 *
 * files.c is the called end and trusts only tickets (ticket.h); carry.c is the calling end. A
 * connection serves one file after another: {"t":"file","ticket","signature","file":INDEX} begins
 * each, then
 *
 *	put:	-> (in the first frame) size: last known size of the file, -1: begin
 *		<- have {"size"[,"extra","crc"]}	its size now; CRC-32 of what was added
 *		-> data {"to"} + bytes, ...	<- took {"to","size"} for each
 *		-> end			<- done {"size"} | failed {"reason"[,"again"]}
 *	get:	<- have {"size","mode"}, data + bytes, ..., end | failed {"reason"[,"again"]}
 *
 * If `again` is true, the client may ask again a little later. A put always appends: the other end
 * need not remember anything, and no bytes are overwritten. The sender resumes an interrupted put:
 * it has stored the last report, and size and checksum show how much has arrived since. Beginning
 * truncates the file, unless the ticket says append.
 */
#ifndef ENGINE_FILES_H
#define ENGINE_FILES_H

#include "engine/opener.h"
#include "net/link.h"

struct files;

struct files *files_create(uv_loop_t *loop, struct opener *opener);
/* Sets who we are, whose tickets count, and how to reach others; before that, nothing can be
 * transferred. `keep` (may be NULL): directory for files that the server itself keeps, whose path
 * has no '/'. Call it again when the certificate changes. */
struct files_identity {
	const char *name; /* this host's name in tickets: the node; "" on the server's machine */
	const char *ca;	  /* certificate of the authority */
	const char *keep;
	struct tls_context *tls;
	/* nodes that are refused; borrowed, and may change. NULL: none */
	const struct revoked *revoked;
};
void files_identify(struct files *f, const struct files_identity *i);
/* Takes a link whose first frame has "t":"file". */
void files_serve(struct files *f, struct link *l, json_t *first);
void files_stop(struct files *f); /* closes all connections */

/* ---- transfer of one file (carry.c) ---- */

struct carry;
enum carry_end {
	CARRY_DONE,
	CARRY_AGAIN, /* the other host can't be reached: try again later */
	CARRY_FAILED /* one end can't read or write the file */
};
/* Everything is borrowed until the transfer is over. */
struct carry_order {
	const struct order_file *file;
	int index; /* index in the ticket */
	const char *ticket, *signature;
	struct opener_user who;
	const char *here; /* absolute path on this host */
	/* put: bytes already transferred, and the size of the file after them; -1: begin */
	int64_t took, size;
};
struct carry_events {
	void (*moved)(void *context, int64_t took, int64_t size); /* put: progress to record */
	/* the last call; never from inside a call of ours */
	void (*over)(void *context, enum carry_end how, const char *reason);
	void *context;
};
struct carry *carry_start(struct files *f, const struct carry_order *o, const struct carry_events *e);
void carry_cancel(struct carry *c); /* no callback is called; NULL is allowed */

/* Sets the server's clock: tickets expire by it, however wrong this host's own clock is. */
void files_clock(struct files *f, int64_t now);
/* Sets how recently the server was heard from, in seconds (-1: never). Only the server knows who
 * was revoked, so a host that has not heard from it for too long neither sends nor takes files of
 * other nodes: they ask again later. The server itself never calls this. */
void files_trust(struct files *f, int64_t seconds);
/* Ends transfers with nodes that were revoked. */
void files_revoke(struct files *f);

#endif
