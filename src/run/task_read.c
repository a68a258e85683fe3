/*
 * task_read.c - tasks and answers out of JSON.
 */
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>

#include "run/order_internal.h"
#include "run/task.h"

#define ITEMS_MAX 100000

static int texts_get(const json_t *v, struct arena *a, char ***ret)
{
	size_t n = json_array_size(v);

	if ((v && !json_is_array(v)) || n > ITEMS_MAX)
		return -EINVAL;
	*ret = arena_alloc(a, (n + 1) * sizeof **ret);
	for (size_t i = 0; i < n; i++)
		if (text_read(json_array_get(v, i), a, &(*ret)[i]))
			return -EINVAL;
	return 0;
}

static int size_get(const json_t *root, const char *key)
{
	int64_t n = json_integer_value(json_object_get(root, key));

	return n > 0 && n < 65536 ? (int)n : 0;
}

int task_request_read(const char *text, size_t n, struct arena *a, struct task *ret, struct err *err)
{
	json_t *root = json_loadb(text, n, 0, NULL), *workdir = json_object_get(root, "workdir");
	struct task t = {.rows = size_get(root, "rows"), .columns = size_get(root, "columns")};
	char *dir = NULL;
	int r = 0;

	if (texts_get(json_object_get(root, "argv"), a, &t.argv) || !t.argv[0] || !*t.argv[0])
		r = err_set(err, -EINVAL, "a task needs a program");
	else if (texts_get(json_object_get(root, "env"), a, &t.env))
		r = err_set(err, -EINVAL, "the task's environment can't be understood");
	else if (workdir && (text_read(workdir, a, &dir) || *dir != '/'))
		r = err_set(err, -EINVAL, "the task's working directory is no absolute path");
	json_decref(root);
	t.workdir = dir;
	if (!r)
		*ret = t;
	return r;
}

int task_signal_read(const char *text, size_t n)
{
	json_t *root = json_loadb(text, n, 0, NULL);
	int64_t signal = json_integer_value(json_object_get(root, "signal"));

	json_decref(root);
	return signal > 0 && signal <= SIGRTMAX ? (int)signal : 0;
}

static int place_get(const json_t *root, struct arena *a, struct task_place *p)
{
	char *user = NULL;

	if (text_read(json_object_get(root, "user"), a, &user) ||
	    hosts_read(json_object_get(root, "hosts"), a, &p->hosts, &p->nhosts))
		return -EINVAL;
	p->user = user;
	p->uid = (uid_t)json_integer_value(json_object_get(root, "uid"));
	p->part = (int)json_integer_value(json_object_get(root, "part"));
	return json_is_integer(json_object_get(root, "uid")) ? 0 : -EINVAL;
}

/* Which answer it is, its keys say. */
static int answer_get(const json_t *root, struct arena *a, struct task_answer *t)
{
	const char *how = json_string_value(json_object_get(root, "how"));
	const json_t *reason = json_object_get(root, "reason"), *pid = json_object_get(root, "pid");
	char *why = NULL;

	t->status = (int)json_integer_value(json_object_get(root, "status"));
	t->pid = (pid_t)json_integer_value(pid);
	if (how) {
		t->type = strcmp(how, "signaled") ? TASK_EXITED : TASK_SIGNALED;
		return 0;
	}
	if (reason) {
		t->type = TASK_REFUSED;
		if (text_read(reason, a, &why))
			return -EINVAL;
		t->reason = why;
		return 0;
	}
	t->type = pid ? TASK_STARTED : TASK_WHO;
	return pid ? 0 : place_get(root, a, &t->place);
}

int task_answer_read(const char *text, size_t n, struct arena *a, struct task_answer *ret, struct err *err)
{
	json_t *root = json_loadb(text, n, 0, NULL);
	struct task_answer t = {0};
	int r = answer_get(root, a, &t);

	if (r)
		err_set(err, -EPROTO, "an answer of the job's shepherd can't be understood: %.*s",
			n > 100 ? 100 : (int)n, text);
	else
		*ret = t;
	json_decref(root);
	return r ? -EPROTO : 0;
}
