/*
 * cluster.c - what makes this server the one of its cluster: the authority that signs certificates, the secret that job tokens
 * are derived from, and the epoch by which agents know who leads.
 *
 * All three are in the store, so that they move with a backup, and both of two servers have them. The server's own key is not: it is made
 * at each start, lives in memory only, and the authority signs it. Whoever reads an old disk learns nothing that lets him pass for a server
 * but the store itself, which is the server's account's alone (0600).
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/tasks.h"
#include "server/server_internal.h"
#include "tls/tls.h"

#define PORT "7722"
#define LIFE INT64_C(31536000) /* seconds, of the server's certificate */
#define RETRY 3600	       /* seconds, when it could not be renewed */
#define SERVERS_MAX 4	       /* addresses that are remembered: a standby, a machine that it was moved from */
#define ADDRESSES_MAX 64       /* of this machine, in its certificate */
#define HANDSHAKE 10	       /* seconds */

/* Owned by the server. */
struct identity {
	struct tls_context *tls;   /* for those who call us, */
	struct tls_context *calls; /* ... and for those whom we call */
	uv_timer_t renewal;
	char address[300];	   /* "HOST:PORT"; "": no port is open */
	char *server[SERVERS_MAX]; /* where others were that led this cluster; NULL at the end */
	uint64_t epoch;		   /* the last one's */
};

static struct identity *identity_of(struct server *s)
{
	if (!s->identity)
		s->identity = mem_zalloc(sizeof *s->identity);
	return s->identity;
}

/* ---- the store ---- */

static char *text_copy(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text && *text ? mem_strdup(text) : NULL;
}

static int authority_read(struct server *s, const json_t *o, struct err *err)
{
	char *key = text_copy(o, "key"), *cert = text_copy(o, "cert");
	char fingerprint[FINGERPRINT_SIZE];
	int rc = key && cert ? pki_fingerprint(cert, fingerprint, err)
			     : err_set(err, -EINVAL, "the authority has no key or no certificate");

	if (rc < 0) {
		free(key);
		free(cert);
		return rc;
	}
	s->authority.key = key;
	s->authority.cert = cert;
	memcpy(s->authority.fingerprint, fingerprint, sizeof fingerprint);
	return 0;
}

static void lead_read(struct server *s, const json_t *o)
{
	struct identity *id = identity_of(s);
	const json_t *v;
	size_t i;

	id->epoch = (uint64_t)json_integer_value(json_object_get(o, "epoch"));
	json_array_foreach(json_object_get(o, "servers"), i, v)
	{
		if (i < SERVERS_MAX && json_is_string(v))
			id->server[i] = mem_strdup(json_string_value(v));
	}
}

int cluster_object(struct server *s, const char *name, const json_t *o, struct err *err)
{
	if (strcmp(name, "authority") == 0)
		return authority_read(s, o, err);
	if (strcmp(name, "lead") == 0)
		lead_read(s, o);
	if (strcmp(name, "secret") == 0 && !(s->authority.secret = text_copy(o, "secret")))
		return err_set(err, -EINVAL, "there is no secret in it");
	return 0;
}

/* Puts an object of two texts; the second key may be NULL. */
static void object_put(struct server *s, const char *name, const char *key1, const char *text1, const char *key2,
		       const char *text2)
{
	struct strbuf text = {0};
	struct json j;

	json_init(&j, &text, false);
	json_open_object(&j, NULL);
	json_text(&j, key1, text1);
	if (key2)
		json_text(&j, key2, text2);
	json_close_object(&j);
	store_put_object(s->store, "cluster", name, text.text);
	strbuf_fini(&text);
}

static int authority_make(struct server *s, struct err *err)
{
	struct strbuf key = {0}, cert = {0};
	char fingerprint[FINGERPRINT_SIZE];
	int rc = pki_authority(s->name, &key, &cert, err);

	if (rc == 0)
		rc = pki_fingerprint(cert.text, fingerprint, err);
	if (rc == 0) {
		s->authority.key = mem_strdup(key.text);
		s->authority.cert = mem_strdup(cert.text);
		memcpy(s->authority.fingerprint, fingerprint, sizeof fingerprint);
		object_put(s, "authority", "key", key.text, "cert", cert.text);
	}
	strbuf_fini(&key);
	strbuf_fini(&cert);
	return rc;
}

