/*
 * pool_identity.c - loads this station's certificate, and renews it through the station that has
 * the authority, when a third of its life is left or on request. The key stays the same.
 *
 *	-> renew {csr}     <- renewed {certificate} or refused {why}
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/codec.h"
#include "base/logline.h"
#include "station/pool_internal.h"

#define ASK_MS 3600000 /* ms between two attempts */

struct files {
	struct strbuf key, cert, ca;
};

static void files_drop(struct files *f)
{
	if (f->key.text)
		explicit_bzero(f->key.text, f->key.n);
	strbuf_fini(&f->key);
	strbuf_fini(&f->cert);
	strbuf_fini(&f->ca);
}

static int files_read(const struct pool *p, struct files *f, struct err *err)
{
	int rc = pool_home_read(&p->home, "node.key", &f->key, err);

	if (rc == 0)
		rc = pool_home_read(&p->home, "node.crt", &f->cert, err);
	if (rc == 0)
		rc = pool_home_read(&p->home, "ca.crt", &f->ca, err);
	return rc;
}

/* Installs key, certificate and authority, all or none. */
static int use(struct pool *p, const struct files *f, struct err *err)
{
	struct tls_options o = {.cert = strbuf_text(&f->cert),
				.key = strbuf_text(&f->key),
				.ca = strbuf_text(&f->ca),
				.revoked = &p->removed.stations};
	struct identity fresh = {0};
	struct cert_names self;
	int rc = pki_names(o.cert, &self, err);

	if (rc == 0 && (self.role != CERT_NODE || strcmp(self.name, p->conf.name) != 0))
		rc = err_set(err, -EINVAL, "the certificate is for %.64s, not for this station, %s", self.name,
			     p->conf.name);
	if (rc == 0)
		rc = pki_validity(o.cert, &fresh.from, &fresh.until, err);
	if (rc == 0)
		rc = tls_context_create(&o, false, &fresh.calls, err);
	if (rc == 0 && (rc = tls_context_create(&o, true, &fresh.listens, err)) < 0)
		tls_context_free(fresh.calls);
	if (rc < 0)
		return rc;
	fresh.join = self.join;
	identity_drop(p);
	p->identity = fresh;
	return 0;
}

int identity_load(struct pool *p, struct err *err)
{
	struct files f = {0};
	int rc = files_read(p, &f, err);

	if (rc == 0)
		rc = use(p, &f, err);
	files_drop(&f);
	return rc;
}

void identity_drop(struct pool *p)
{
	tls_context_free(p->identity.calls);
	tls_context_free(p->identity.listens);
	p->identity = (struct identity){0};
}

/* ---- renewal ---- */

static void clients_tell(struct pool *p, const char *error)
{
	for (struct client *c = p->clients; c; c = c->next)
		if (c->renews) {
			c->renews = false;
			link_pack(c->link, NULL, 0, "{s:s,s:s*,s:I}", "t", "answer", "error", error, "until",
				  (json_int_t)p->identity.until);
		}
}

/* Reopens links that are not in use with the new certificate: a link ends when the certificate
 * that opened it expires. */
static void links_refresh(struct pool *p)
{
	for (struct host *h = p->hosts; h; h = h->next)
		if (h->link && !h->tasks)
			link_close(h->link, "the certificate was renewed");
	for (struct guest *g = p->guests; g; g = g->next)
		if (!g->tasks)
			link_close(g->link, "the certificate was renewed");
}

static int accept_new(struct pool *p, const char *cert, struct err *err)
{
	struct files f = {0};
	int rc = files_read(p, &f, err);

	strbuf_clear(&f.cert);
	strbuf_puts(&f.cert, cert);
	if (rc == 0)
		rc = pki_issued(strbuf_text(&f.ca), cert, err);
	if (rc == 0)
		rc = use(p, &f, err);
	if (rc == 0) {
		listener_identity(p->listener, p->identity.listens);
		rc = pool_home_write(&p->home, "node.crt", 0644, cert, err);
	}
	files_drop(&f);
	return rc;
}

