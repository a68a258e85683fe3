/*
 * far.c - see far.h. Frames over shunt-connect (docs/protocol.md); one connection per request.
 */
#include "client/far.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/codec.h"
#include "base/file.h"
#include "base/frame.h"
#include "base/json.h"
#include "base/mem.h"
#include "client/client_internal.h"
#include "client/tray.h"
#include "tls/pki.h"

#define FRAME_MOST (10u << 20)
#define VIEW_MOST (64u << 20)
#define SILENCE 15  /* seconds of silence of an agent */
#define FRESH 86400 /* seconds that the list of agents stays fresh */
#define AGENTS_MOST 8

struct far {
	char dir[WHERE_PATH];
	char *ca, *token;
	char where[300];      /* the agent that answered */
	char view[SEAL_SIZE]; /* name of the user's view, once computed */
};

/* ---- files ---- */

static int dir_find(const char *cluster, char ret[WHERE_PATH])
{
	char all[WHERE_PATH];

	if (where_spools(all, NULL) < 0 || (size_t)snprintf(ret, WHERE_PATH, "%s/%s", all, cluster) >= WHERE_PATH - 64)
		return -ENAMETOOLONG;
	return 0;
}

static void directories_make(const char *path)
{
	char part[WHERE_PATH];

	for (size_t n = 1; n <= strlen(path); n++)
		if (path[n] == '/' || path[n] == '\0') {
			snprintf(part, sizeof part, "%.*s", (int)n, path);
			mkdir(part, 0700); /* a missing directory shows when a file is written */
		}
}

static void far_file_write(const struct far *f, const char *name, const char *text, size_t n)
{
	char path[WHERE_PATH + 80];

	snprintf(path, sizeof path, "%s/%s", f->dir, name);
	file_replace(path, 0600, text, n, REPLACE_SHARED); /* other commands of the user may do the same */
}

struct far *far_create(const char *cluster, const char *ca, const char *token)
{
	struct far *f = mem_zalloc(sizeof *f);

	if (dir_find(cluster, f->dir) < 0) {
		free(f);
		return NULL;
	}
	f->ca = mem_strdup(ca);
	f->token = mem_strdup(token);
	return f;
}

void far_free(struct far *f)
{
	if (!f)
		return;
	explicit_bzero(f->token, strlen(f->token));
	free(f->token);
	free(f->ca);
	free(f);
}

const char *far_dir(const struct far *f)
{
	return f->dir;
}

/* Returns a new object, or NULL if no agents are known. */
static json_t *spools_read(const struct far *f)
{
	char path[WHERE_PATH + 16];

	snprintf(path, sizeof path, "%s/spools", f->dir);
	return json_load_file(path, 0, NULL);
}

int far_wait(const struct far *f)
{
	json_t *o = spools_read(f);
	int wait = json_array_size(json_object_get(o, "spools")) ? (int)json_integer_value(json_object_get(o, "wait"))
								 : -1;

	json_decref(o);
	return wait;
}

bool far_is_due(const struct far *f)
{
	char path[WHERE_PATH + 16];
	struct stat st;

	snprintf(path, sizeof path, "%s/spools", f->dir);
	return lstat(path, &st) == 0 && (st.st_mtime < time(NULL) - FRESH || st.st_mtime > time(NULL));
}

void far_learn(const struct far *f, const json_t *whoami)
{
	const json_t *spools = json_object_get(whoami, "spools");
	json_t *o = json_pack("{s:O?, s:I}", "spools", spools, "wait",
			      json_integer_value(json_object_get(whoami, "spool_wait")));
	char *text = json_dumps(o, JSON_COMPACT);

	directories_make(f->dir);
	if (text)
		far_file_write(f, "spools", text, strlen(text));
	free(text);
	json_decref(o);
}

void far_forget(const char *cluster)
{
	static const char *const names[] = {"spools", "offer"};
	char dir[WHERE_PATH], path[WHERE_PATH + 16];

	for (size_t i = 0; i < 2 && dir_find(cluster, dir) == 0; i++) {
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		unlink(path);
	}
}

