/*
 * ticket.c - tickets: written and signed by the server, checked by the host that has the file.
 */
#include "engine/ticket.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/members.h"

int ticket_write(struct order *o, const struct ticket_terms *t, struct arena *a, struct err *err)
{
	struct strbuf text = {0}, signature = {0};
	struct json j;
	int rc;

	json_begin(&j, &text);
	json_text(&j, "by", *t->by ? arena_printf(a, "%s:%" PRIu64, t->by, t->join) : "");
	json_text(&j, "tag", o->tag);
	json_text(&j, "user", o->user);
	json_int(&j, "until", t->until);
	json_open_array(&j, "files");
	for (int i = 0; i < o->carry.ncarried; i++) {
		const struct order_file *f = &o->carry.carried[i];
		bool output = f->use == FILE_OUT || f->use == FILE_ERR;
		json_open_object(&j, NULL);
		json_text(&j, "op", f->use == FILE_IN ? "get" : "put");
		json_text(&j, "at", f->host);
		json_text(&j, "path", f->path);
		json_int(&j, "mode", 0666 & ~(o->umask < 0 ? 077 : o->umask));
		json_bool(&j, "append", output && o->append);
		json_close_object(&j);
	}
	json_close_array(&j);
	json_close_object(&j);
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

static int file_check(const struct ticket_question *q, const json_t *o, struct arena *a, struct ticket *ret,
		      struct err *err)
{
	const json_t *f = json_array_get(json_object_get(o, "files"), (size_t)q->file);
	const char *op = member_text(f, "op"), *path = member_text(f, "path"), *tag = member_text(o, "tag"),
		   *user = member_text(o, "user");
	json_int_t mode = json_integer_value(json_object_get(f, "mode"));

	if (q->file < 0 || !f)
		return err_set(err, -EINVAL, "the ticket has no such file");
	if (strcmp(member_text(f, "at"), q->at) != 0 || !json_is_string(json_object_get(f, "at")))
		return err_set(err, -EPERM, "the ticket is for another host");
	if ((strcmp(op, "put") != 0 && strcmp(op, "get") != 0) || !*path || !*tag || !*user || mode < 0 || mode > 0777)
		return err_set(err, -EINVAL, "the ticket can't be understood");
	*ret = (struct ticket){.tag = arena_strndup(a, tag, strlen(tag)),
			       .user = arena_strndup(a, user, strlen(user)),
			       .path = arena_strndup(a, path, strlen(path)),
			       .put = strcmp(op, "put") == 0,
			       .append = json_is_true(json_object_get(f, "append")),
			       .mode = (int)mode};
	return 0;
}

int ticket_check(const struct ticket_question *q, struct arena *a, struct ticket *ret, struct err *err)
{
	size_t n = strlen(q->text);
	json_t *o;
	int rc;

	if (n > TICKET_MAX)
		return err_set(err, -EINVAL, "the ticket is too long");
	rc = pki_verify(q->authority, q->text, n, q->signature, strlen(q->signature), err);
	if (rc < 0)
		return err_set(err, rc, "the ticket is not signed by this cluster's authority");
	o = json_loadb(q->text, n, 0, NULL);
	if (!shown_by(member_text(o, "by"), q->peer))
		rc = err_set(err, -EPERM, "the ticket was given to another host");
	else if (json_integer_value(json_object_get(o, "until")) < q->now)
		rc = err_set(err, -EKEYEXPIRED, "the ticket has expired");
	else
		rc = file_check(q, o, a, ret, err);
	json_decref(o);
	return rc;
}
