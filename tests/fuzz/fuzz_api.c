/*
 * fuzz_api.c - any requests to the API of a server with a real store and a real scheduler, whose
 * sockets and processes are functions (support/bare.h). Every request is answered exactly once, and
 * the plan's invariants hold after each turn.
 *
 * Input: requests separated by NUL bytes, each "METHOD PATH[?QUERY]\nBODY"; those without a method
 * are submissions.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "plan/plan.h"
#include "run/order.h"
#include "server/life/world/dispatch.h"
#include "server/link/nodes.h"
#include "server/loop.h"
#include "server/server.h"
#include "support/bare.h"

/* Ends some of the ordered attempts, in varying ways. */
static void finish_some(struct server *s)
{
	const struct bare_attempt *all;

	for (size_t n; (n = bare_attempts(&all)) > 0;) {
		struct result r = {.how = (int)(n % 3), .status = (int)(n % 5), .reason = "made up"};
		char tag[64];
		memcpy(tag, all[0].tag, sizeof tag);
		r.tag = tag;
		bare_forget(tag);
		dispatch_engine.attempt_ended(s, &r);
	}
}

static struct server *server_make(const char *dir)
{
	struct server *s = bare_open(dir, "2x4");
	json_t *facts = json_pack("{s:i,s:i,s:i}", "cpus", 4, "memory", 1 << 20, "gpus", 2);
	uint64_t join;
	struct err err;

	assert(nodes_join(s, "x1", facts, "fuzz", &join, &err) == 0);
	json_decref(facts);
	return s;
}

static void ask(struct server *s, const char *data, size_t n)
{
	const char *line = memchr(data, '\n', n), *blank = memchr(data, ' ', n);
	char path[512] = "/v1/jobs", method[8] = "POST", *body;

	if (line && blank && blank < line && blank - data < 8) {
		snprintf(method, sizeof method, "%.*s", (int)(blank - data), data);
		snprintf(path, sizeof path, "%.*s", (int)(line - blank - 1), blank + 1);
		body = strndup(line + 1, n - (size_t)(line + 1 - data));
	} else {
		body = strndup(data, n);
	}
	/* Requests that wait for something outside are left out. */
	if (!strstr(path, "/events") && !strstr(path, "/output") && !strstr(path, "shutdown")) {
		bare_ask(s, getuid(), method, path, body, NULL);
		plan_check(s->plan);
	}
	free(body);
}

static char dir[64];

static void dir_remove(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", dir);
	if (*dir && system(command) != 0)
		perror(dir);
	*dir = '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static VEC(struct server *) old;
	static struct server *s;
	static int runs;
	const char *p = (const char *)data, *end = p + size;

	/* a fresh server now and then: the queue would grow forever */
	if (!s || ++runs % 2000 == 0) {
		if (!s)
			atexit(dir_remove);
		dir_remove();
		/* In memory: on a disk most of the time is spent on commits. */
		snprintf(dir, sizeof dir, "%s/fuzz-api-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
		assert(mkdtemp(dir));
		bare_clear();
		s = server_make(dir);
		vec_push(&old, s); /* still referenced, so that it is not reported as a leak */
	}
	while (p < end) {
		const char *next = memchr(p, '\0', (size_t)(end - p));
		ask(s, p, next ? (size_t)(next - p) : (size_t)(end - p));
		p = next ? next + 1 : end;
	}
	finish_some(s);
	server_turn(s);
	return 0;
}
