/*
 * results.c - folds a bag's journal into the state of its tasks.
 */
#include "bag/results.h"

#include <errno.h>

#include "base/map.h"

void fold_init(struct fold *f, const struct bag *bag, bool want_at)
{
	size_t n = bag->tasks.n + 1;

	*f = (struct fold){.tasks = (uint32_t)bag->tasks.n, .hash = hash_bytes(bag->text, bag->n)};
	f->state = mem_zalloc(n);
	f->failures = mem_zalloc(n);
	f->at = want_at ? mem_zalloc(n * sizeof *f->at) : NULL;
}

void fold_fini(struct fold *f)
{
	free(f->state);
	free(f->failures);
	free(f->at);
	*f = (struct fold){0};
}

static void fold_retry(struct fold *f)
{
	for (uint32_t i = 1; i <= f->tasks; i++)
		if (f->state[i] != TASK_DONE)
			f->state[i] = f->failures[i] = 0;
}

static void fold_task(struct fold *f, const struct record *r, uint64_t offset)
{
	uint64_t task = r->task;

	if (task < 1 || task > f->tasks)
		return;
	if (f->state[task] == TASK_DONE) {
		f->twice++;
		return;
	}
	if (r->kind == RECORD_FAILED) {
		f->failures[task] += f->failures[task] < UINT8_MAX;
		if (!r->last)
			return;
	}
	f->state[task] = r->kind == RECORD_DONE ? TASK_DONE : TASK_ASIDE;
	if (f->at)
		f->at[task] = offset + 1;
}

void fold_record(struct fold *f, const struct record *r, uint64_t offset)
{
	if (f->other)
		return;
	switch (r->kind) {
	case RECORD_BAG:
		f->other = r->task != f->tasks || r->hash != f->hash;
		break;
	case RECORD_DONE:
	case RECORD_FAILED:
		fold_task(f, r, offset);
		break;
	case RECORD_RETRY:
		fold_retry(f);
		break;
	case RECORD_CANCEL:
		f->cancelled = true;
		break;
	case RECORD_REQUESTS:
	case RECORD_ALLOCATION:
		break;
	case RECORD_RUN:
		f->cancelled = false;
		f->began = r->began;
		break;
	}
}

int results_open(const char *dir, struct results *ret, struct err *err)
{
	struct results r = {0};
	struct strbuf path = {0};
	struct record record;

	int rc = bag_open_in(dir, &r.bag, err);
	if (rc == 0) {
		fold_init(&r.fold, &r.bag, true);
		strbuf_clear(&path);
		strbuf_printf(&path, "%s/journal", dir);
		rc = journal_view(path.text, &r.view, err);
		rc = rc == -ENOENT ? 0 : rc; /* not run yet */
	}
	for (size_t at = 0, step; rc == 0 && (step = record_next(r.view.bytes + at, r.view.n - at, &record)) > 0;
	     at += step)
		fold_record(&r.fold, &record, at);
	if (rc == 0 && r.fold.other)
		rc = err_set(err, -EINVAL, "%s belongs to another list of tasks", path.text);
	strbuf_fini(&path);
	for (uint32_t i = 1; rc == 0 && i <= r.fold.tasks; i++) {
		r.done += r.fold.state[i] == TASK_DONE;
		r.aside += r.fold.state[i] == TASK_ASIDE;
	}
	if (r.done + r.aside == r.fold.tasks) /* nothing is left of what was cancelled */
		r.fold.cancelled = false;
	if (rc < 0)
		results_close(&r);
	else
		*ret = r;
	return rc;
}

void results_close(struct results *r)
{
	journal_view_close(&r->view);
	fold_fini(&r->fold);
	bag_fini(&r->bag);
}

bool results_get(const struct results *r, uint32_t task, struct record *ret)
{
	uint64_t at = task >= 1 && task <= r->fold.tasks ? r->fold.at[task] : 0;

	if (!at || r->fold.state[task] < TASK_DONE)
		return false;
	return record_next(r->view.bytes + at - 1, r->view.n - (at - 1), ret) > 0;
}
