/*
 * fuzz_order.c - any bytes as orders, results, requests and answers of the processes that run jobs,
 * and as reports of an agent. What is read can be written, and reads the same again.
 */
#include <assert.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/news.h"
#include "run/glance.h"
#include "run/message.h"
#include "run/task.h"

static void same(const struct strbuf *a, const struct strbuf *b)
{
	assert(a->n == b->n && memcmp(a->text, b->text, a->n) == 0);
}

static void order_try(const char *text, size_t n, struct arena *a)
{
	struct strbuf first = {0}, again = {0};
	struct err err = {.text = ""};
	struct order_glance g;
	struct order o;

	if (order_read(text, n, a, &o, &err) < 0) {
		assert(err.text[0]);
		return;
	}
	assert(o.argv && o.env && o.uid != BY_NAME);
	if (order_glance(text, n, a, &g) == 0)
		assert(!strcmp(g.tag, o.tag) && !strcmp(g.user, o.user) && g.uid == o.uid && g.gid == o.gid &&
		       g.lease == o.lease && g.grace == o.grace && g.by_name == o.foreign.by_name &&
		       g.look_up == o.foreign.look_up);
	order_write(&o, &first);
	assert(order_read(first.text, first.n, a, &o, &err) == 0);
	order_write(&o, &again);
	same(&first, &again);
	strbuf_fini(&first);
	strbuf_fini(&again);
}

static void result_try(const char *text, size_t n, struct arena *a)
{
	struct strbuf first = {0}, again = {0};
	struct result r;

	if (result_read(text, n, a, &r, NULL) < 0)
		return;
	assert(result_has(r.cpu_ms) && result_has(r.memory_kib) && r.status >= 0 && r.status <= RESULT_EXIT_MAX);
	result_write(&r, &first);
	assert(result_read(first.text, first.n, a, &r, NULL) == 0);
	result_write(&r, &again);
	same(&first, &again);
	strbuf_fini(&first);
	strbuf_fini(&again);
}

static void news_try(const char *text, size_t n, struct arena *a)
{
	json_t *head = json_loadb(text, n, 0, NULL);
	struct strbuf frame = {0};
	struct result r = {0};
	struct news news;

	if (head && news_read(head, a, &r, &news)) {
		news_frame(&news, &frame);
		assert(!news.reason || strlen(news.reason) <= 4096);
	}
	strbuf_fini(&frame);
	json_decref(head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct arena *a = arena_create();
	struct task_answer heard;
	struct request q;
	struct answer said;
	struct task t;

	order_try(text, size, a);
	result_try(text, size, a);
	news_try(text, size, a);
	if (size && request_read(text[0], text + 1, size - 1, a, &q) == 0)
		assert(q.tag || (q.user && q.path));
	if (answer_read(text, size, a, &said, NULL) == 0)
		assert(said.type <= ANSWER_ERASED);
	if (task_request_read(text, size, a, &t, NULL) == 0)
		assert(*t.argv[0] && t.rows >= 0 && t.rows <= UINT16_MAX);
	if (task_answer_read(text, size, a, &heard, NULL) == 0 && heard.type == TASK_WHO)
		assert(heard.place.user && heard.place.uid != BY_NAME);
	arena_destroy(a);
	return 0;
}
