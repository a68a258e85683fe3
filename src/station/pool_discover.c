/*
 * pool_discover.c - the daemon's side of discovery (discover.h): announces its address from time to
 * time, answers newcomers if it has the authority, and tries the announced address of stations that
 * it cannot reach.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/logline.h"
#include "base/tcp.h"
#include "station/discover.h"
#include "station/pool_internal.h"

#define SAY_MS 30000

static void on_message(uv_poll_t *u, int status, int events)
{
	struct pool *p = u->data;
	struct sockaddr_in from;
	struct discover d;

	while (discover_take(p->discover.fd, &d, &from)) {
		char address[INET_ADDRSTRLEN], where[PEER_WHERE_SIZE];
		const struct pool_entry *e;
		if (strcmp(d.print, p->discover.mine.print) != 0 || strcmp(d.name, p->conf.name) == 0)
			continue;
		if (d.asks) {
			if (p->discover.authority)
				discover_answer(p->discover.fd, &p->discover.mine, &from);
			continue;
		}
		e = pool_table_find(&p->table, d.name);
		if (!e || e->linked || e->removed || !inet_ntop(AF_INET, &from.sin_addr, address, sizeof address))
			continue;
		snprintf(where, sizeof where, "%s:%d", address, d.port);
		if (member_learn(p, d.name, where, e->member.join))
			members_store(p);
	}
}

void discover_tick(struct pool *p, int64_t now)
{
	if (p->discover.fd < 0 || now < p->discover.say_at)
		return;
	p->discover.say_at = now + SAY_MS;
	discover_send(p->discover.fd, &p->discover.mine);
}

/* Returns the address at which "ADDRESS:PORT" listens; INADDR_ANY: all, or a name. */
static struct in_addr listens_at(const char *listen)
{
	char host[INET_ADDRSTRLEN], port[8];
	struct in_addr a = {INADDR_ANY};

	if (where_parse(listen, host, sizeof host, port, sizeof port, NULL) == 0)
		inet_pton(AF_INET, host, &a);
	return a;
}

/* Starts discovery. The pool works without it, so errors are only logged. */
void discover_start(struct pool *p)
{
	struct strbuf cert = {0}, path = {0};
	char print[FINGERPRINT_SIZE] = "";

	p->discover.fd = -1;
	if (!p->conf.multicast || pool_home_read(&p->home, "ca.crt", &cert, NULL) < 0 ||
	    pki_fingerprint(strbuf_text(&cert), print, NULL) < 0) {
		strbuf_fini(&cert);
		return;
	}
	strbuf_fini(&cert);
	snprintf(p->discover.mine.print, sizeof p->discover.mine.print, "%.*s", DISCOVER_PRINT, print);
	snprintf(p->discover.mine.name, sizeof p->discover.mine.name, "%s", p->conf.name);
	p->discover.mine.port = p->port;
	p->discover.mine.only = listens_at(p->conf.listen);
	pool_home_path(&p->home, "ca.key", &path);
	p->discover.authority = access(path.text, R_OK) == 0;
	strbuf_fini(&path);
	p->discover.fd = discover_open(true);
	if (p->discover.fd < 0) {
		log_line(SEVERITY_WARNING, "multicast discovery is not available: %s", strerror(-p->discover.fd));
		return;
	}
	uv_poll_init(p->loop, &p->discover.poll, p->discover.fd);
	p->discover.poll.data = p;
	uv_poll_start(&p->discover.poll, UV_READABLE, on_message);
}

void discover_stop(struct pool *p)
{
	if (p->discover.fd < 0)
		return;
	uv_close((uv_handle_t *)&p->discover.poll, NULL);
	close(p->discover.fd);
	p->discover.fd = -1;
}
