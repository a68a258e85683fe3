/*
 * pool_join.c - both ends of joining a pool: one request over TLS to the station that has the
 * authority, with a token that works once.
 *
 *	-> join {token id, secret, name, csr}
 *	<- joined {certificate, pool, members} or refused {why}
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/codec.h"
#include "base/logline.h"
#include "base/tcp.h"
#include "net/address.h"
#include "net/handle.h"
#include "station/pool_internal.h"

#define JOINERS_MOST 16
#define LIMIT_MS 30000
#define FIND_TRIES 6
#define FIND_MS 500

/* ---- the station that has the authority ---- */

struct joiner {
	struct pool *pool;
	struct link *link;
	uv_timer_t limit;
	char address[ADDRESS_SIZE];
};
static int njoiners;

static json_t *members_pack(const struct pool *p)
{
	json_t *list = json_object();

	for (size_t i = 0; i < p->table.entries.n; i++) {
		const struct peer_member *m = &p->table.entries.v[i].member;
		if (strcmp(m->name, p->conf.name) != 0 && !p->table.entries.v[i].removed)
			json_object_set_new(list, m->name, json_pack("[s,I]", m->where, (json_int_t)m->join));
	}
	return list;
}

/* Returns true if the name is a member's, even one not heard from since it joined. */
static bool member_known(struct pool *p, const char *name)
{
	const struct pool_entry *e = pool_table_find(&p->table, name);
	uint64_t join = pool_station_join(&p->home, name);

	return (e && !e->removed) || (join && !removed_has(&p->removed, name, join));
}

static bool name_good(const char *name)
{
	size_t n = name ? strlen(name) : 0;

	return n && n < PEER_NAME_SIZE &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == n;
}

static int join_grant(struct joiner *j, const json_t *head, struct strbuf *ret, struct err *err)
{
	struct peer_grant ask;
	int rc = record_load(peer_grant_frame.fields, 0, head, &ask, NULL, err);
	const char *name = ask.name;

	if (rc < 0 || !ask.id || !*ask.id || !ask.secret || !ask.csr)
		return err_set(err, -EINVAL, "this is not a request to join");
	if (!name_good(name))
		return err_set(err, -EINVAL, "a station's name has 1 to %d letters, digits, -, _ and .",
			       PEER_NAME_SIZE - 1);
	if (member_known(j->pool, name))
		return err_set(err, -EEXIST,
			       "a station called %s is in the pool already: choose another name with --name, or run "
			       "'shunt pool remove %s' on the station that created the pool",
			       name, name);
	if (removed_has(&j->pool->removed, name, strtoull(ask.id + 1, NULL, 10)))
		return err_set(err, -EACCES,
			       "station %s was removed after this token was made: 'shunt pool token' prints another",
			       name);
	return pool_token_use(&j->pool->home, ask.id, ask.secret, name, ask.csr, (int64_t)time(NULL), ret, err);
}

static void grant_send(struct joiner *j, struct link *l, const char *cert)
{
	json_t *members = members_pack(j->pool);

	link_record(l, "joined", &peer_grant_frame,
		    &(struct peer_grant){.certificate = cert,
					 .pool = j->pool->conf.pool,
					 .name = j->pool->conf.name,
					 .members = members});
	json_decref(members);
}

static void on_ask(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct joiner *j = context;
	struct strbuf cert = {0};
	struct err err;
	int rc = join_grant(j, head, &cert, &err);

	if (rc == 0) {
		grant_send(j, l, strbuf_text(&cert));
		log_line(SEVERITY_NOTICE, "%s has joined", j->address);
	} else {
		link_record(l, "refused", &peer_grant_frame, &(struct peer_grant){.why = err.text});
		log_line(SEVERITY_WARNING, "%s can't join: %s", j->address, err.text);
	}
	link_close(l, "answered");
	strbuf_fini(&cert);
}

static void on_gone(void *context, struct link *l, const char *reason)
{
	struct joiner *j = context;

	njoiners--;
	uv_close((uv_handle_t *)&j->limit, handle_data_free);
}

static void on_limit(uv_timer_t *t)
{
	struct joiner *j = t->data;

	link_abort(j->link, "it took too long");
}

void joiner_serve(void *context, int fd, const char *address)
{
	static const struct link_events events = {.frame = on_ask, .closed = on_gone};
	struct pool *p = context;
	struct joiner *j;

	if (njoiners >= JOINERS_MOST) {
		close(fd);
		return;
	}
	njoiners++;
	j = mem_zalloc(sizeof *j);
	j->pool = p;
	snprintf(j->address, sizeof j->address, "%s", address);
	uv_timer_init(p->loop, &j->limit);
	j->limit.data = j;
	uv_timer_start(&j->limit, on_limit, LIMIT_MS, 0);
	j->link = link_open(p->loop, fd, NULL, &events, j);
}

/* ---- the station that joins ---- */

struct asking {
	const char *name;
	const struct token *token;
	struct strbuf csr;
	json_t *answer;
	char why[512];
	bool over;
};

static void on_ready(void *context, struct link *l)
{
	struct asking *a = context;

	link_record(
		l, "join", &peer_grant_frame,
		&(struct peer_grant){
			.id = a->token->id, .secret = a->token->secret, .name = a->name, .csr = strbuf_text(&a->csr)});
}

static void on_answer(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct asking *a = context;
	const char *why = json_string_value(json_object_get(head, "why"));

	if (why)
		snprintf(a->why, sizeof a->why, "%.500s", why);
	else if (!a->answer)
		a->answer = json_incref(head);
	link_close(l, "answered");
}

static void on_over(void *context, struct link *l, const char *reason)
{
	struct asking *a = context;

	if (!a->why[0])
		snprintf(a->why, sizeof a->why, "%.500s", reason);
	a->over = true;
}

