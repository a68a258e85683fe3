/*
 * files.h - files between hosts, each end with the user's own rights: output on its way home, stagein, stageout.
 *
 *	part's host --(TLS, node certificates, a ticket)--> home host: opened as the user by its nursery
 *
 * A ticket is text that the server signed with the cluster's authority: who, from which host (NAME:JOIN), to or from which path on which host, for which attempt, until when. A
 * host believes no other host, only tickets: one that was broken into can write the output of the jobs that were given to it, and nothing else.
 *
 *	{"op":"put"|"get","user","path","at":HOST,"by":"n2:7","tag","mode":384,"append":false,"until":SECONDS}
 *
 * Frames of a connection: {"t":"file","ticket","signature"}, then
 *	put:	<- have {"size"}	what the other end has of this delivery (0 at first)
 *		-> data {"at"} + bytes, ..., end {"size"}	<- done {"size"} | failed {"reason"}
 *	get:	<- data {"at"} + bytes, ..., end {"size","mode"} | failed {"reason"}
 *
 * A put that breaks off is taken up again at what the other end has. With append the first `have` fixes where it begins (kept in
 * SPOOL/TAG.json), so that repeating never doubles a byte.
 */
#ifndef ENGINE_FILES_H
#define ENGINE_FILES_H

#include "engine/local.h"
#include "net/link.h"

struct files;

/* One file of an order: order.files, written by the server (run/order.h). */
enum file_use { FILE_OUT, FILE_ERR, FILE_IN, FILE_BACK };

struct files_options {
	struct local *local; /* opens files as users */
	const char *spool;   /* directory: TAG.out, TAG.err, TAG.json */
	const char *name;    /* this host, as tickets call it: the node's name; "" on the server's machine */
	const char *ca;	     /* the authority's certificate: whose tickets count */
	struct tls_context *tls;
};

int files_start(uv_loop_t *loop, const struct files_options *o, struct files **ret, struct err *err);
void files_serve(struct files *f, struct link *l, json_t *first); /* a link whose first frame has "t":"file" */
void files_identity(struct files *f, struct tls_context *tls);

#endif
