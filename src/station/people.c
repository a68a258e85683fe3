/*
 * people.c - see people.h. A directory service may take seconds to answer, so a thread waits for
 * it.
 */
#include "station/people.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define OWNERS_MOST 32

struct owners_look {
	uv_work_t work;
	char names[256];
	uid_t v[OWNERS_MOST];
	int n;
	void (*found)(void *context, const uid_t *v, int n);
	void *context;
};

static void on_work(uv_work_t *w)
{
	struct owners_look *l = w->data;
	char *rest = l->names, *name, buffer[16384];
	struct passwd p, *got;

	while ((name = strsep(&rest, "+")) && l->n < OWNERS_MOST)
		if (getpwnam_r(name, &p, buffer, sizeof buffer, &got) == 0 && got)
			l->v[l->n++] = p.pw_uid;
}

static void on_done(uv_work_t *w, int status)
{
	struct owners_look *l = w->data;

	if (l->found && status == 0)
		l->found(l->context, l->v, l->n);
	free(l);
}

struct owners_look *owners_look(uv_loop_t *loop, const char *names, void (*found)(void *context, const uid_t *v, int n),
				void *context)
{
	struct owners_look *l = mem_zalloc(sizeof *l);

	snprintf(l->names, sizeof l->names, "%s", names);
	l->found = found;
	l->context = context;
	l->work.data = l;
	if (uv_queue_work(loop, &l->work, on_work, on_done) < 0) {
		free(l);
		return NULL;
	}
	return l;
}

void owners_cancel(struct owners_look *l)
{
	if (!l)
		return;
	l->found = NULL;
	uv_cancel((uv_req_t *)&l->work);
}
