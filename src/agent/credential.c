/*
 * credential.c - this node's key and certificate: used both to call (the server, other hosts) and
 * to listen, and renewed when a third of their life is left.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent_internal.h"
#include "base/logline.h"

#define ASK_LEAST 1000	 /* minimum ms between two requests */
#define ASK_MOST 3600000 /* maximum ms between two requests */

static int contexts_create(const struct agent *a, const struct keys *k, struct tls_context **ret_calls,
			   struct tls_context **ret_listens, struct err *err)
{
	struct tls_options o = {.cert = k->cert, .key = k->key, .ca = k->ca, .revoked = &a->revoked};
	int rc = tls_context_create(&o, false, ret_calls, err);

	if (rc == 0 && (rc = tls_context_create(&o, true, ret_listens, err)) < 0)
		tls_context_free(*ret_calls);
	return rc;
}

/* Parses the certificate once: that takes longer than the rest of a heartbeat. */
static void validity_read(struct agent *a)
{
	if (pki_validity(a->keys.cert, &a->valid_from, &a->valid_until, NULL) < 0)
		a->valid_until = 0;
}

int credential_load(struct agent *a, struct err *err)
{
	int rc = keys_load(&a->home, &a->keys, err);

	if (rc == 0)
		validity_read(a);
	revoked_take(a, a->member.revoked);
	return rc < 0 ? rc : contexts_create(a, &a->keys, &a->calls, &a->listens, err);
}

bool revoked_take(struct agent *a, const json_t *list)
{
	const char *name;
	json_t *join;
	bool news = false;

	json_object_foreach((json_t *)list, name, join)
	{
		if (json_is_integer(join) && json_integer_value(join) > 0)
			news |= revoked_add(&a->revoked, name, (uint64_t)json_integer_value(join));
	}
	return news;
}

json_t *revoked_give(const struct agent *a)
{
	json_t *o = json_object();

	for (uint32_t i = 0; i < a->revoked.joins.n; i++)
		json_object_set_new(o, names_get(&a->revoked.names, i),
				    json_integer((json_int_t)a->revoked.joins.v[i]));
	return o;
}

bool credential_expired(const struct agent *a)
{
	return a->valid_until && a->valid_until <= (int64_t)time(NULL);
}

bool credential_replaced(const struct agent *a)
{
	struct strbuf cert = {0};
	bool other = home_read(&a->home, "node.crt", &cert, NULL) == 0 && strcmp(strbuf_text(&cert), a->keys.cert) != 0;

	strbuf_fini(&cert);
	return other;
}

/* Prefers the configured life: a certificate's start is set before its creation, because clocks
 * differ. */
static int64_t life_of(const struct agent *a)
{
	return a->member.certificate_life > 0 ? a->member.certificate_life : a->valid_until - a->valid_from;
}

void credential_turn(struct agent *a)
{
	int64_t life, wait;
	struct strbuf key = {0}, csr = {0};
	struct link *l = session_link(a);

	if (!l || !a->valid_until)
		return;
	life = life_of(a);
	/* a tenth of its life */
	wait = life * 100 < ASK_LEAST ? ASK_LEAST : life * 100 > ASK_MOST ? ASK_MOST : life * 100;
	if ((int64_t)time(NULL) < a->valid_until - life / 3 ||
	    (a->asked && (int64_t)(uv_now(a->loop) - a->asked) < wait))
		return;
	a->asked = uv_now(a->loop);
	if (pki_key(&key, NULL) == 0 && pki_request(strbuf_text(&key), &csr, NULL) == 0) {
		free(a->fresh_key);
		a->fresh_key = mem_strdup(strbuf_text(&key));
		link_pack(l, NULL, 0, "{s:s,s:s}", "t", "renew", "csr", strbuf_text(&csr));
	}
	strbuf_fini(&key);
	strbuf_fini(&csr);
}

/* Uses a certificate only if it matches the key, has our own name, and is on disk. */
static int certificate_accept(struct agent *a, const char *cert, struct err *err)
{
	struct keys k = {.key = a->fresh_key, .cert = (char *)cert, .ca = a->keys.ca};
	struct tls_context *calls, *listens;
	struct cert_names who;
	int rc = pki_names(cert, &who, err);

	if (rc < 0)
		return rc;
	if (who.role != CERT_NODE || strcmp(who.name, a->member.name) != 0)
		return err_set(err, -1, "it is for %s, not for this node, %s", who.name, a->member.name);
	if ((rc = contexts_create(a, &k, &calls, &listens, err)) < 0)
		return rc;
	if ((rc = keys_store(&a->home, k.key, cert, err)) < 0) {
		tls_context_free(calls);
		tls_context_free(listens);
		return rc;
	}
	tls_context_free(a->calls);
	tls_context_free(a->listens);
	a->calls = calls;
	a->listens = listens;
	return 0;
}

void credential_take(struct agent *a, const char *cert)
{
	struct err err;

	if (!a->fresh_key)
		return; /* not requested, or received twice */
	if (certificate_accept(a, cert, &err) < 0) {
		log_line(SEVERITY_ERROR, "the new certificate can't be used: %s", err.text);
		return;
	}
	free(a->keys.key);
	free(a->keys.cert);
	a->keys.key = a->fresh_key;
	a->keys.cert = mem_strdup(cert);
	a->fresh_key = NULL;
	validity_read(a);
	a->asked = 0;
	peers_identity(a);
	log_line(SEVERITY_NOTICE, "the certificate was renewed");
}

void credential_drop(struct agent *a)
{
	static const char *const files[] = {"node.key", "node.key.old", "node.crt", "ca.crt", "agent.json"};
	char path[PATH_MAX + 16];

	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/%s", a->home.state, files[i]);
		unlink(path);
	}
}

void credential_fini(struct agent *a)
{
	tls_context_free(a->calls);
	tls_context_free(a->listens);
	keys_fini(&a->keys);
	revoked_fini(&a->revoked);
	free(a->fresh_key);
}
