/*
 * choose.c - decides which server a command asks (docs/cluster.md), and opens it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unixsock.h"
#include "client/client_internal.h"
#include "tls/pki.h"

#define KNOCK 2000 /* ms for a socket of this host to accept a job's command */

/* ---- clusters ---- */

/* Returns the directory of the spool of this host's agent, new; its offer, if any, says which
 * cluster it belongs to. */
static char *agent_spool(void)
{
	const char *home = getenv("SHUNT_AGENT_HOME");
	char path[4096];

	snprintf(path, sizeof path, "%s/offline", home && *home == '/' ? home : "/var/lib/shunt-agent");
	return mem_strdup(path);
}

static void login_open(struct login *l, struct client **ret)
{
	char called[128];

	snprintf(called, sizeof called, "the cluster %s", l->name);
	struct route *r = route_create(called, l->servers);
	r->ca = l->ca;
	r->token = l->token;
	l->ca = l->token = NULL;
	*ret = client_create(called, r);
	(*ret)->offline = agent_spool();
	(*ret)->far = far_create(l->name, r->ca, r->token);
	login_fini(l);
}

int client_open_cluster(const char *name, struct client **ret, struct err *err)
{
	struct login l = {0};
	int rc = login_read(name, &l, err);

	if (rc == 0)
		login_open(&l, ret);
	return rc;
}

int client_open_token(const char *where, const char *token_text, struct client **ret, struct err *err)
{
	struct token t;
	int rc = token_parse(token_text, &t, err);

	if (rc < 0)
		return rc;
	if (where[strspn(where, " ")] == '\0' || strpbrk(where, "\t\r\n"))
		return err_set(err, -EINVAL, "\"%.100s\" is no server's address: write HOST or HOST:PORT", where);
	struct route *r = route_create(where, where);
	r->fingerprint = mem_strdup(t.fingerprint);
	r->token = mem_strdup(token_text);
	*ret = client_create(where, r);
	explicit_bzero(&t, sizeof t);
	return 0;
}

/* ---- inside a job ---- */

struct in_job {
	const char *token, *servers;
};

static bool job_find(struct in_job *j)
{
	j->token = getenv("SHUNT_TOKEN");
	j->servers = getenv("SHUNT_SERVERS");
	return j->token && *j->token && j->servers && *j->servers;
}

/* Returns true if the server of this client is the one that issued the token; asks it. */
static bool client_matches(struct client *c, const char *token_text)
{
	struct token t;
	struct reply r = {0};
	bool same = false;

	if (token_parse(token_text, &t, NULL) == 0 && client_ask(c, "GET", "/v1/cluster", NULL, 0, &r, NULL) == 0) {
		const char *print = json_string_value(json_object_get(r.json, "fingerprint"));
		same = print && strncmp(print, t.fingerprint, strlen(t.fingerprint)) == 0;
	}
	reply_fini(&r);
	return same;
}

/* Opens a socket of this host if the job's own server answers there. With SHUNT_HOME, which that
 * server sets, this is certain; otherwise the server is asked. */
static bool job_open_socket(const struct where *w, const struct in_job *j, struct client **ret)
{
	char socket[sizeof w->run + 16];

	snprintf(socket, sizeof socket, "%s/shuntd.sock", w->run);
	int fd = unix_connect(socket, KNOCK, NULL);
	if (fd < 0)
		return false;
	struct client *c = client_create(socket, NULL);
	c->fd = fd;
	if (w->home[0] || client_matches(c, j->token)) {
		*ret = c;
		return true;
	}
	client_close(c);
	return false;
}

/* The system's server may be the job's even if the user runs one of their own. */
static int job_open(const struct in_job *j, struct client **ret, struct err *err)
{
	struct where *w = mem_alloc(sizeof *w);
	bool done = (where_personal(w, NULL) == 0 && job_open_socket(w, j, ret)) ||
		    (!getenv("SHUNT_HOME") && where_system(w, NULL) == 0 && job_open_socket(w, j, ret));

	free(w);
	if (done)
		return 0;
	int rc = client_open_token(j->servers, j->token, ret, err);
	return rc < 0 ? err_prefix(err, rc, "SHUNT_TOKEN or SHUNT_SERVERS of this job") : 0;
}

/* ---- the order ---- */

static int local_open(const struct where *w, struct client **ret, struct err *err)
{
	char socket[sizeof w->run + 16];
	const char *keeper = getenv("SHUNT_KEEPER");

	snprintf(socket, sizeof socket, "%s/shuntd.sock", w->run);
	/* refused: its jobs would wait for nodes for which it submits jobs */
	if (keeper && strcmp(keeper, socket) == 0)
		return err_set(err, -ELOOP,
			       "an overlay can't request nodes from its own server: name another one, as in "
			       "'shunt overlay add shunt:CLUSTER' ('shunt clusters' lists them)");
	*ret = client_create(socket, NULL);
	(*ret)->offline = mem_zalloc(sizeof w->state + 16);
	snprintf((*ret)->offline, sizeof w->state + 16, "%s/offline", w->state);
	return 0;
}

int client_open(struct client **ret, struct err *err)
{
	const char *name = getenv("SHUNT_CLUSTER"), *socket = getenv("SHUNT_SOCKET");
	struct login l = {0};
	struct in_job job;
	struct where w;
	bool in_job;
	int rc;

	if (socket && *socket) { /* the server that started this program */
		*ret = client_create(socket, NULL);
		return 0;
	}
	in_job = job_find(&job);
	rc = name && *name ? client_open_cluster(name, ret, err) : -ENOENT;

	/* A job inherits the variable, but not the user's files, from the submitting host. */
	if (rc != -ENOENT || (name && *name && !in_job))
		return rc;
	if (in_job)
		return job_open(&job, ret, err);
	if ((rc = where_find(&w, err)) < 0)
		return rc;
	if (w.home[0] || where_has_socket(&w))
		return local_open(&w, ret, err);
	rc = login_choose(&l, err);
	if (rc == 0)
		login_open(&l, ret);
	return rc == -ENOENT ? local_open(&w, ret, err) : rc;
}
