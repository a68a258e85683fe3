/*
 * broker_ask.c - requests of commands to a running broker, and its answers.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "bag/broker_internal.h"
#include "base/json.h"
#include "base/unixsock.h"

enum { ANSWER_MOST = WIRE_MOST - 4096 };

static void put_counts(struct broker *b, struct json *j)
{
	struct queue_counts c = queue_counts(b->queue);

	json_int(j, "tasks", (int64_t)b->bag.tasks.n);
	uint32_t running = peers_running(b); /* including copies */
	json_int(j, "waiting", running < c.flying ? (int64_t)c.waiting + c.flying - running : c.waiting);
	json_int(j, "running", running);
	json_int(j, "done", c.done);
	json_int(j, "failed", c.aside);
	json_int(j, "pid", (int64_t)getpid());
	json_double(j, "rate", b->summary.rate);
	json_int(j, "left", b->summary.left);
}

static void put_workers(struct broker *b, struct json *j)
{
	int64_t omitted = 0;

	json_open_array(j, "workers");
	for (size_t i = 0; i < b->peers.n; i++) {
		const struct peer *p = b->peers.v[i];
		if (!p || !p->worker)
			continue;
		if (j->out->n > ANSWER_MOST) { /* the size of a message is limited */
			omitted++;
			continue;
		}
		json_open_object(j, NULL);
		json_text(j, "name", p->name);
		json_int(j, "pid", p->pid);
		json_double(j, "cpus", (double)p->cpus / BAG_CPU);
		json_int(j, "gpus", p->gpus);
		json_int(j, "tasks", (int64_t)p->flights.n);
		json_int(j, "results", (int64_t)p->results);
		json_int(j, "oldest", p->flights.n ? (int64_t)p->flights.v[0].task : 0);
		json_double(j, "oldest_seconds", p->flights.n ? (double)(b->now - p->flights.v[0].since) / 1e6 : 0);
		json_close_object(j);
	}
	json_close_array(j);
	json_int(j, "workers_omitted", omitted);
}

void ask_answer(struct broker *b, struct peer *p, const char *word, size_t n)
{
	struct strbuf text = {0};
	struct json j;

	json_begin(&j, &text);
	if (n == 6 && memcmp(word, "cancel", n) == 0)
		b->summary.cancelled = true;
	if (n == 5 && memcmp(word, "retry", n) == 0) {
		uint32_t tasks = queue_retry(b->queue);
		if (tasks)
			journal_add(b->journal, &(struct record){.kind = RECORD_RETRY});
		json_int(&j, "retried", tasks);
	}
	put_counts(b, &j);
	if (n == 7 && memcmp(word, "workers", n) == 0)
		put_workers(b, &j);
	if (n == 11 && memcmp(word, "allocations", n) == 0)
		cluster_put(b, &j);
	json_close_object(&j);
	wire_add(&p->out, &(struct wire){.kind = WIRE_ANSWER, .text = text.text, .ntext = text.n});
	strbuf_fini(&text);
}

/* Reads the whole answer; returns 0 or -errno. */
static int answer_read(int fd, char **ret)
{
	struct strbuf in = {0};
	struct wire m;
	char buffer[16384];
	int rc = 0;

	while (rc == 0) {
		ssize_t n = recv(fd, buffer, sizeof buffer, 0);
		if (n <= 0) {
			rc = n == 0 ? -ECONNRESET : -errno;
			break;
		}
		strbuf_add(&in, buffer, (size_t)n);
		ssize_t step = wire_next(in.text, in.n, &m);
		if (step < 0 || (step > 0 && m.kind != WIRE_ANSWER)) {
			rc = -EPROTO;
		} else if (step > 0) {
			*ret = mem_zalloc(m.ntext + 1);
			memcpy(*ret, m.text, m.ntext);
			break;
		}
	}
	strbuf_fini(&in);
	return rc;
}

int broker_ask(const char *dir, const char *word, char **ret, struct err *err)
{
	struct strbuf path = {0}, out = {0};
	struct timeval wait = {.tv_sec = 10};

	strbuf_printf(&path, "%s/socket", dir);
	int fd = unix_connect(path.text, 5000, err);
	if (fd < 0) {
		strbuf_fini(&path);
		return fd == -ECONNREFUSED ? -ENOENT : fd;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
	wire_add(&out, &(struct wire){.kind = WIRE_ASK, .text = word, .ntext = strlen(word)});
	int rc = send(fd, out.text, out.n, MSG_NOSIGNAL) == (ssize_t)out.n ? answer_read(fd, ret) : -EPIPE;
	close(fd);
	if (rc < 0)
		err_set(err, rc, "%s: the broker does not answer: %s", path.text, strerror(-rc));
	strbuf_fini(&path);
	strbuf_fini(&out);
	return rc;
}
