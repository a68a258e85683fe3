/*
 * broker_remote.c - workers on other hosts: the gate, invitations, and reconnections.
 *
 * A secret is forgotten once it was used. The worker gets a session key instead, which is valid for
 * ten minutes after its connection ended: its tasks are lost by then, but the worker need not be
 * started again.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bag/broker_internal.h"
#include "base/unixsock.h"

enum {
	RETURN_US = 600 * 1000000, /* validity of a session key */
	HELLO_US = 10 * 1000000,   /* time for a connection to send its HELLO */
};

/* Compares two secrets in constant time. */
static bool same(const char *a, const char *b)
{
	unsigned char differ = 0;

	for (int i = 0; i < SECRET_SIZE - 1; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return differ == 0;
}

bool invitation_take(struct broker *b, const char *secret, size_t n, int *ret_request)
{
	if (n != SECRET_SIZE - 1)
		return false;
	for (size_t i = 0; i < b->invitations.n; i++) {
		struct invitation *v = &b->invitations.v[i];
		if (!same(v->secret, secret) || (v->until >= 0 && v->until < b->now))
			continue;
		*ret_request = v->request;
		*v = b->invitations.v[--b->invitations.n];
		return true;
	}
	return false;
}

void remote_begin(struct broker *b, struct peer *p)
{
	(void)b;
	secret_make(p->session);
	wire_add(&p->out, &(struct wire){.kind = WIRE_ANSWER, .text = p->session, .ntext = strlen(p->session)});
}

void remote_end(struct broker *b, const struct peer *p)
{
	struct invitation v = {.until = b->now + RETURN_US, .request = p->request};

	if (!p->session[0])
		return;
	memcpy(v.secret, p->session, sizeof v.secret);
	for (size_t i = b->invitations.n; i-- > 0;) /* remove expired keys */
		if (b->invitations.v[i].until >= 0 && b->invitations.v[i].until < b->now)
			b->invitations.v[i] = b->invitations.v[--b->invitations.n];
	vec_push(&b->invitations, v);
}

int remote_invite(struct broker *b, const char *path, int64_t workers, int request, struct err *err)
{
	struct strbuf text = {0};

	char(*all)[SECRET_SIZE] = mem_zalloc((size_t)workers * sizeof *all);
	for (int64_t i = 0; i < workers; i++) {
		struct invitation v = {.until = -1, .request = request};
		secret_make(v.secret);
		vec_push(&b->invitations, v);
		memcpy(all[i], v.secret, SECRET_SIZE);
	}
	credential_put(&b->gate.at, (const char(*)[SECRET_SIZE])all, (size_t)workers, &text);
	int rc = credential_write(path, text.text, text.n, err);
	free(all);
	strbuf_fini(&text);
	return rc;
}

void remote_uninvite(struct broker *b, int request)
{
	for (size_t i = b->invitations.n; i-- > 0;)
		if (b->invitations.v[i].request == request)
			b->invitations.v[i] = b->invitations.v[--b->invitations.n];
}

static void invitation_path(const struct broker *b, int number, struct strbuf *ret)
{
	strbuf_clear(ret);
	strbuf_printf(ret, "%s/worker-%d.key", b->options->dir, number);
}

int remote_open(struct broker *b, struct err *err)
{
	struct strbuf path = {0};

	strbuf_printf(&path, "%s/gate", b->options->dir);
	int rc = b->remote_listener = unix_listen(path.text, 0600, err);
	if (rc >= 0)
		rc = gate_open(path.text, &b->gate, err);
	for (int i = 1; rc == 0 && i <= b->options->invite; i++) {
		invitation_path(b, i, &path);
		rc = remote_invite(b, path.text, 1, 0, err);
	}
	strbuf_fini(&path);
	return rc;
}

int remote_look(struct broker *b, struct err *err)
{
	for (size_t i = 0; i < b->peers.n; i++) {
		struct peer *p = b->peers.v[i];
		if (p && p->remote && !p->worker && b->now - p->since > HELLO_US)
			peer_close(b, p);
	}
	return gate_lost(&b->gate)
		       ? err_set(err, -ECHILD, "the program shunt-bag-gate ended, which other hosts connect to")
		       : 0;
}

void remote_close(struct broker *b)
{
	struct strbuf path = {0};

	if (b->remote_listener < 0)
		return;
	close(b->remote_listener);
	gate_close(&b->gate);
	strbuf_printf(&path, "%s/gate", b->options->dir);
	unlink(path.text);
	for (int i = 1; i <= b->options->invite; i++) {
		invitation_path(b, i, &path);
		unlink(path.text);
	}
	strbuf_fini(&path);
	vec_free(&b->invitations);
}
