/*
 * realm.c - this server's membership in its cluster: the authority that signs certificates, the
 * secret that job tokens are derived from, and the list of servers.
 *
 * All of it is in the store, so that it moves with a backup and is shared by two servers. The
 * server's own key is not: it is made at each start, lives in memory only, and the authority signs
 * it. So an old disk reveals nothing that lets its reader pass for a server, except the store
 * itself, which only the server's account can read (0600).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <jansson.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/codec.h"
#include "base/descriptors.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "engine/engine.h"
#include "engine/errands.h"
#include "engine/files.h"
#include "engine/tasks.h"
#include "net/http.h"
#include "net/listener.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/book/ledger.h"
#include "server/node/nodes.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/settings/objects.h"
#include "server/settings/overlays.h"
#include "server/site/realm.h"
#include "server/site/revoke.h"
#include "store/store.h"
#include "tls/pki.h"
#include "tls/tls.h"

#define PORT "7722"
#define LIFE INT64_C(31536000) /* lifetime of the server's certificate, seconds */
#define RETRY 3600	       /* seconds until a failed renewal is tried again */
#define SERVERS_MAX 4	       /* addresses given to others, most recently seen first */
/* seconds since its last registration after which another server counts as gone */
#define SEEN_MAX 600
/* seconds since its last registration after which it counts as late: two registrations were
 * missed */
#define SEEN_LATE 150
#define FORGET (30 * 86400) /* seconds since its last registration after which it is forgotten */
#define ADDRESSES_MAX 64    /* maximum addresses of this machine in its certificate */
#define HANDSHAKE 10	    /* seconds */

/* Another server of this cluster as it has registered itself: a standby, a former leader, or one
 * that was moved. */
struct peer_server {
	char *owner, *address; /* address NULL: it has no port */
	int64_t seen;	       /* instant of its last registration */
	bool jobs;	       /* it runs jobs on its own machine */
	bool stopped;	       /* it was stopped in order */
};

/* This server's certificate and peers; owned by the server. */
struct identity {
	struct tls_context *tls;   /* for incoming connections */
	struct tls_context *calls; /* for outgoing connections */
	uv_timer_t renewal;
	int64_t until;			 /* expiry of this server's certificate; 0: it has none */
	char address[300];		 /* "HOST:PORT"; "": no port is open */
	VEC(struct peer_server) servers; /* the other servers, most recently seen first */
};

static struct identity *identity_of(struct server *s)
{
	if (!s->realm->identity)
		s->realm->identity = mem_zalloc(sizeof *s->realm->identity);
	return s->realm->identity;
}

/* ---- the store ---- */

enum { AUTHORITY = 1 << 0, SECRET = 1 << 1 }; /* objects that store parts of the authority */

static const struct field authority_rows[] = {
	{"key", .is = IS_TEXT, .in = AUTHORITY | ALWAYS, MEMBER(struct authority, key)},
	{"cert", .is = IS_TEXT, .in = AUTHORITY | ALWAYS, MEMBER(struct authority, cert)},
	{"secret", .is = IS_TEXT, .in = SECRET | ALWAYS, MEMBER(struct authority, secret)},
	{0},
};

static const struct field peer_rows[] = {
	{"address", .is = IS_TEXT, MEMBER(struct peer_server, address)},
	{"seen", .is = IS_INT, MEMBER(struct peer_server, seen)},
	{"jobs", .is = IS_BOOL, MEMBER(struct peer_server, jobs)},
	{"stopped", .is = IS_BOOL, MEMBER(struct peer_server, stopped)},
	{0},
};

static int authority_read(struct server *s, const json_t *o, struct err *err)
{
	struct authority *own = &s->realm->authority, x = {0};
	int rc = record_load(authority_rows, AUTHORITY, o, &x, NULL, err);

	if (rc == 0 && !(x.key && x.cert))
		rc = err_set(err, -EINVAL, "the authority has no key or no certificate");
	if (rc == 0)
		rc = pki_fingerprint(x.cert, x.fingerprint, err);
	if (rc < 0) {
		record_free(authority_rows, &x);
		return rc;
	}
	x.secret = own->secret;
	own->secret = NULL;
	record_free(authority_rows, own); /* a standby has read them before */
	*own = x;
	return 0;
}