/* Sends the request; returns the answer and the authority's certificate, matched by the token. */
static int ask(const char *host, const char *port, struct asking *a, struct strbuf *ret_ca, struct err *err)
{
	static const struct link_events events = {.ready = on_ready, .frame = on_answer, .closed = on_over};
	struct tls_options o = {.fingerprint = a->token->fingerprint};
	struct tls_context *c = NULL;
	struct tls *t;
	uv_loop_t loop;
	int fd, rc = tls_context_create(&o, false, &c, err);

	if (rc < 0)
		return rc;
	fd = tcp_reach(host, port, LIMIT_MS, err);
	rc = fd < 0 ? fd : tls_start(c, fd, TLS_SPOOL, CERT_NODE, &t, err);
	for (int done = 0; rc == 0 && !done;) {
		done = tls_handshake(t, err);
		if (done < 0)
			rc = done;
		else if (!done && poll(&(struct pollfd){.fd = fd, .events = tls_events(t)}, 1, LIMIT_MS) <= 0)
			rc = err_set(err, -ETIMEDOUT, "%s does not answer", host);
		if (rc < 0)
			tls_free(t);
	}
	tls_context_free(c);
	if (rc < 0)
		return rc;
	strbuf_puts(ret_ca, tls_peer_ca(t) ? tls_peer_ca(t) : "");
	uv_loop_init(&loop);
	link_trust(link_open(&loop, fd, t, &events, a));
	while (!a->over && uv_run(&loop, UV_RUN_ONCE))
		;
	uv_run(&loop, UV_RUN_NOWAIT);
	uv_loop_close(&loop);
	return a->answer ? 0 : err_set(err, -EACCES, "%s", a->why);
}

static int answer_store(const struct pool_home *h, struct pool_conf *c, const struct asking *a, const char *key,
			const char *ca, const char *where, struct err *err)
{
	struct cert_names who;
	struct peer_grant g;
	json_t *members;
	char *text;
	int rc = record_load(peer_grant_frame.fields, 0, a->answer, &g, NULL, err);

	if (rc < 0 || !g.certificate || !g.pool || !g.name || !json_is_object(g.members) ||
	    pki_names(g.certificate, &who, err) < 0)
		return err_set(err, -EPROTO, "the answer has no certificate");
	members = json_deep_copy(g.members);
	json_object_set_new(members, g.name, json_pack("[s,I]", where, (json_int_t)JOIN_AUTHORITY));
	snprintf(c->pool, sizeof c->pool, "%.*s", PEER_NAME_SIZE - 1, g.pool);
	text = json_dumps(members, JSON_INDENT(1));
	rc = pool_home_write(h, "members.json", 0644, text, err);
	free(text);
	json_decref(members);
	if (rc == 0)
		rc = pool_home_write(h, "ca.crt", 0644, ca, err);
	if (rc == 0)
		rc = pool_home_write(h, "node.key", 0600, key, err);
	if (rc == 0)
		rc = pool_home_write(h, "node.crt", 0644, g.certificate, err);
	return rc < 0 ? rc : pool_conf_store(h, c, err);
}

/* Finds the station with the pool of that token by multicast. */
static int seed_find(const struct token *t, char *ret, size_t size, struct err *err)
{
	struct discover ask = {.asks = true}, answer;
	struct sockaddr_in from;
	int fd = discover_open(false);

	if (fd < 0)
		return err_set(err, fd, "multicast can't be used: %s", strerror(-fd));
	snprintf(ask.print, sizeof ask.print, "%.*s", DISCOVER_PRINT, t->fingerprint);
	for (int i = 0; i < FIND_TRIES; i++) {
		discover_send(fd, &ask);
		poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, FIND_MS);
		while (discover_take(fd, &answer, &from))
			if (!answer.asks && strcmp(answer.print, ask.print) == 0) {
				char address[INET_ADDRSTRLEN] = "";
				inet_ntop(AF_INET, &from.sin_addr, address, sizeof address);
				snprintf(ret, size, "%s:%d", address, answer.port);
				close(fd);
				return 0;
			}
	}
	close(fd);
	return err_set(
		err, -EHOSTUNREACH,
		"no station of that pool answers in this network: name the one that created it, as in 'shunt pool join oak'");
}

int pool_join(const struct pool_home *h, struct pool_conf *c, const char *seed, const char *token, struct err *err)
{
	struct strbuf key = {0}, ca = {0};
	struct token t;
	struct asking a = {.name = c->name, .token = &t};
	char host[256], port[8], where[PEER_WHERE_SIZE];
	int rc = token_parse(token, &t, err);

	if (rc == 0 && !seed) {
		rc = seed_find(&t, where, sizeof where, err);
		seed = where;
	}
	if (rc == 0 && !strchr(seed, ':')) {
		if (strlen(seed) >= sizeof host)
			rc = err_set(err, -EINVAL, "a host's name has at most %zu characters", sizeof host - 1);
		snprintf(host, sizeof host, "%.*s", (int)sizeof host - 1, seed);
		snprintf(port, sizeof port, "%d", POOL_PORT);
	} else if (rc == 0) {
		rc = where_parse(seed, host, sizeof host, port, sizeof port, err);
	}
	if (rc == 0 && (rc = pki_key(&key, err)) == 0)
		rc = pki_request(strbuf_text(&key), &a.csr, err);
	if (rc == 0)
		rc = ask(host, port, &a, &ca, err);
	snprintf(where, sizeof where, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
	if (rc == 0)
		rc = answer_store(h, c, &a, strbuf_text(&key), strbuf_text(&ca), where, err);
	json_decref(a.answer);
	strbuf_fini(&a.csr);
	strbuf_fini(&key);
	strbuf_fini(&ca);
	return rc;
}
