/*
 * broker_files.c - sends the files of tasks to workers that share no file system with the broker,
 * and receives their results (files.h).
 *
 * Received files are kept in the bag's directory until the task has succeeded. They are moved to
 * their places before the result is in the journal, so a finished task has its files.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "bag/broker_internal.h"
#include "bag/files.h"

static void incoming(const struct broker *b, const struct peer *p, uint64_t task, struct strbuf *ret)
{
	strbuf_printf(ret, "%s/incoming/%" PRIu64 "-%d", b->options->dir, task, p->number);
}

static void out_patterns(const struct broker *b, uint64_t task, struct strbuf *ret)
{
	const struct bag_need *need = broker_need(b, task);

	files_patterns(need->out ? need->out : "", task, ret);
}

/* Makes a message like "shunt: in=a.csv: no such file". */
static int failed(struct err *err, int rc, const char *what)
{
	struct err inner = *err;

	return err_set(err, rc, "shunt: %s=%.400s", what, inner.text);
}

static void put(void *arg, const struct wire *m)
{
	wire_add(arg, m);
}

int task_files_send(const struct broker *b, struct peer *p, uint32_t task, struct err *err)
{
	const struct bag_need *need = broker_need(b, task);
	struct strbuf in = {0}, out = {0};
	name_list list = {0};
	int64_t left = FILES_BYTES;
	size_t before = p->out.n;

	out_patterns(b, task, &out);
	wire_add(&p->out, &(struct wire){.kind = WIRE_APART, .task = task, .text = strbuf_text(&out), .ntext = out.n});
	files_patterns(need->in ? need->in : "", task, &in);
	int rc = files_find(".", strbuf_text(&in), &list, err);
	for (size_t i = 0; rc == 0 && i < list.n; i++)
		rc = files_send(".", list.v[i], task, &left, put, &p->out, err);
	if (rc < 0) {
		p->out.n = before; /* takes the incomplete frame back */
		failed(err, rc, "in");
	}
	name_list_free(&list);
	strbuf_fini(&in);
	strbuf_fini(&out);
	return rc;
}

int task_file_take(const struct broker *b, const struct peer *p, struct flight *f, const struct wire *m)
{
	struct strbuf dir = {0}, patterns = {0}, path = {0};

	strbuf_add(&path, m->text, m->ntext);
	out_patterns(b, f->task, &patterns);
	f->received += (int64_t)m->nerr + 1;
	bool good = p->apart && strlen(strbuf_text(&path)) == m->ntext &&
		    files_match(strbuf_text(&patterns), strbuf_text(&path)) && f->received <= 2 * (int64_t)FILES_BYTES;
	if (good && !f->dropped) {
		strbuf_printf(&dir, "%s/incoming", b->options->dir);
		mkdir(dir.text, 0700);
		strbuf_clear(&dir);
		incoming(b, p, f->task, &dir);
		int rc = files_write(dir.text, m);
		f->unwritten = rc < 0 ? rc : f->unwritten;
	}
	strbuf_fini(&dir);
	strbuf_fini(&patterns);
	strbuf_fini(&path);
	return good ? 0 : -EPROTO;
}

int task_files_settle(const struct broker *b, const struct peer *p, const struct flight *f, struct err *err)
{
	struct strbuf dir = {0}, patterns = {0};
	name_list list = {0};
	int rc = f->unwritten < 0 ? err_set(err, f->unwritten, "%s", strerror(-f->unwritten)) : 0;

	incoming(b, p, f->task, &dir);
	out_patterns(b, f->task, &patterns);
	rc = rc < 0 ? rc : files_find(dir.text, strbuf_text(&patterns), &list, err);
	for (size_t i = 0; rc == 0 && i < list.n; i++)
		rc = files_move(dir.text, ".", list.v[i], err);
	if (rc < 0)
		failed(err, rc, "out");
	name_list_free(&list);
	strbuf_fini(&patterns);
	strbuf_fini(&dir);
	return rc;
}

void task_files_drop(const struct broker *b, const struct peer *p, const struct flight *f)
{
	struct strbuf dir = {0};

	if (!f->received)
		return;
	incoming(b, p, f->task, &dir);
	files_remove(dir.text);
	strbuf_fini(&dir);
}

void task_files_clear(const struct broker *b)
{
	struct strbuf dir = {0};

	strbuf_printf(&dir, "%s/incoming", b->options->dir);
	files_remove(dir.text);
	strbuf_fini(&dir);
}