static int secret_read(struct server *s, const json_t *o, struct err *err)
{
	struct authority x = {0};
	int rc = record_load(authority_rows, SECRET, o, &x, NULL, err);

	if (rc == 0 && !x.secret)
		rc = err_set(err, -EINVAL, "there is no secret in it");
	if (rc < 0)
		return rc;
	free(s->realm->authority.secret);
	s->realm->authority.secret = x.secret;
	return 0;
}

int realm_object(struct server *s, const char *name, const json_t *o, struct err *err)
{
	if (strcmp(name, "authority") == 0)
		return authority_read(s, o, err);
	if (strcmp(name, "secret") == 0)
		return secret_read(s, o, err);
	return 0;
}

static int load_one(void *context, const char *name, const char *value)
{
	json_t *o = json_loads(value, 0, NULL);

	if (o)
		realm_object(context, name, o, NULL);
	json_decref(o);
	return 0;
}

int realm_load(struct server *s, struct err *err)
{
	return store_get_objects(s->store, "cluster", load_one, s, err);
}

static int authority_make(struct server *s, struct err *err)
{
	struct strbuf key = {0}, cert = {0};
	char fingerprint[FINGERPRINT_SIZE];
	int rc = pki_authority(s->instance->name, &key, &cert, err);

	if (rc == 0)
		rc = pki_fingerprint(cert.text, fingerprint, err);
	if (rc == 0) {
		s->realm->authority.key = mem_strdup(key.text);
		s->realm->authority.cert = mem_strdup(cert.text);
		memcpy(s->realm->authority.fingerprint, fingerprint, sizeof fingerprint);
		record_put(s, "cluster", "authority", authority_rows, AUTHORITY, &s->realm->authority);
	}
	strbuf_fini(&key);
	strbuf_fini(&cert);
	return rc;
}

static void secret_make(struct server *s)
{
	char half[2][64], both[128];

	secret_random(half[0]);
	secret_random(half[1]);
	snprintf(both, sizeof both, "%s%s", half[0], half[1]);
	s->realm->authority.secret = mem_strdup(both);
	record_put(s, "cluster", "secret", authority_rows, SECRET, &s->realm->authority);
}

int realm_begin(struct server *s, struct err *err)
{
	int rc = s->realm->authority.key ? 0 : authority_make(s, err);

	if (rc < 0)
		return err_prefix(err, rc, "the cluster's authority");
	if (!s->realm->authority.secret)
		secret_make(s);
	return 0;
}

/* ---- the servers ---- */

int realm_register(struct server *s, bool stopped, struct err *err)
{
	struct peer_server own = {.address = (char *)realm_address(s),
				  .seen = s->clock->now,
				  .jobs = s->hosts->here > 0,
				  .stopped = stopped};
	struct strbuf text = {0}, name = {0};

	strbuf_printf(&name, "server:%s", s->realm->owner);
	record_store_text(peer_rows, 0, &own, NULL, &text);
	int rc = store_register(s->store, "cluster", name.text, text.text, err);
	strbuf_fini(&text);
	strbuf_fini(&name);
	return rc;
}

static int server_read(void *context, const char *name, const char *value)
{
	struct server *s = context;
	struct identity *id = s->realm->identity;
	struct peer_server x = {0};
	json_t *o;
	size_t at = 0;

	if (strncmp(name, "server:", 7) != 0 || strcmp(name + 7, s->realm->owner) == 0)
		return 0;
	o = json_loads(value, 0, NULL);
	int rc = record_load(peer_rows, 0, o, &x, NULL, NULL);
	json_decref(o);
	if (rc < 0 || s->clock->now - x.seen >= FORGET) {
		record_free(peer_rows, &x);
		return 0;
	}
	x.owner = mem_strdup(name + 7);
	while (at < id->servers.n && id->servers.v[at].seen >= x.seen)
		at++;
	vec_insert(&id->servers, at, x);
	return 0;
}

static void servers_clear(struct identity *id)
{
	for (size_t i = 0; i < id->servers.n; i++) {
		free(id->servers.v[i].owner);
		free(id->servers.v[i].address);
	}
	vec_clear(&id->servers);
}

static void servers_text(const struct server *s, struct strbuf *out)
{
	struct json j;

	json_init(&j, out, false);
	json_open_array(&j, NULL);
	realm_servers(s, &j);
	json_close_array(&j);
}

