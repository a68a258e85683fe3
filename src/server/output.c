/*
 * output.c - a job's output as it grows. In a personal instance the server reads the file itself; else the nursery opens it as the
 * job's owner and hands the descriptor over.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/server_internal.h"

struct waiter {
	struct server *s;
	struct http_request *r;
	uint64_t id;
	uint32_t job;
	const char *path; /* in the request's arena */
	int fd;
	int64_t at;
	bool follow, streaming;
	bool retry; /* the file is not there yet: its job has only just been started */
};

static void waiter_drop(struct waiter *x)
{
	struct server *s = x->s;

	for (size_t i = 0; i < s->waiters.n; i++)
		if (s->waiters.v[i] == x) {
			vec_remove(&s->waiters, i);
			break;
		}
	if (x->fd >= 0)
		close(x->fd);
	free(x);
}

static void closed(void *context)
{
	waiter_drop(context);
}

static bool over(const struct waiter *x)
{
	return !x->follow || x->s->stopped || !x->s->entries.v[x->job].spec || entry_ended(x->s, x->job);
}

static int fill(void *context, struct strbuf *out, size_t want)
{
	struct waiter *x = context;
	bool last = over(x); /* asked before reading: what comes after the end is read, too */
	char data[65536];
	ssize_t n = pread(x->fd, data, want < sizeof data ? want : sizeof data, x->at);

	if (n > 0) {
		strbuf_add(out, data, (size_t)n);
		x->at += n;
		return 1;
	}
	return n < 0 || last ? -1 : 0;
}

static void begin(struct waiter *x, int fd)
{
	x->fd = fd;
	x->streaming = true;
	http_stream(x->r, 200, "application/octet-stream", &(struct stream_source){fill, closed, x});
}

static void failed(struct waiter *x, const char *reason)
{
	bool lives = x->s->entries.v[x->job].spec && !entry_ended(x->s, x->job);

	if (lives && strstr(reason, strerror(ENOENT))) { /* it will come */
		x->retry = x->follow;
		if (x->follow)
			return;
		http_reply(x->r, 200, "application/octet-stream", "", 0);
	} else {
		http_error(x->r, 404, "not_found", "The output can't be read: %.300s: %s", x->path, reason);
	}
	waiter_drop(x);
}

static void waiter_open(struct waiter *x)
{
	struct server *s = x->s;
	const struct spec *p = s->entries.v[x->job].spec;

	x->retry = false;
	if (p && p->uid != s->uid) {
		engine_open(s->engine, x->id, p->uid, p->gid, word(s, p->owner), x->path);
		engine_flush(s->engine);
		return;
	}

	int fd = open(x->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		failed(x, strerror(errno));
	else
		begin(x, fd);
}

void output_opened(struct server *s, uint64_t id, int fd, const char *reason)
{
	for (size_t i = 0; i < s->waiters.n; i++)
		if (s->waiters.v[i]->id == id && !s->waiters.v[i]->streaming) {
			if (fd >= 0)
				begin(s->waiters.v[i], fd);
			else
				failed(s->waiters.v[i], reason ? reason : "no reason was given");
			return;
		}
	if (fd >= 0)
		close(fd);
}

void output_turn(struct server *s)
{
	for (size_t i = 0; i < s->waiters.n; i++) {
		struct waiter *x = s->waiters.v[i];
		struct stat st;
		if (x->retry)
			waiter_open(x);
		else if (x->streaming && (over(x) || (fstat(x->fd, &st) == 0 && st.st_size > x->at)))
			stream_wake(x->r);
	}
}

void api_output(struct server *s, struct http_request *r, const struct asker *w, const char *text)
{
	const char *stream = request_query(r, "stream"), *from = request_query(r, "from"),
		   *follow = request_query(r, "follow");
	const char *out, *error, *path;
	struct array *a;
	json_t *body = NULL;
	job_vec v = {0};
	struct err err;
	int rc = jobs_named(s, text, &v, &a, &err);

	if (rc < 0 || v.n == 0 || !may_see(s, w, s->entries.v[v.v[0]].spec)) {
		http_error(r, rc == -EINVAL ? 400 : 404, rc == -EINVAL ? "bad_request" : "unknown_job", "%s",
			   rc == -EINVAL ? err.text : "There is no such job.");
		vec_free(&v);
		return;
	}

	uint32_t id = v.v[0];
	const struct spec *p = s->entries.v[id].spec;

	vec_free(&v);
	if (w->uid != p->uid && w->role < ROLE_MANAGER) {
		http_error(r, 403, "forbidden", "Only its owner and managers may read a job's output.");
		return;
	}
	if (entry_job(s, id)->attempt == 0) {
		http_error(r, 409, "bad_state", "The job has not started yet: there is no output.");
		return;
	}
	if (body_read(s, id, &body, &err) < 0) {
		http_error(r, 404, "not_found", "%s", err.text);
		return;
	}
	output_paths(s, id, body, request_arena(r), &out, &error);
	json_decref(body);
	path = stream && strcmp(stream, "err") == 0 && error ? error : out;

	struct waiter *x = mem_zalloc(sizeof *x);

	*x = (struct waiter){.s = s,
			     .r = r,
			     .id = ++s->waiter_ids,
			     .job = id,
			     .path = path,
			     .fd = -1,
			     .at = from ? strtoll(from, NULL, 10) : 0,
			     .follow = follow && strcmp(follow, "1") == 0};
	vec_push(&s->waiters, x);
	waiter_open(x);
}