static void secret_make(struct server *s)
{
	char half[2][64], both[128];

	token_secret(half[0]);
	token_secret(half[1]);
	snprintf(both, sizeof both, "%s%s", half[0], half[1]);
	s->authority.secret = mem_strdup(both);
	object_put(s, "secret", "secret", both, NULL, NULL);
}

static void lead_store(struct server *s)
{
	struct strbuf text = {0};
	struct json j;

	json_init(&j, &text, false);
	json_open_object(&j, NULL);
	json_int(&j, "epoch", (int64_t)s->epoch);
	json_text(&j, "address", s->identity->address);
	cluster_servers(s, &j, "servers");
	json_close_object(&j);
	store_put_object(s->store, "cluster", "lead", text.text);
	strbuf_fini(&text);
}

int cluster_begin(struct server *s, struct err *err)
{
	struct identity *id = identity_of(s);
	uint64_t now = (uint64_t)s->now_us / 1000;
	int rc = 0;

	if (!s->authority.key)
		rc = authority_make(s, err);
	if (rc < 0)
		return err_prefix(err, rc, "the cluster's authority");
	if (!s->authority.secret)
		secret_make(s);
	s->epoch = id->epoch + 1 > now ? id->epoch + 1 : now;
	lead_store(s);
	return 0;
}

/* ---- this server's certificate ---- */

static void host_add(struct strbuf *hosts, const char *host)
{
	if (*host && !strchr(host, ' '))
		strbuf_printf(hosts, "%s%s", hosts->n ? " " : "", host);
}

