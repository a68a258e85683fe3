/*
 * api_sites.c - API of other sites: listing them, the tasks and reports of the courier
 * (site/courier.h), and withdrawals by another site.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/codec.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/members.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/vec.h"
#include "client/sitework.h"
#include "core/job.h"
#include "core/jobschema.h"
#include "engine/engine.h"
#include "engine/errands.h"
#include "engine/opener.h"
#include "net/http.h"
#include "server/api/frame/api.h"
#include "server/api/frame/attributes.h"
#include "server/api/frame/call.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/api/jobs/change.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/post.h"
#include "server/base/words.h"
#include "server/book/audit.h"
#include "server/job/body.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/keys.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/life/enter/queues.h"
#include "server/life/peers/away.h"
#include "server/life/run/prepare.h"
#include "server/life/world/block.h"
#include "server/server.h"
#include "server/settings/remotes.h"
#include "store/store.h"
#include "tls/pki.h"

#define ROWS 200   /* maximum jobs in one answer to the courier */
#define SCAN 20000 /* maximum jobs examined for one answer */

/* ---- listing ---- */

static int64_t jobs_at(struct server *s, const char *site)
{
	int64_t n = 0;

	if (!away_any(s))
		return 0;
	for (size_t i = 0; i < s->jobs->leaving.n; i++) {
		const struct entry *e = entry_get(s, s->jobs->leaving.v[i]);
		const char *at = e->spec ? strchr(word_text(s, e->spec->queue), '@') : NULL;
		n += at && strcmp(at + 1, site) == 0 && !entry_ended(s, s->jobs->leaving.v[i]);
	}
	return n;
}

struct subject {
	struct server *s;
};

static void sites_show(const struct subject *x, struct json *j)
{
	const struct remotes *all = x->s->remotes;

	for (size_t i = 0; i < all->list.n; i++)
		schema_show(
			&remote_shown, NULL,
			&(struct remote_shown){.remote = all->list.v[i], .jobs = jobs_at(x->s, all->list.v[i].name)},
			NULL, j);
}

const struct schema sites_answer = {
	FIELDS({"sites", .is = REQUIRED | IS_LIST, .of = &remote_shown, .item = IS_OBJECT, .inside = sites_show})};

void api_sites(struct server *s, const struct call *c)
{
	api_show(s, c->r, &sites_answer, &(struct subject){s});
}

/* Records a change of a site. A replaced token is not stored anywhere; to undo the change, it has
 * to be entered again. */
static void put_record(struct server *s, const struct call *c, const char *servers)
{
	const struct remote *before = remote_find(s, c->name);
	struct strbuf undo = {0}, change = {0};

	strbuf_printf(&change, "jobs can be handed over to %s", servers);
	if (before) {
		strbuf_printf(&change, " (was %s)", before->servers);
		strbuf_printf(&undo, "shunt site add %s --server ", c->name);
		text_quote(before->servers, &undo);
	} else {
		strbuf_printf(&undo, "shunt site remove %s", c->name);
	}
	audit_record(s, c->w, "server", c->name, before ? "site changed" : "site added", change.text, undo.text);
	strbuf_fini(&undo);
	strbuf_fini(&change);
}

void api_site_put(struct server *s, const struct call *c)
{
	const char *servers = member_find_text(c->body, "servers");
	struct token t;
	struct err err;

	if (!name_is_good(c->name) || server_is_here(s, c->name)) {
		http_error(
			c->r, CODE_BAD_REQUEST,
			"A site's name has up to 64 letters, digits, '.', '-' and '_', and is not this server's own (%s).",
			s->instance->name);
		return;
	}
	if (token_parse(member_find_text(c->body, "token"), &t, &err) < 0 || t.id[0] != 's') {
		http_error(c->r, CODE_BAD_REQUEST,
			   "That is not a site's token: 'shunt token create --site %s' on the other site makes one.",
			   s->instance->name);
		return;
	}
	if (servers[strspn(servers, " ")] == '\0' || strpbrk(servers, "\t\r\n")) {
		http_error(c->r, CODE_BAD_REQUEST, "servers must be HOST[:PORT], several joined by blanks.");
		return;
	}
	put_record(s, c, servers);
	remote_put(s, c->name, servers, member_find_text(c->body, "token"));
	block_ways(s);
	queues_route(s);
	explicit_bzero(&t, sizeof t);
	reply_empty(s, c->r, 201);
}

void api_site_delete(struct server *s, const struct call *c)
{
	int64_t n = jobs_at(s, c->name);

	if (!remote_find(s, c->name)) {
		http_error(c->r, CODE_NOT_FOUND, "There is no site %.60s ('shunt site list' shows them).", c->name);
		return;
	}
	if (n) {
		http_error(c->r, CODE_BAD_STATE,
			   "%lld job%s at site %.60s or on the way there: wait for %s, or move or delete %s first.",
			   (long long)n, n == 1 ? " is" : "s are", c->name, n == 1 ? "it" : "them",
			   n == 1 ? "it" : "them");
		return;
	}
	audit_record(s, c->w, "server", c->name, "site removed", NULL, NULL);
	remote_drop(s, c->name);
	block_ways(s);
	reply_empty(s, c->r, 200);
}

