/*
 * ticket.c - tickets: written and signed by the server, checked by the host that has the file.
 */
#include "engine/ticket.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/codec.h"

/* A ticket's text. */
enum op { OP_GET, OP_PUT };
struct paper_file {
	enum op op;
	const char *at, *path;
	int mode;
	bool append;
};
struct paper {
	const char *by, *tag, *user;
	int64_t until;
	struct paper_file *files;
	int nfiles;
};

static const struct schema paper_file = {FIELDS(
	{"op", .in = ALWAYS, .words = "get|put", MEMBER_AS(FORM_CHOICE, struct paper_file, op)},
	{"at", .in = ALWAYS, MEMBER(struct paper_file, at)}, {"path", .in = ALWAYS, MEMBER(struct paper_file, path)},
	{"mode", .most = 0777, MEMBER(struct paper_file, mode)}, {"append", MEMBER(struct paper_file, append)})};
static const struct field paper_rows[] = {
	{"by", .in = ALWAYS, MEMBER(struct paper, by)},
	{"tag", .in = ALWAYS, MEMBER(struct paper, tag)},
	{"user", .in = ALWAYS, MEMBER(struct paper, user)},
	{"until", .in = ALWAYS, MEMBER(struct paper, until)},
	{"files", .of = &paper_file, MEMBER_LIST(FORM_RECORDS, struct paper, files, nfiles)},
	{0},
};

int ticket_write(struct order *o, const struct ticket_terms *t, struct arena *a, struct err *err)
{
	struct strbuf text = {0}, signature = {0};
	struct paper p = {.by = *t->by ? arena_printf(a, "%s:%" PRIu64, t->by, t->join) : "",
			  .tag = o->tag,
			  .user = o->user,
			  .until = t->until,
			  .files = arena_alloc(a, (size_t)o->carry.ncarried * sizeof *p.files),
			  .nfiles = o->carry.ncarried};
	int rc;

	for (int i = 0; i < p.nfiles; i++) {
		const struct order_file *f = &o->carry.carried[i];
		bool output = f->use == FILE_OUT || f->use == FILE_ERR;
		p.files[i] = (struct paper_file){.op = f->use == FILE_IN ? OP_GET : OP_PUT,
						 .at = f->host,
						 .path = f->path,
						 .mode = 0666 & ~(o->umask < 0 ? 077 : o->umask),
						 .append = output && o->append};
	}
	record_store_text(paper_rows, 0, &p, NULL, &text);
	rc = pki_sign(t->authority_key, text.text, text.n, &signature, err);
	if (rc == 0) {
		o->carry.ticket = arena_strndup(a, text.text, text.n);
		o->carry.signature = arena_strndup(a, signature.text, signature.n);
	}
	strbuf_fini(&text);
	strbuf_fini(&signature);
	return rc;
}

/* ---- checks: signed by the authority, in time, shown by its holder, for a file of this host
 * ---- */

static bool shown_by(const char *by, const struct cert_names *peer)
{
	char name[sizeof peer->name + 32] = "";

	if (!peer)
		return true;
	if (peer->role == CERT_NODE)
		snprintf(name, sizeof name, "%s:%" PRIu64, peer->name, peer->join);
	return (peer->role == CERT_NODE || peer->role == CERT_SERVER) && strcmp(by, name) == 0;
}

static int file_check(const struct ticket_question *q, const struct paper *p, struct ticket *ret, struct err *err)
{
	if (q->file < 0 || q->file >= p->nfiles)
		return err_set(err, -EINVAL, "the ticket has no such file");
	const struct paper_file *f = &p->files[q->file];
	if (strcmp(f->at, q->at) != 0)
		return err_set(err, -EPERM, "the ticket is for another host");
	if (!*f->path || !*p->tag || !*p->user)
		return err_set(err, -EINVAL, "the ticket can't be understood");
	*ret = (struct ticket){.tag = p->tag,
			       .user = p->user,
			       .path = f->path,
			       .put = f->op == OP_PUT,
			       .append = f->append,
			       .mode = f->mode};
	return 0;
}

int ticket_check(const struct ticket_question *q, struct arena *a, struct ticket *ret, struct err *err)
{
	size_t n = strlen(q->text);
	struct paper p;
	int rc;

	if (n > TICKET_MAX)
		return err_set(err, -EINVAL, "the ticket is too long");
	rc = pki_verify(q->authority, q->text, n, q->signature, strlen(q->signature), err);
	if (rc < 0)
		return err_set(err, rc, "the ticket is not signed by this cluster's authority");
	if (record_read_text(paper_rows, 0, q->text, n, &p, a, NULL) < 0)
		return err_set(err, -EINVAL, "the ticket can't be understood");
	if (!shown_by(p.by, q->peer))
		return err_set(err, -EPERM, "the ticket was given to another host");
	if (p.until < q->now)
		return err_set(err, -EKEYEXPIRED, "the ticket has expired");
	return file_check(q, &p, ret, err);
}