int realm_look(struct server *s, bool *ret_changed, struct err *err)
{
	struct identity *id = identity_of(s);
	struct strbuf before = {0}, now = {0};

	servers_text(s, &before);
	servers_clear(id);
	int rc = store_get_objects(s->store, "cluster", server_read, s, err);
	servers_text(s, &now);
	if (ret_changed)
		*ret_changed = strcmp(before.text, now.text) != 0;
	strbuf_fini(&before);
	strbuf_fini(&now);
	return rc;
}

const char *realm_other(const struct server *s, bool any, bool *ret_jobs)
{
	for (size_t i = 0; i < s->realm->identity->servers.n; i++) {
		const struct peer_server *x = &s->realm->identity->servers.v[i];
		if (x->stopped || s->clock->now - x->seen > SEEN_MAX || !(any || x->jobs))
			continue;
		*ret_jobs = x->jobs && !any;
		return x->address ? x->address : x->owner;
	}
	return NULL;
}

/* ---- this server's certificate ---- */

static void host_add(struct strbuf *hosts, const char *host)
{
	if (*host && !strchr(host, ' '))
		strbuf_printf(hosts, "%s%s", hosts->n ? " " : "", host);
}

/* Lists the names and addresses of this machine. Only foreign programs (curl) check them. */
static void hosts_list(const struct server *s, struct strbuf *hosts)
{
	struct ifaddrs *all = NULL;
	char text[INET6_ADDRSTRLEN], name[256] = "";
	int n = 0;

	gethostname(name, sizeof name - 1);
	host_add(hosts, s->instance->host);
	if (strcmp(name, s->instance->host) != 0)
		host_add(hosts, name);
	host_add(hosts, "localhost");
	snprintf(name, sizeof name, "%.*s", (int)strcspn(s->conf->address, ":"), s->conf->address);
	if (*s->conf->address && *s->conf->address != '[' && strcmp(name, s->instance->host) != 0)
		host_add(hosts, name);
	if (getifaddrs(&all) < 0)
		return;
	for (const struct ifaddrs *i = all; i && n < ADDRESSES_MAX; i = i->ifa_next) {
		const struct sockaddr *a = i->ifa_addr;
		const void *bytes = !a			      ? NULL
				    : a->sa_family == AF_INET ? (const void *)&((const struct sockaddr_in *)a)->sin_addr
				    : a->sa_family == AF_INET6
					    ? (const void *)&((const struct sockaddr_in6 *)a)->sin6_addr
					    : NULL;
		if (!bytes || !inet_ntop(a->sa_family, bytes, text, sizeof text))
			continue;
		host_add(hosts, text);
		n++;
	}
	freeifaddrs(all);
}

/* Sets up file transfers between this machine and others; files of hosts outside the cluster are
 * kept here. */
void realm_files(struct server *s)
{
	struct errands *e = engine_errands(s->engine);
	struct strbuf keep = {0};

	strbuf_printf(&keep, "%s/undelivered", s->instance->where.state);
	if (e && s->realm->authority.cert)
		files_identify(errands_files(e), &(struct files_identity){.name = HOST_HERE,
									  .ca = s->realm->authority.cert,
									  .keep = keep.text,
									  .tls = realm_tls(s),
									  .revoked = revoked_list(s)});
	strbuf_fini(&keep);
}