/* ---- for the courier: this server's own process ---- */

static void work_write(struct server *s, struct json *j, uint32_t id)
{
	static const char *const wishes[] = {NULL, "delete", "return"};
	const struct entry *e = entry_get(s, id);
	const char *queue = word_text(s, e->spec->queue), *at = strchr(queue, '@');
	struct strbuf own = {0};
	char key[KEY_MAX + 1], name[256], called[AWAY_NAME];

	entry_id(s, id, &own);
	away_key(s, id, key);
	away_name(s, id, called);
	snprintf(name, sizeof name, "%.*s", (int)(at - queue), queue);
	struct site_job x = {.id = own.text,
			     .name = called,
			     .site = at + 1,
			     .queue = name,
			     .user = word_text(s, e->spec->owner),
			     .key = key,
			     .try = e->away->try,
			     .phase = e->away->phase == AWAY_THERE ? SITE_THERE : SITE_OFFERED,
			     .wish = wishes[e->away->wish],
			     .there = e->away->id};
	schema_show(&site_job_schema, NULL, &x, NULL, j);
	strbuf_fini(&own);
}

struct work_page {
	int64_t from;
};
const struct schema courier_work_body = {FIELDS({"from", .is = IS_INT, "`next` of the previous answer", .least = 0,
						 .most = INT32_MAX, MEMBER(struct work_page, from)})};

/* Lists jobs from a position on, and offers those that can leave now. The offers are stored before
 * the courier gets the answer. */
void api_courier_work(struct server *s, const struct call *c)
{
	size_t looked = 0, rows = 0;
	struct strbuf out = {0};
	struct work_page x;
	struct json j;

	if (!own_admit(s, c, "talks to other sites"))
		return;
	call_read(c, &x);
	size_t at = (size_t)x.from;
	if (at == 0)
		away_any(s);
	json_begin(&j, &out);
	json_open_array(&j, "jobs");
	for (; at < s->jobs->leaving.n && looked < SCAN && rows < ROWS; at++, looked++)
		if (away_due(s, s->jobs->leaving.v[at])) {
			work_write(s, &j, s->jobs->leaving.v[at]);
			rows++;
		}
	json_close_array(&j);
	json_int(&j, "next", at < s->jobs->leaving.n ? (int64_t)at : 0);
	json_bool(&j, "any", s->jobs->leaving.n > 0);
	json_open_array(&j, "sites");
	for (size_t i = 0; i < s->remotes->list.n; i++)
		schema_show(&remote_work, NULL, &s->remotes->list.v[i], NULL, &j);
	json_close_array(&j);
	json_close_object(&j);
	reply_later(s, c->r, 200, &out);
}

/* Finds the job that a path names by its number, if it is away. Returns false if the request was
 * answered. */
static bool courier_job(struct server *s, const struct call *c, uint32_t *ret)
{
	if (!own_admit(s, c, "talks to other sites"))
		return false;
	if (away_find(s, c->name, ret))
		return true;
	http_error(c->r, CODE_UNKNOWN_JOB, "There is no job %.60s on its way to another site.", c->name);
	return false;
}

/* Answers with a job as the other site is to get it: without dependencies already satisfied here,
 * and without members that only have a meaning here. */
void api_courier_job(struct server *s, const struct call *c)
{
	json_t *job;
	char *queue;
	struct err err;
	uint32_t id;

	if (!courier_job(s, c, &id))
		return;
	const struct spec *p = entry_get(s, id)->spec;
	if (submission_whole(s, id, HERE, &job, &err) < 0) {
		http_error(c->r, CODE_NOT_FOUND, "%s", err.text);
		return;
	}
	queue = mem_strdup(word_text(s, p->queue));
	*strchr(queue, '@') = '\0';
	if (*queue)
		json_object_set_new(job, "queue", json_string(queue));
	else
		json_object_del(job, "queue");
	free(queue);
	api_answer(c->r, 200, job);
}

void api_courier_report(struct server *s, const struct call *c)
{
	struct site_report x;
	uint32_t id;

	if (!courier_job(s, c, &id))
		return;
	call_read(c, &x);
	if (x.result == SITE_ACCEPTED && x.there)
		away_accepted(s, id, x.try, x.there);
	else if (x.result == SITE_BACK)
		away_back(s, id, x.try, x.why);
	else if (x.result == SITE_STATE && x.state)
		away_state(s, id, x.try, *x.state, x.guaranteed);
	else if (x.result == SITE_ENDED)
		away_ended(s, id, x.try, x.job, x.why);
	else if (x.why)
		away_trouble(s, id, x.try, x.why);
	reply_empty(s, c->r, 200);
}

/* ---- returning output ---- */

