/*
 * fuzz_spool.c - any frames of an agent that delivers what commands left on its host
 * (server/offline/spool.h): they are accepted or refused, or the agent is cut off, and the plan's
 * invariants hold after each turn.
 *
 * Input: frames separated by NUL bytes. The first byte of a frame is its type ('e': emptied,
 * otherwise kept), the second selects one of the host's numbers, the third is the number of bytes
 * that follow in later pieces; the rest is data, in which LEASE stands for a lease that the host
 * has.
 */
#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "client/tray.h"
#include "core/job.h"
#include "plan/plan.h"
#include "server/link/nodes.h"
#include "server/loop.h"
#include "server/node/nodes.h"
#include "server/offline/spool.h"
#include "server/server.h"
#include "server/site/realm.h"
#include "support/bare.h"

static struct server *server_make(const char *dir, uint32_t *ret_node)
{
	struct server *s = bare_open(dir, "2x4");
	json_t *facts = json_pack("{s:i,s:i,s:i}", "cpus", 4, "memory", 1 << 20, "gpus", 2);
	uint64_t join;
	struct err err;

	assert(nodes_join(s, "x1", facts, "fuzz", &join, &err) == 0);
	json_decref(facts);
	s->realm->authority.secret = mem_strdup("0123456789abcdef0123456789abcdef");
	*ret_node = (uint32_t)s->hosts->nodes.n - 1;
	return s;
}

/* Copies the data with the lease filled in. */
static void data_make(const char *data, size_t n, const char *lease, struct strbuf *out)
{
	for (size_t i = 0; i < n;) {
		if (n - i >= 5 && memcmp(data + i, "LEASE", 5) == 0) {
			strbuf_puts(out, lease);
			i += 5;
		} else {
			strbuf_add(out, data + i++, 1);
		}
	}
}

static void frame(struct server *s, uint32_t node, const json_t *offer, const char *data, size_t n)
{
	json_t *head;
	const char *lease = json_string_value(json_object_get(offer, "lease"));
	json_int_t first = json_integer_value(json_object_get(offer, "next"));
	struct strbuf text = {0};

	if (n >= 3) {
		data_make(data + 3, n - 3, lease ? lease : "", &text);
		head = json_pack("{s:s,s:I,s:I,s:I,s:s}", "t", data[0] == 'e' ? "emptied" : "kept", "number",
				 first + (unsigned char)data[1] - 2, "size",
				 (json_int_t)text.n + (unsigned char)data[2], "age", (json_int_t)data[1] * 1000000,
				 "lease", lease && data[2] ? lease : "1-2-x");
		spool_frame(s, node, head, strbuf_text(&text), text.n);
		json_decref(head);
	}
	strbuf_fini(&text);
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
	static uint32_t node;
	static int runs;
	const char *p = (const char *)data, *end = p + size;

	if (!s || ++runs % 2000 == 0) { /* a fresh server now and then */
		if (!s)
			atexit(dir_remove);
		dir_remove();
		snprintf(dir, sizeof dir, "%s/fuzz-spool-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
		assert(mkdtemp(dir));
		bare_clear();
		s = server_make(dir, &node);
		vec_push(&old, s); /* still referenced, so that it is not reported as a leak */
	}

	json_t *offer = spool_lease(s, node); /* sent with each welcome */

	while (p < end) {
		const char *next = memchr(p, '\0', (size_t)(end - p));
		frame(s, node, offer, p, next ? (size_t)(next - p) : (size_t)(end - p));
		spool_turn(s);
		server_turn(s);
		plan_check(s->plan);
		p = next ? next + 1 : end;
	}
	json_decref(offer);
	return 0;
}
