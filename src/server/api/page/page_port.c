/*
 * page_port.c - the page's port: for a personal instance a port of 127.0.0.1, for a system's server
 * the port of [page] listen, over TLS.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "net/address.h"
#include "net/http.h"
#include "net/listener.h"
#include "server/api/page/page.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/realm.h"
#include "tls/tls.h"

#define HANDSHAKE 10 /* maximum seconds for a TLS handshake */

/* ---- personal instances ---- */

static int port_recall(const char *path)
{
	FILE *f = fopen(path, "re");
	int port = 0;

	if (f && fscanf(f, "%d", &port) != 1)
		port = 0;
	if (f)
		fclose(f);
	return port > 0 && port < 65536 ? port : 0;
}

static void port_remember(const char *path, int port)
{
	char text[16];

	file_replace(path, 0600, text, (size_t)snprintf(text, sizeof text, "%d\n", port), 0);
}

static void personal_open(struct server *s)
{
	char path[PATH_MAX], where[32];
	struct err err;
	int fd[2], n = -1, port;

	snprintf(path, sizeof path, "%s/page.port", s->instance->where.state);
	port = port_recall(path);
	for (int any = port == 0; any < 2 && n < 0; any++) {
		snprintf(where, sizeof where, "127.0.0.1:%d", any ? 0 : port);
		n = sockets_listen(where, fd, &s->realm->page_port, &err);
	}
	if (n < 0) {
		s->realm->page_port = 0;
		server_log(s, SEVERITY_ERROR, "the page can't be served: %s", err.text);
		return;
	}
	port_remember(path, s->realm->page_port);
	http_listen_page(s->http, fd[0]);
}

/* ---- system servers ---- */

static void on_http(void *context, int fd, const char *address)
{
	struct server *s = context;
	struct err err;

	if (http_adopt_page(s->http, fd, address, &err) < 0)
		server_log(s, SEVERITY_WARNING, "a browser at %s could not be served: %s", address, err.text);
}

/* Closes an idle connection to make room for another. */
static bool on_room(void *context)
{
	struct server *s = context;

	return s->http && http_make_room(s->http, true);
}

static int certificate_read(struct server *s, struct tls_context **ret, struct err *err)
{
	if (!*s->conf->page_certificate || !*s->conf->page_key)
		return err_set(err, -EINVAL, "certificate and key must be given as well");
	return tls_site_create(s->conf->page_certificate, s->conf->page_key, ret, err);
}

static void system_open(struct server *s)
{
	const struct listener_events events = {.http = on_http, .room = on_room};
	const struct listener_limits limits = {
		.strangers = (int)s->conf->api_connections,
		.strangers_per_address = (int)s->conf->api_connections_per_user,
		.askers_by_user = true,
		.handshake_seconds = HANDSHAKE,
		.idle_seconds = (int)s->conf->api_idle,
	};
	struct tls_context *tls = NULL;
	struct err err;
	int rc = certificate_read(s, &tls, &err);

	if (rc == 0)
		rc = listener_open(s->loop, s->conf->page_listen, tls, &limits, &events, s, &s->realm->page, &err);
	tls_context_free(tls);
	if (rc < 0) {
		server_log(s, SEVERITY_ERROR, "the page can't be served: [page] in the configuration: %s", err.text);
		return;
	}
	s->realm->page_port = listener_port(s->realm->page);
	server_log(s, SEVERITY_NOTICE, "page: port %d", s->realm->page_port);
}

void page_renew(struct server *s)
{
	struct tls_context *tls = NULL;
	struct err err;

	if (!s->realm->page)
		return;
	if (certificate_read(s, &tls, &err) < 0)
		server_log(s, SEVERITY_ERROR, "the page keeps its old certificate: %s", err.text);
	else
		listener_identity(s->realm->page, tls);
	tls_context_free(tls);
}

/* ---- both ---- */

void page_open(struct server *s)
{
	if (npage_files == 0 || s->realm->page_port)
		return;
	if (!s->instance->multi)
		personal_open(s);
	else if (*s->conf->page_listen && strcmp(s->conf->page_listen, "none") != 0)
		system_open(s);
}

void page_close(struct server *s)
{
	listener_close(s->realm->page);
	s->realm->page = NULL;
}

void page_url(const struct server *s, char *ret, size_t size)
{
	char host[256] = "127.0.0.1";

	if (s->realm->page && *s->conf->address)
		snprintf(host, sizeof host, "%.*s", (int)strcspn(s->conf->address, ":"), s->conf->address);
	else if (s->realm->page)
		gethostname(host, sizeof host - 1);
	snprintf(ret, size, "%s://%s:%d/", s->realm->page ? "https" : "http", host, s->realm->page_port);
}