static int identity_make(struct server *s, struct err *err)
{
	struct cert_names names = {.role = CERT_SERVER};
	struct strbuf key = {0}, csr = {0}, cert = {0}, hosts = {0};
	struct tls_context *tls = NULL, *calls = NULL;
	int rc;

	snprintf(names.name, sizeof names.name, "%s", s->instance->name);
	hosts_list(s, &hosts);
	rc = pki_key(&key, err);
	if (rc == 0)
		rc = pki_request(key.text, &csr, err);
	if (rc == 0)
		rc = pki_issue(s->realm->authority.key, s->realm->authority.cert, csr.text, csr.n, &names, hosts.text,
			       LIFE, &cert, err);
	if (rc == 0) {
		struct tls_options o = {.cert = cert.text, .key = key.text, .ca = s->realm->authority.cert};
		rc = tls_context_create(&o, true, &tls, err);
		/* agents.c sends a removed node that calls us the reason */
		o.revoked = revoked_list(s);
		if (rc == 0 && (rc = tls_context_create(&o, false, &calls, err)) < 0)
			tls_context_free(tls);
	}
	if (rc == 0) {
		if (s->realm->listener)
			listener_identity(s->realm->listener, tls);
		if (s->realm->tasks)
			tasks_identity(s->realm->tasks, tls);
		if (s->realm->tasks)
			tasks_identity(s->realm->tasks, calls);
		tls_context_free(s->realm->identity->tls);
		tls_context_free(s->realm->identity->calls);
		s->realm->identity->tls = tls;
		s->realm->identity->calls = calls;
		s->realm->identity->until = s->clock->now + LIFE;
		realm_files(s);
	}
	strbuf_fini(&key);
	strbuf_fini(&csr);
	strbuf_fini(&cert);
	strbuf_fini(&hosts);
	return rc < 0 ? err_prefix(err, rc, "this server's certificate") : 0;
}

static void on_renewal(uv_timer_t *t)
{
	struct server *s = t->data;
	struct err err;
	int rc = identity_make(s, &err);

	if (rc < 0)
		server_log(s, SEVERITY_ERROR, "%s (trying again in an hour)", err.text);
	uv_timer_start(t, on_renewal, (uint64_t)(rc < 0 ? RETRY : LIFE / 3 * 2) * 1000, 0);
}

int64_t realm_certified(const struct server *s)
{
	return s->realm->identity ? s->realm->identity->until : 0;
}

struct tls_context *realm_tls(struct server *s)
{
	return s->realm->identity ? s->realm->identity->calls : NULL;
}

/* ---- the port ---- */

static void on_http(void *context, int fd, const char *address)
{
	struct server *s = context;
	struct err err;

	if (http_adopt(s->http, fd, address, &err) < 0)
		server_log(s, SEVERITY_WARNING, "a connection from %s could not be served: %s", address, err.text);
}

/* Returns the address to listen on; NULL: none. A trial of system mode ($SHUNT_HOME) does not
 * take the system's port. */
static const char *listen_where(const struct server *s)
{
	if (strcmp(s->conf->listen, "none") == 0)
		return NULL;
	if (*s->conf->listen)
		return s->conf->listen;
	return s->instance->where.system ? PORT : overlays_listen(s);
}

/* Computes address and port for others: the configured ones; else the address it listens on, if
 * it is a specific one; else the host's name. */
void realm_locate(struct server *s)
{
	const char *given = s->conf->address, *end = strchr(given, ']'), *where = listen_where(s);
	char host[256] = "", *address = identity_of(s)->address;
	size_t size = sizeof s->realm->identity->address;
	int port = 0;

	if (!where)
		return;

	if (*given && strchr(end ? end : given, ':')) {
		snprintf(address, size, "%s", given);
		return;
	}
	conf_listen_parse(where, host, sizeof host, &port, NULL);
	if (s->realm->listener)
		port = listener_port(s->realm->listener);
	if (!port) /* any port: it is known once it is open */
		return;
	if (*given)
		snprintf(host, sizeof host, "%s", given);
	else if (!*host || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0 || strcmp(host, "*") == 0)
		gethostname(host, sizeof host - 1);
	bool v6 = strchr(host, ':') && host[0] != '[';
	snprintf(address, size, "%s%s%s:%d", v6 ? "[" : "", host, v6 ? "]" : "", port);
}

/* Closes an idle connection to make room for another. */
static bool on_room(void *context)
{
	struct server *s = context;

	return s->http && http_make_room(s->http, false);
}