/* What others may call it: names, and every address it has. Only foreign programs look at them (curl). */
static void hosts_list(const struct server *s, struct strbuf *hosts)
{
	struct ifaddrs *all = NULL;
	char text[INET6_ADDRSTRLEN], name[256] = "";
	int n = 0;

	gethostname(name, sizeof name - 1);
	host_add(hosts, s->host);
	if (strcmp(name, s->host) != 0)
		host_add(hosts, name);
	host_add(hosts, "localhost");
	snprintf(name, sizeof name, "%.*s", (int)strcspn(s->conf.address, ":"), s->conf.address);
	if (*s->conf.address && *s->conf.address != '[' && strcmp(name, s->host) != 0)
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

static int identity_make(struct server *s, struct err *err)
{
	struct cert_names names = {.role = CERT_SERVER};
	struct strbuf key = {0}, csr = {0}, cert = {0}, hosts = {0};
	struct tls_context *tls = NULL, *calls = NULL;
	int rc;

	snprintf(names.name, sizeof names.name, "%s", s->name);
	hosts_list(s, &hosts);
	rc = pki_key(&key, err);
	if (rc == 0)
		rc = pki_request(key.text, &csr, err);
	if (rc == 0)
		rc = pki_issue(s->authority.key, s->authority.cert, csr.text, csr.n, &names, hosts.text, LIFE, &cert,
			       err);
	if (rc == 0) {
		struct tls_options o = {.cert = cert.text, .key = key.text, .ca = s->authority.cert};
		rc = tls_context_create(&o, true, &tls, err);
		if (rc == 0 && (rc = tls_context_create(&o, false, &calls, err)) < 0)
			tls_context_free(tls);
	}
	if (rc == 0) {
		if (s->listener)
			listener_identity(s->listener, tls);
		if (s->tasks)
			tasks_identity(s->tasks, tls);
		if (s->tasks)
			tasks_identity(s->tasks, calls);
		tls_context_free(s->identity->tls);
		tls_context_free(s->identity->calls);
		s->identity->tls = tls;
		s->identity->calls = calls;
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
		server_say(s, "%s (tried again in an hour)", err.text);
	uv_timer_start(t, on_renewal, (uint64_t)(rc < 0 ? RETRY : LIFE / 3 * 2) * 1000, 0);
}

struct tls_context *cluster_tls(struct server *s)
{
	return s->identity ? s->identity->calls : NULL;
}

/* ---- the port ---- */

static void on_link(void *context, struct link *l)
{
	agents_link(context, l);
}

static void on_http(void *context, int fd, const char *address)
{
	struct server *s = context;
	struct err err;

	if (http_adopt(s->http, fd, address, &err) < 0)
		server_say(s, "a connection from %s could not be served: %s", address, err.text);
}

/* What to open; NULL: nothing. A try-out of the system's mode ($SHUNT_HOME) does not take the system's port. */
static const char *listen_where(const struct server *s)
{
	if (strcmp(s->conf.listen, "none") == 0)
		return NULL;
	if (*s->conf.listen)
		return s->conf.listen;
	return s->where.system ? PORT : NULL;
}

/* Address and port as others need them: those of the configuration; else the address that it listens on, if that is one; else the host's name. */
static void address_find(struct server *s, const char *where)
{
	const char *given = s->conf.address, *end = strchr(given, ']');
	char host[256] = "", *address = s->identity->address;
	size_t size = sizeof s->identity->address;
	int port;

	if (*given && strchr(end ? end : given, ':')) {
		snprintf(address, size, "%s", given);
		return;
	}
	conf_listen_parse(where, host, sizeof host, &port, NULL);
	if (*given)
		snprintf(host, sizeof host, "%s", given);
	else if (!*host || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0 || strcmp(host, "*") == 0)
		gethostname(host, sizeof host - 1);
	bool v6 = strchr(host, ':') && host[0] != '[';
	snprintf(address, size, "%s%s%s:%d", v6 ? "[" : "", host, v6 ? "]" : "", listener_port(s->listener));
}

int cluster_listen(struct server *s, struct err *err)
{
	struct listener_events events = {.link = on_link, .http = on_http};
	struct listener_limits limits = {
		.connections = (int)s->conf.connections,
		.strangers = (int)s->conf.api_connections,
		.strangers_per_address = (int)s->conf.api_connections_per_user,
		.handshake_seconds = HANDSHAKE,
		.idle_seconds = (int)s->conf.api_idle,
	};
	const char *where = listen_where(s);
	int rc;

	if (!where)
		return 0;
	if ((rc = identity_make(s, err)) < 0)
		return rc;
	rc = listener_open(s->loop, where, s->identity->tls, &limits, &events, s, &s->listener, err);
	if (rc < 0)
		return err_prefix(err, rc, "listen in section [cluster]");
	address_find(s, where);
	lead_store(s);
	uv_timer_init(s->loop, &s->identity->renewal);
	s->identity->renewal.data = s;
	uv_timer_start(&s->identity->renewal, on_renewal, (uint64_t)LIFE / 3 * 2 * 1000, 0);
	server_say(s, "other machines: port %d, called %s, authority %.32s", listener_port(s->listener),
		   s->identity->address, s->authority.fingerprint);
	return 0;
}

void cluster_close(struct server *s)
{
	if (!s->listener)
		return;
	uv_timer_stop(&s->identity->renewal);
	listener_close(s->listener);
	s->listener = NULL;
}

int cluster_certify(struct server *s, const char *csr, size_t n, const char *node, uint64_t join,
		    struct strbuf *ret_cert, struct err *err)
{
	struct cert_names names = {.role = CERT_NODE, .join = join};

	snprintf(names.name, sizeof names.name, "%s", node);
	return pki_issue(s->authority.key, s->authority.cert, csr, n, &names, NULL, s->conf.certificate_life, ret_cert,
			 err);
}

/* ---- what others are told ---- */

const char *cluster_address(const struct server *s)
{
	return s->identity ? s->identity->address : "";
}

void cluster_servers(const struct server *s, struct json *j, const char *key)
{
	const char *own = cluster_address(s);
	int n = 0;

	json_open_array(j, key);
	if (*own) {
		json_text(j, NULL, own);
		n++;
	}
	for (int i = 0; i < SERVERS_MAX && s->identity && s->identity->server[i] && n < SERVERS_MAX; i++)
		if (strcmp(s->identity->server[i], own) != 0) {
			json_text(j, NULL, s->identity->server[i]);
			n++;
		}
	json_close_array(j);
}

void api_cluster(struct server *s, struct http_request *r, const struct asker *w)
{
	struct strbuf out = {0};
	struct json j;

	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	json_text(&j, "name", s->name);
	cluster_servers(s, &j, "servers");
	json_text(&j, "fingerprint", s->authority.fingerprint);
	json_text(&j, "ca", s->authority.cert);
	json_text(&j, "version", SHUNT_VERSION);
	json_text(&j, "leader", *cluster_address(s) ? cluster_address(s) : NULL);
	json_int(&j, "epoch", (int64_t)s->epoch);
	json_close_object(&j);
	http_reply_strbuf(r, 200, "application/json", &out);
	strbuf_fini(&out);
}
