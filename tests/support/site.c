/*
 * site.c - see site.h.
 */
#include "support/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/server.h"
#include "store/store.h"

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
