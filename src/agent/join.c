/*
 * join.c - makes a machine a node of a cluster: it generates a key that never leaves it, shows the
 * token to the server whose authority has the token's fingerprint, and gets a certificate.
 * agent.json is written last: it makes the machine a node.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent_internal.h"
#include "agent/ask.h"
#include "agent/facts.h"
#include "base/codec.h"
#include "engine/frames.h"

/* ---- is it already a node? ---- */

/* Returns true if it was disconnected for so long that its certificate has expired: only another
 * join helps. An agent that is running with the old one notices the new one. */
static bool has_expired(const struct home *h)
{
	struct strbuf cert = {0};
	int64_t from, until;
	bool expired = home_read(h, "node.crt", &cert, NULL) == 0 &&
		       pki_validity(strbuf_text(&cert), &from, &until, NULL) == 0 && until <= (int64_t)time(NULL);

	strbuf_fini(&cert);
	return expired;
}

/* Returns 1 if it is a node of the cluster that the token is for. */
static int joined_already(const struct home *h, const struct token *t, const char *name, struct err *err)
{
	struct strbuf ca = {0};
	char fingerprint[FINGERPRINT_SIZE] = "";
	struct member m;
	int rc = member_load(h, &m, NULL);

	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		m = (struct member){.name = "?", .cluster = "?"};
	if (rc == 0 && home_read(h, "ca.crt", &ca, NULL) == 0)
		pki_fingerprint(strbuf_text(&ca), fingerprint, NULL);
	if (rc == 0 && strncmp(fingerprint, t->fingerprint, strlen(t->fingerprint)) == 0) {
		rc = !has_expired(h);
		if (rc && name && strcmp(name, m.name) != 0)
			rc = err_set(
				err, -EEXIST,
				"this machine is node %s of the cluster %s already, and keeps that name. To call it %s, run "
				"'shunt nodes remove %s' on the server, then join again",
				m.name, m.cluster, name, m.name);
		else if (rc)
			printf("This machine is node %s of the cluster %s already.", m.name, m.cluster);
	} else {
		rc = err_set(
			err, -EEXIST,
			"this machine is node %s of the cluster %s: 'shunt nodes remove %s' there, then remove %s here, "
			"and join again",
			m.name, m.cluster, m.name, h->state);
	}
	strbuf_fini(&ca);
	member_fini(&m);
	return rc;
}

static void name_choose(const char *given, char *ret, size_t size)
{
	char host[256] = "localhost";

	gethostname(host, sizeof host - 1);
	snprintf(ret, size, "%s", given ? given : host);
	if (!given)
		ret[strcspn(ret, ".")] = '\0';
}

/* Checks that the answer matches our key, and the authority that the token names. */
static int answer_check(const struct ask_answer *answer, const char *key, struct keys *ret, struct member *m,
			struct err *err)
{
	const char *cert = json_string_value(json_object_get(answer->body, "certificate"));
	struct tls_options o = {.cert = cert, .key = key, .ca = answer->ca.text};
	struct tls_context *c;
	struct cert_names who;

	if (!cert || pki_names(cert, &who, err) < 0 || who.role != CERT_NODE ||
	    tls_context_create(&o, false, &c, err) < 0)
		return err_set(err, -EPROTO, "the server gave no certificate that this machine could use");
	tls_context_free(c);
	member_servers(m, json_object_get(answer->body, "servers"));
	snprintf(m->name, sizeof m->name, "%s", who.name);
	snprintf(m->cluster, sizeof m->cluster, "%s", answer->server.name);
	*ret = (struct keys){.key = mem_strdup(key), .cert = mem_strdup(cert), .ca = mem_strdup(answer->ca.text)};
	return 0;
}

static int result_store(const struct home *h, const struct keys *k, const struct member *m, struct err *err)
{
	int rc = home_write(h, "ca.crt", 0644, k->ca, strlen(k->ca), err);

	if (rc == 0)
		rc = keys_store(h, k->key, k->cert, err);
	return rc < 0 ? rc : member_store(h, m, err);
}

/* Adds proof that it is the same node as before, so that the server does not take its jobs for
 * another machine's. */
static void before_add(const struct home *h, json_t *body, const struct strbuf *csr)
{
	struct keys k = {0};
	struct strbuf proof = {0};

	if (keys_load(h, &k, NULL) == 0 && pki_sign(k.key, csr->text, csr->n, &proof, NULL) == 0) {
		json_object_set_new(body, "before", json_string(k.cert));
		json_object_set_new(body, "proof", json_string(strbuf_text(&proof)));
	}
	strbuf_fini(&proof);
	keys_fini(&k);
}

/* Sends the request and writes the files. */
static int join_ask(const struct home *h, const struct join_options *o, const struct token *t, const struct facts *f,
		    struct member *m, struct err *err)
{
	struct strbuf key = {0}, csr = {0};
	struct ask_answer answer = {0};
	struct keys k = {0};
	char name[256];
	json_t *body = NULL;
	int rc = pki_key(&key, err);

	name_choose(o->name, name, sizeof name);
	if (rc == 0)
		rc = pki_request(strbuf_text(&key), &csr, err);
	if (rc == 0 && !(body = json_pack("{s:s,s:s,s:s,s:o}", "token", o->token, "csr", strbuf_text(&csr), "name",
					  name, "facts", schema_json(&facts_schema, f))))
		rc = err_set(err, -EINVAL, "%s is not a valid name of a node", name);
	if (rc == 0) {
		before_add(h, body, &csr);
		if (o->leaves)
			json_object_set_new(body, "leaves", json_integer(o->leaves));
		if (o->workstation)
			json_object_set_new(body, "workstation", json_string(o->workstation));
		rc = ask_post(m->joined_by, t->fingerprint, "/v1/join", body, &answer, err);
	}
	/* a token may be for one node, whose name the server knows */
	if (rc == -EPERM && !o->name) {
		json_object_del(body, "name");
		rc = ask_post(m->joined_by, t->fingerprint, "/v1/join", body, &answer, err);
	}
	if (rc == 0)
		rc = answer_check(&answer, strbuf_text(&key), &k, m, err);
	if (rc == 0)
		rc = result_store(h, &k, m, err);
	json_decref(body);
	json_decref(answer.body);
	strbuf_fini(&answer.ca);
	strbuf_fini(&key);
	strbuf_fini(&csr);
	keys_fini(&k);
	return rc;
}

int machine_join(struct home *h, const struct join_options *o, struct err *err)
{
	struct member m = {.port = o->port >= 0 ? o->port : AGENT_PORT,
			   .cpus = o->cpus,
			   .memory = o->memory,
			   .guest = o->guest,
			   .cgroup = "auto",
			   .root_jobs = o->guest}; /* the default of a user's own server */
	char machine[128];
	struct facts f;
	struct token t;
	int rc = token_parse(o->token, &t, err);

	if (rc == 0)
		rc = ask_where(o->where, SERVER_PORT, m.joined_by, sizeof m.joined_by, err);
	if (rc < 0 || (rc = joined_already(h, &t, o->name, err)) != 0)
		return rc < 0 ? rc : 0;
	if ((rc = home_make(h, err)) < 0)
		return rc;
	rc = facts_collect("auto", h->state, &f, err);
	facts_limit(&f, o->cpus, o->memory);
	if (rc == 0)
		rc = join_ask(h, o, &t, &f, &m, err);
	if (rc == 0) {
		facts_say(&f, machine, sizeof machine);
		printf("This machine is node %s of the cluster %s (%s).", m.name, m.cluster, machine);
	}
	facts_fini(&f);
	member_fini(&m);
	return rc;
}
