/*
 * files.h - files between hosts, each end with the user's own rights: output on its way home, stagein, stageout.
 *
 *	part's host --(TLS, node certificates, a ticket)--> the other host: opened as the user by its nursery
 *
 * files.c is the end that is called and believes only tickets (ticket.h); carry.c is the end that calls. A connection serves one file after
 * another: {"t":"file","ticket","signature","file":INDEX} begins each, then
 *
 *	put:	-> (in the first frame) size: of the file when we last heard, -1: begin
 *		<- have {"size"[,"extra","crc"]}	its size now; and CRC-32 of the bytes by which it has grown
 *		-> data {"to"} + bytes, ...	<- took {"to","size"} for each
 *		-> end			<- done {"size"} | failed {"reason"[,"again"]}
 *	get:	<- have {"size","mode"}, data + bytes, ..., end | failed {"reason"[,"again"]}: if again, it may be asked for a little later
 *
 * What is put is appended, always: the other end need not remember anything, and nobody's bytes are overwritten. A put that breaks off is taken up again
 * by who sends: what it last heard is written down, and of what came after that the size and the checksum tell how much has arrived. To begin
 * truncates the file, unless the ticket says append.
 */
#ifndef ENGINE_FILES_H
#define ENGINE_FILES_H

#include "engine/opener.h"
#include "net/link.h"

struct files;

struct files *files_create(uv_loop_t *loop, struct opener *opener);
/* Who we are, whose tickets count, and the way to others: not before this can anything be carried. `keep` (may be NULL): the directory for files that the
 * server keeps itself, those whose path has no '/'. Again when there is another certificate. */
struct files_identity {
	const char *name; /* this host, as tickets call it: the node; "" on the server's machine */
	const char *ca;	  /* the authority's certificate */
	const char *keep;
	struct tls_context *tls;
	const struct revoked *revoked; /* those who get nothing; borrowed, and may change. NULL: none */
};
void files_identify(struct files *f, const struct files_identity *i);
void files_serve(struct files *f, struct link *l, json_t *first); /* a link whose first frame has "t":"file" */
void files_stop(struct files *f);				  /* connections are closed */

/* ---- one file on its way (carry.c) ---- */

struct carry;
enum carry_end {
	CARRY_DONE,
	CARRY_AGAIN, /* the other host can't be reached: later, perhaps */
	CARRY_FAILED /* one end can't read or write it */
};
/* All is borrowed until it is over. */
struct carry_order {
	const struct order_file *file;
	int index; /* its place in the ticket */
	const char *ticket, *signature;
	struct opener_user who;
	const char *here;   /* absolute path on this host */
	int64_t took, size; /* put: so many bytes are there, and made the file so large; -1: begin */
};
struct carry_events {
	void (*moved)(void *context, int64_t took, int64_t size);	     /* put: to be written down */
	void (*over)(void *context, enum carry_end how, const char *reason); /* the last; never from inside a call */
	void *context;
};
struct carry *carry_start(struct files *f, const struct carry_order *o, const struct carry_events *e);
void carry_cancel(struct carry *c); /* nobody is told; NULL is none */

/* The server's clock says so now: tickets end by that, however wrong this host's own is. */
void files_clock(struct files *f, int64_t now);
/* Who has been revoked is the server's to say. So a host that has not heard from it for so many seconds (-1: at all) neither takes nor gives files of other
 * nodes: they ask again later. Never called: the server itself, which knows. */
void files_trust(struct files *f, int64_t seconds);
/* Someone was revoked: what is under way with him ends. */
void files_revoke(struct files *f);

#endif