/* ---- a connection ---- */

struct call {
	int fd;
	pid_t pid;
	struct strbuf in;
	size_t used; /* bytes of `in` in frames already handed out */
};

static void call_end(struct call *c)
{
	if (c->fd >= 0)
		close(c->fd);
	if (c->pid > 0) {
		kill(c->pid, SIGKILL);
		while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	strbuf_fini(&c->in);
}

static int call_fill(struct call *c, struct err *err)
{
	char part[65536];
	ssize_t n;

	while ((n = recv(c->fd, part, sizeof part, 0)) < 0 && errno == EINTR)
		;
	if (n <= 0)
		return err_set(err, n < 0 ? -ETIMEDOUT : -ECONNRESET,
			       n < 0 ? "it does not answer" : "it closed the connection");
	strbuf_add(&c->in, part, (size_t)n);
	return 0;
}

/* Reads the line in which shunt-connect reports success or failure. */
static int call_greeted(struct call *c, struct err *err)
{
	const char *newline;
	int rc = 0;

	while (rc == 0 && !(newline = c->in.n ? memchr(c->in.text, '\n', c->in.n) : NULL))
		rc = call_fill(c, err);
	if (rc < 0)
		return rc;
	c->used = (size_t)(newline - c->in.text) + 1;
	if (strncmp(c->in.text, "ok ", 3) == 0)
		return 0;
	const char *why = memchr(c->in.text, ' ', c->used);
	return err_set(err, -EHOSTUNREACH, "%.*s", why ? (int)(newline - why - 1) : 0, why ? why + 1 : "");
}

static int call_send(struct call *c, const char *type, const struct spool_frame *x, const char *data, size_t n,
		     struct err *err)
{
	struct strbuf head = {0}, out = {0};
	struct json j;
	int rc = 0;

	json_begin(&j, &head);
	json_text(&j, "t", type);
	record_show(spool_frames.fields, 0, x, NULL, &j);
	json_close_object(&j);
	frame_put(&out, head.text, head.n, data, n);
	for (size_t at = 0; at < out.n && rc == 0;) {
		ssize_t sent = send(c->fd, out.text + at, out.n - at, MSG_NOSIGNAL);
		if (sent < 0 && errno != EINTR)
			rc = err_set(err, -EIO, "it takes nothing: %s", strerror(errno));
		at += sent > 0 ? (size_t)sent : 0;
	}
	strbuf_fini(&head);
	strbuf_fini(&out);
	return rc;
}

/* Reads the next frame. Its head is new; the data is valid until the next call. */
static int call_read(struct call *c, json_t **ret_head, const char **ret_data, size_t *ret_n, struct err *err)
{
	const char *head;
	size_t nhead;
	ssize_t took;
	int rc;

	memmove(c->in.text, c->in.text + c->used, c->in.n - c->used);
	c->in.n -= c->used;
	c->used = 0;
	while ((took = frame_next(c->in.text, c->in.n, FRAME_MOST, &head, &nhead, ret_data, ret_n)) == 0)
		if ((rc = call_fill(c, err)) < 0)
			return rc;
	*ret_head = took > 0 ? json_loadb(head, nhead, 0, NULL) : NULL;
	if (!*ret_head)
		return err_set(err, -EPROTO, "it says something that can't be understood");
	c->used = (size_t)took;
	return 0;
}

static bool is(const json_t *head, const char *type)
{
	const char *t = json_string_value(json_object_get(head, "t"));

	return t && strcmp(t, type) == 0;
}

static int refused(const json_t *head, struct err *err)
{
	struct spool_frame x;

	spool_frame_read(head, &x);
	return err_set(err, x.stale ? -ESTALE : -EACCES, "%.300s",
		       is(head, "refused") && x.why ? x.why : "it says something that is not expected");
}

static int call_begin(const struct far *f, const char *where, struct call *ret, struct err *err)
{
	char *argv[] = {"shunt-connect", "--agent", "--ca", ARGUMENT_CA, (char *)where, NULL};
	struct timeval silence = {.tv_sec = SILENCE};
	int rc;

	*ret = (struct call){.fd = -1};
	rc = ret->fd = connect_start(argv, f->ca, &ret->pid, err);
	if (rc >= 0) {
		setsockopt(ret->fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof silence);
		rc = call_greeted(ret, err);
	}
	if (rc == 0)
		rc = call_send(ret, "spool", &(struct spool_frame){.view = f->view}, NULL, 0, err);
	return rc < 0 ? rc : 0;
}

/* ---- offer and views ---- */

struct got {
	json_t *offer;
	char name[64];	     /* name of the view being received */
	struct strbuf text;  /* its text so far */
	const struct far *f; /* NULL: skip views */
};

static void views_clear(const struct far *f)
{
	char path[WHERE_PATH + 16];
	const struct dirent *d;

	snprintf(path, sizeof path, "%s/views", f->dir);
	directories_make(path);
	DIR *dir = opendir(path);
	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			unlinkat(dirfd(dir), d->d_name, 0);
	if (dir)
		closedir(dir);
}

static void view_take(struct got *g, const json_t *head, const char *data, size_t n)
{
	struct spool_frame x;
	char path[80];

	spool_frame_read(head, &x);
	if (!g->f || !x.name || (strcmp(x.name, "all") != 0 && strcmp(x.name, g->f->view) != 0) || x.size > VIEW_MOST)
		return;
	if (strcmp(x.name, g->name) != 0)
		strbuf_clear(&g->text);
	snprintf(g->name, sizeof g->name, "%s", x.name);
	strbuf_add(&g->text, data, n);
	snprintf(path, sizeof path, "views/%s", x.name);
	if ((int64_t)g->text.n == x.size)
		far_file_write(g->f, path, g->text.text, g->text.n);
}

/* Reads frames up to `ready`. */
static int call_welcomed(struct call *c, struct got *g, struct err *err)
{
	const char *data;
	size_t n;
	int rc = 0;

	for (bool ready = false; rc == 0 && !ready;) {
		json_t *head;
		if ((rc = call_read(c, &head, &data, &n, err)) < 0)
			break;
		ready = is(head, "ready");
		if (is(head, "offer") && !g->offer)
			g->offer = json_incref(head);
		else if (is(head, "view"))
			view_take(g, head, data, n);
		else if (!ready)
			rc = refused(head, err);
		json_decref(head);
	}
	return rc == 0 && !g->offer ? err_set(err, -EPROTO, "it has nothing to offer") : rc;
}

/* Removes copies in trays other than the present one: their changes have reached the server. */
static void trays_sweep(const char *path, const char *present)
{
	const struct dirent *d;
	DIR *dir = opendir(path);

	while (dir && (d = readdir(dir))) {
		tray_names names = {0};
		char name[300];
		if (d->d_name[0] != 'g' || strcmp(d->d_name, present) == 0 ||
		    tray_list(path, d->d_name, &names, NULL) < 0)
			continue;
		for (size_t i = 0; i < names.n; i++) {
			snprintf(name, sizeof name, "%s/%llu/request", d->d_name,
				 (unsigned long long)names.v[i].number);
			unlinkat(dirfd(dir), name, 0);
			*strrchr(name, '/') = '\0';
			unlinkat(dirfd(dir), name, AT_REMOVEDIR);
		}
		unlinkat(dirfd(dir), d->d_name, AT_REMOVEDIR);
		vec_free(&names);
	}
	if (dir)
		closedir(dir);
}

static int offer_take(const struct far *f, const struct token *t, const json_t *head, struct offer *ret,
		      struct err *err)
{
	char *text = json_dumps(head, JSON_COMPACT), path[WHERE_PATH + TRAY_NAME];
	int rc = offer_parse(text, strlen(text), ret, err);

	free(text);
	if (rc < 0)
		return rc;
	if (!*ret->lease || strcmp(ret->cluster, t->fingerprint) != 0)
		return err_set(err, -EINVAL, "it belongs to another cluster");
	snprintf(path, sizeof path, "%s/%s", f->dir, ret->tray);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_set(err, -errno, "can't make %.300s: %s", path, strerror(errno));
	trays_sweep(f->dir, ret->tray);
	return offer_write(f->dir, ret, err);
}

static int agent_open(struct far *f, const struct token *t, const char *where, struct offer *ret, struct err *err)
{
	struct got g = {.f = f};
	struct call c;
	int rc;

	views_clear(f);
	rc = call_begin(f, where, &c, err);
	if (rc == 0)
		rc = call_welcomed(&c, &g, err);
	if (rc == 0)
		rc = offer_take(f, t, g.offer, ret, err);
	if (rc == 0)
		snprintf(f->where, sizeof f->where, "%s", where);
	json_decref(g.offer);
	strbuf_fini(&g.text);
	call_end(&c);
	return rc;
}

int far_open(struct far *f, struct offer *ret, struct err *err)
{
	json_t *o = spools_read(f), *list = json_object_get(o, "spools");
	struct strbuf trouble = {0};
	struct token t;
	struct err why;
	int rc = -ENOENT;

	if (token_parse(f->token, &t, err) < 0 || (!*f->view && text_seal(&t, TRAY_VIEW, f->view, err) < 0)) {
		json_decref(o);
		return -EINVAL;
	}
	directories_make(f->dir);
	for (size_t i = 0; i < json_array_size(list) && i < AGENTS_MOST && rc < 0; i++) {
		const char *where = json_string_value(json_array_get(list, i));
		if (!where || *where == '-')
			continue;
		rc = agent_open(f, &t, where, ret, &why);
		if (rc < 0)
			strbuf_printf(&trouble, "%s%s: %s", trouble.n ? "; " : "", where, why.text);
	}
	if (rc < 0)
		err_set(err, rc, "%s", trouble.n ? trouble.text : "no agent is known that could keep it");
	explicit_bzero(&t, sizeof t);
	strbuf_fini(&trouble);
	json_decref(o);
	return rc;
}

/* ---- a change ---- */

/* Sends a change and waits for its number. */
static int change_send(struct call *call, const struct strbuf *text, uint64_t *ret, struct err *err)
{
	struct spool_frame x = {.size = (int64_t)text->n};
	json_t *head;
	const char *data;
	size_t n;
	int rc = 0;

	for (size_t at = 0; at < text->n && rc == 0; at += SPOOL_PIECE)
		rc = call_send(call, "keep", &x, text->text + at,
			       text->n - at < SPOOL_PIECE ? text->n - at : SPOOL_PIECE, err);
	if (rc == 0 && call_read(call, &head, &data, &n, err) < 0)
		return err_set(err, -EIO, "it did not say whether it keeps the request: check before you repeat it");
	if (rc < 0)
		return rc;
	spool_frame_read(head, &x);
	*ret = x.number;
	if (!is(head, "kept") || *ret == 0)
		rc = refused(head, err);
	json_decref(head);
	return rc;
}

int far_put(struct far *f, const struct offer *l, const struct change *c, uint64_t *ret_number, struct err *err)
{
	struct offer mine = *l;
	struct strbuf text = {0};
	struct got g = {0};
	struct call call;
	uint64_t same;
	int rc = call_begin(f, f->where, &call, err);

	change_format(l, c, &text);
	if (rc == 0)
		rc = call_welcomed(&call, &g, err);
	if (rc == 0)
		rc = change_send(&call, &text, ret_number, err);
	if (rc < 0)
		err_prefix(err, rc, "%s", f->where);
	call_end(&call);
	json_decref(g.offer);
	strbuf_fini(&g.text);
	strbuf_fini(&text);
	if (rc < 0)
		return rc;
	mine.next = *ret_number;
	mine.end = *ret_number + 1;
	tray_put(f->dir, &mine, c, &same, NULL); /* a copy, for display */
	return 0;
}