static void finish(struct pool *p, const char *cert, const char *why)
{
	struct err err = {.text = ""};

	if (!why && accept_new(p, cert, &err) < 0)
		why = err.text;
	if (why)
		log_line(SEVERITY_ERROR, "the certificate was not renewed: %.500s", why);
	else
		log_line(SEVERITY_NOTICE, "the certificate was renewed");
	clients_tell(p, why);
	if (!why)
		links_refresh(p);
}

void renewal_take(struct host *h, const char *type, const json_t *head)
{
	struct pool *p = h->pool;
	const struct pool_entry *e = pool_table_find(&p->table, h->name);
	struct peer_grant g;
	struct err err;

	if (!p->identity.asked || !e || e->member.join != JOIN_AUTHORITY)
		return; /* it was not requested */
	if (record_load(peer_grant_frame.fields, 0, head, &g, NULL, &err) < 0)
		finish(p, NULL, err.text);
	else if (strcmp(type, "renewed") == 0 && g.certificate)
		finish(p, g.certificate, NULL);
	else
		finish(p, NULL, g.why ? g.why : "the answer has no certificate");
}

void renewal_serve(struct guest *g, const json_t *head)
{
	struct strbuf cert = {0};
	struct cert_names who;
	struct peer_grant ask;
	struct err err;
	int rc = record_load(peer_grant_frame.fields, 0, head, &ask, NULL, &err);

	link_peer(g->link, &who);
	if (rc == 0)
		rc = ask.csr ? pool_certificate_renew(&g->pool->home, &who, ask.csr, &cert, &err)
			     : err_set(&err, -EINVAL, "it has no request");
	if (rc == 0) {
		link_record(g->link, "renewed", &peer_grant_frame,
			    &(struct peer_grant){.certificate = strbuf_text(&cert)});
		log_line(SEVERITY_NOTICE, "renewed the certificate of %s", g->name);
	} else {
		link_record(g->link, "refused", &peer_grant_frame, &(struct peer_grant){.why = err.text});
	}
	strbuf_fini(&cert);
}

static int csr_make(const struct pool *p, struct strbuf *ret, struct err *err)
{
	struct files f = {0};
	int rc = files_read(p, &f, err);

	if (rc == 0)
		rc = pki_request(strbuf_text(&f.key), ret, err);
	files_drop(&f);
	return rc;
}

static int self_renew(struct pool *p, const char *csr, struct err *err)
{
	struct cert_names self = {.role = CERT_NODE, .join = p->identity.join};
	struct strbuf cert = {0};
	int rc;

	snprintf(self.name, sizeof self.name, "%s", p->conf.name);
	rc = pool_certificate_renew(&p->home, &self, csr, &cert, err);
	if (rc == 0)
		finish(p, strbuf_text(&cert), NULL);
	strbuf_fini(&cert);
	return rc;
}

static int authority_ask(struct pool *p, const char *csr, struct err *err)
{
	const struct pool_entry *e = NULL;
	struct host *h;

	for (size_t i = 0; i < p->table.entries.n && !e; i++)
		if (p->table.entries.v[i].member.join == JOIN_AUTHORITY)
			e = &p->table.entries.v[i];
	if (!e)
		return err_set(err, -EHOSTUNREACH, "the station that created the pool is not known here yet");
	h = host_want(p, e->member.name);
	if (!h->welcome)
		return err_set(err, -EHOSTUNREACH, "%s, which created the pool, can't be reached now", h->name);
	link_record(h->link, "renew", &peer_grant_frame, &(struct peer_grant){.csr = csr});
	return 0;
}

int identity_renew(struct pool *p, struct err *err)
{
	struct strbuf csr = {0};
	int rc = csr_make(p, &csr, err);

	p->identity.asked = pool_now();
	if (rc == 0)
		rc = p->identity.join == JOIN_AUTHORITY ? self_renew(p, strbuf_text(&csr), err)
							: authority_ask(p, strbuf_text(&csr), err);
	strbuf_fini(&csr);
	return rc;
}

void identity_turn(struct pool *p, int64_t now)
{
	struct err err;

	if (!pool_certificate_due(p->identity.from, p->identity.until, (int64_t)time(NULL)) ||
	    (p->identity.asked && now - p->identity.asked < ASK_MS))
		return;
	if (identity_renew(p, &err) < 0)
		log_line(SEVERITY_ERROR, "the certificate can't be renewed: %s", err.text);
}
