/*
 * site.c - see site.h.
 */
#include "support/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/program.h"
#include "server/base/instance.h"
#include "server/server.h"
#include "store/store.h"

static uv_timer_t beat; /* data: the site that waits */

int site_setup(void **state, const char *nodes, int64_t now)
{
	struct site *x = calloc(1, sizeof *x);

	if (!x)
		return -1;
	snprintf(x->dir, sizeof x->dir, "%s/shunt-site-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(x->dir)) {
		free(x);
		return -1;
	}
	x->nodes = nodes;
	x->now = now;
	bare_clear();
	bare_clock(now * 1000000);
	site_reopen(x);
	*state = x;
	return 0;
}

int site_teardown(void **state)
{
	struct site *x = *state;
	char command[100];

	if (beat.data == x) {
		bare_between = NULL;
		beat.data = NULL;
		uv_close((uv_handle_t *)&beat, NULL);
		uv_run(x->s->loop, UV_RUN_NOWAIT);
	}
	strbuf_fini(&x->a.body);
	store_close(x->s->store);
	bare_clear();
	bare_clock(0);
	snprintf(command, sizeof command, "rm -rf %s", x->dir);
	int rc = system(command);
	free(x);
	return rc;
}

void site_reopen(struct site *x)
{
	if (x->s)
		store_close(x->s->store);
	x->s = bare_open(x->dir, x->nodes);
}

void site_program(struct site *x, const char *name)
{
	char self[256], path[128];

	snprintf(path, sizeof path, "%s/%s", x->dir, name);
	if (program_self(self, sizeof self, NULL) < 0 || symlink(self, path) < 0)
		abort();
	snprintf(x->s->instance->program, sizeof x->s->instance->program, "%s/shuntd", x->dir);
}

static void on_beat(uv_timer_t *t)
{
}

static void between(struct server *s)
{
	uv_timer_start(&beat, on_beat, 20, 0);
	uv_run(s->loop, UV_RUN_ONCE);
	uv_timer_stop(&beat);
}

void site_pause(struct site *x)
{
	between(x->s);
}

void site_waits(struct site *x)
{
	uv_timer_init(x->s->loop, &beat);
	beat.data = x;
	bare_between = between;
}

int site_ask(struct site *x, uid_t uid, const char *method, const char *path, const char *body)
{
	strbuf_fini(&x->a.body);
	x->a = (struct bare_answer){0};
	return bare_ask(x->s, uid, method, path, body, &x->a);
}

int site_set(struct site *x, const char *name, const char *value)
{
	char body[200];

	snprintf(body, sizeof body, "{\"changes\":[{\"op\":\"set\",\"name\":\"%s\",\"value\":\"%s\"}]}", name, value);
	return site_ask(x, getuid(), "PATCH", "/v1/server", body);
}