struct output_piece {
	enum { STREAM_OUT, STREAM_ERR } stream;
	int64_t from;
	const char *data; /* base64 */
};
const struct schema courier_piece_body = {FIELDS(
	{"stream", .is = REQUIRED | IS_TEXT, .words = "out|err", MEMBER_AS(FORM_CHOICE, struct output_piece, stream)},
	{"from", .is = REQUIRED | IS_INT, "where the piece begins; 0: what was there before is replaced",
	 MEMBER(struct output_piece, from)},
	{"data", .is = REQUIRED | IS_BYTES, MEMBER(struct output_piece, data)})};

struct homing {
	struct server *s;
	struct http_request *r;
	struct strbuf data;
	int64_t from;
};

static void piece_over(struct homing *x, const char *trouble)
{
	if (trouble)
		http_error(x->r, CODE_REFUSED, "%s", trouble);
	else
		reply_empty(x->s, x->r, 200);
	strbuf_fini(&x->data);
	free(x);
}

static void piece_write(struct homing *x, int fd)
{
	size_t at = 0;
	ssize_t n = 0;

	while (at < x->data.n && (n = pwrite(fd, x->data.text + at, x->data.n - at, x->from + (off_t)at)) > 0)
		at += (size_t)n;
	const char *trouble = at < x->data.n ? strerror(n < 0 ? errno : EIO) : NULL;
	close(fd);
	piece_over(x, trouble);
}

static void on_opened(void *context, int fd, const char *reason)
{
	struct homing *x = context;

	clock_read(x->s);
	if (fd < 0)
		piece_over(x, reason ? reason : "it can't be opened");
	else
		piece_write(x, fd);
}

/* Writes a piece of the output to the job's own path, as its owner. Repeating it does no harm. */
void api_courier_output(struct server *s, const struct call *c)
{
	const char *out = NULL, *err_path = NULL, *path;
	struct arena *a;
	json_t *body = NULL;
	struct output_piece piece;
	struct err err;
	uint32_t id;

	if (!courier_job(s, c, &id))
		return;
	call_read(c, &piece);
	if (body_read(s, id, &body, &err) < 0) {
		http_error(c->r, CODE_NOT_FOUND, "%s", err.text);
		return;
	}
	struct homing *x = mem_zalloc(sizeof *x);
	x->s = s;
	x->r = c->r;
	x->from = piece.from;
	const struct spec *p = entry_get(s, id)->spec;
	struct opener_user who = {.uid = p->uid, .gid = p->gid, .name = word_text(s, p->owner)};
	int flags = O_WRONLY | O_CREAT | (x->from == 0 ? O_TRUNC : 0);
	struct errands *e = engine_errands(s->engine);

	a = arena_create();
	output_paths(s, id, body, a, &out, &err_path);
	path = piece.stream == STREAM_ERR ? err_path : out;
	if (base64_decode(piece.data, strlen(piece.data), &x->data) < 0)
		piece_over(x, "the data is not base64");
	else if (!path)
		piece_over(x, NULL); /* the two streams are joined */
	else if (p->uid == s->instance->uid) {
		int fd = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
		if (fd < 0)
			piece_over(x, strerror(errno));
		else
			piece_write(x, fd);
	} else if (!e)
		piece_over(x, "nothing here can open files of users");
	else {
		opener_ask(errands_opener(e), &who, path, flags, 0600, on_opened, x);
		engine_flush(s->engine);
	}
	arena_destroy(a);
	json_decref(body);
}

/* ---- requests of another site ---- */

struct withdrawal {
	const char *key;
};
const struct schema withdraw_body = {FIELDS({"key", .is = REQUIRED | IS_TEXT, "the Idempotency-Key of the submission",
					     .least = 1, .most = KEY_MAX, MEMBER(struct withdrawal, key)})};
struct withdrawn {
	const char *id;
	bool forgotten;
};
const struct schema withdrawn_answer = {FIELDS(
	{"id", .is = REQUIRED | IS_TEXT | IS_NULL,
	 "the job that was accepted with that key; null: none was, and none will be", MEMBER(struct withdrawn, id)},
	{"forgotten", .is = IS_BOOL | SPARSE, "true: it has ended, and is not known any more",
	 MEMBER(struct withdrawn, forgotten)})};

void api_withdraw(struct server *s, const struct call *c)
{
	const struct submission_key *k;
	struct withdrawal x;
	struct strbuf id = {0};
	char key[KEY_MAX + 1];
	uint32_t known;
	struct err err;

	call_read(c, &x);
	if (subkey_read(x.key, key, &err) < 0) {
		api_refuse(c->r, &err);
		return;
	}
	k = subkey_find(s, SUBKEY_SITE, key);
	if (!k)
		subkey_add(s, SUBKEY_SITE, key, &(struct submission_key){.lasting = true, .time = s->clock->now});
	else if (k->count && k->arrays && *k->arrays == 'a')
		strbuf_printf(&id, "%llu[].%s", (unsigned long long)k->first, s->instance->name);
	else if (k->count)
		key_id(s, job_key(k->first, -1), &id);
	struct withdrawn answer = {id.text,
				   k && k->count && !array_find(s, k->first) && !entry_find(s, k->first, -1, &known)};
	api_show_later(s, c->r, 200, &withdrawn_answer, &answer);
	strbuf_fini(&id);
}