int realm_listen(struct server *s, void (*link)(void *context, struct link *l), struct err *err)
{
	/* each connection needs three: its own, and a pair of sockets */
	int room = descriptors_left() / 12 + 4;
	struct listener_events events = {.link = link, .http = on_http, .room = on_room};
	struct listener_limits limits = {
		.connections = (int)s->conf->connections,
		.strangers = room < s->conf->api_connections ? room : (int)s->conf->api_connections,
		.strangers_per_address = (int)s->conf->api_connections_per_user,
		.askers_by_user = true,
		.links_per_host = (int)(s->conf->connections / 8 > 64 ? s->conf->connections / 8 : 64),
		.handshake_seconds = HANDSHAKE,
		.idle_seconds = (int)s->conf->api_idle,
	};
	const char *where = listen_where(s);
	int rc;

	if (!where || s->realm->listener) /* a standby has opened it before */
		return 0;
	if ((rc = identity_make(s, err)) < 0)
		return rc;
	rc = listener_open(s->loop, where, s->realm->identity->tls, &limits, &events, s, &s->realm->listener, err);
	/* its previous port is taken */
	if (rc < 0 && !*s->conf->listen && !s->instance->where.system)
		rc = listener_open(s->loop, "0", s->realm->identity->tls, &limits, &events, s, &s->realm->listener,
				   err);
	if (rc < 0)
		return err_prefix(err, rc, "listen in section [cluster]");
	if (!*s->conf->listen && !s->instance->where.system)
		overlays_opened(s, listener_port(s->realm->listener));
	realm_locate(s);
	uv_timer_init(s->loop, &s->realm->identity->renewal);
	s->realm->identity->renewal.data = s;
	uv_timer_start(&s->realm->identity->renewal, on_renewal, (uint64_t)LIFE / 3 * 2 * 1000, 0);
	server_log(s, SEVERITY_NOTICE, "other machines: port %d, called %s, authority %.32s",
		   listener_port(s->realm->listener), s->realm->identity->address, s->realm->authority.fingerprint);
	return 0;
}

void realm_close(struct server *s)
{
	if (!s->realm->listener)
		return;
	uv_timer_stop(&s->realm->identity->renewal);
	listener_close(s->realm->listener);
	s->realm->listener = NULL;
}

int realm_certify(struct server *s, const char *csr, size_t n, const char *node, uint64_t join, struct strbuf *ret_cert,
		  struct err *err)
{
	struct cert_names names = {.role = CERT_NODE, .join = join};

	snprintf(names.name, sizeof names.name, "%s", node);
	return pki_issue(s->realm->authority.key, s->realm->authority.cert, csr, n, &names, NULL,
			 s->conf->certificate_life, ret_cert, err);
}

/* ---- information for others ---- */

const char *realm_address(const struct server *s)
{
	return s->realm->identity ? s->realm->identity->address : "";
}

void realm_servers(const struct server *s, struct json *j)
{
	const char *own = realm_address(s);
	int n = 0;

	if (*own) {
		json_text(j, NULL, own);
		n++;
	}
	for (size_t i = 0; s->realm->identity && i < s->realm->identity->servers.n && n < SERVERS_MAX; i++) {
		const char *address = s->realm->identity->servers.v[i].address;
		if (!address || strcmp(address, own) == 0)
			continue;
		json_text(j, NULL, address);
		n++;
	}
}

struct peer_shown {
	const char *address, *role;
	int64_t seen;
};

const struct schema peer_schema = {FIELDS(
	{"address", .is = REQUIRED | IS_TEXT, MEMBER(struct peer_shown, address)},
	{"role", .is = REQUIRED | IS_TEXT, .words = "leader|standby|silent|stopped", MEMBER(struct peer_shown, role)},
	{"seen", .is = REQUIRED | IS_INSTANT, "when it was heard of last", MEMBER(struct peer_shown, seen)})};

/* Writes this server and what is known of the others: a standby registers every minute. */
void realm_roles(const struct server *s, struct json *j)
{
	struct peer_shown own = {realm_address(s), "leader", s->clock->now};

	if (*own.address)
		schema_show(&peer_schema, NULL, &own, NULL, j);
	for (size_t i = 0; s->realm->identity && i < s->realm->identity->servers.n; i++) {
		const struct peer_server *x = &s->realm->identity->servers.v[i];
		bool late = s->clock->now - x->seen > SEEN_LATE;
		struct peer_shown other = {x->address ? x->address : x->owner,
					   x->stopped ? "stopped"
					   : late     ? "silent"
						      : "standby",
					   x->seen};
		schema_show(&peer_schema, NULL, &other, NULL, j);
	}
}

json_t *agents_servers(const struct server *s)
{
	struct strbuf text = {0};
	json_t *list;

	servers_text(s, &text);
	list = json_loads(text.text, 0, NULL);
	strbuf_fini(&text);
	return list;
}
