/*
 * fuzz_peer.c - any JSON as the head of a station's frame with any bytes after its first NUL as the
 * data, and any text as a graph of tasks, as a multicast message, and as a list of removed
 * stations. What is accepted can be written and read again.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bag/graph.h"
#include "base/codec.h"
#include "station/discover.h"
#include "station/pool_table.h"
#include "station/removed.h"

static void start_try(const json_t *head, const char *data, size_t n, struct arena *a)
{
	struct peer_start s, again;
	struct strbuf out = {0};
	struct err err;
	json_t *back;
	char *text;

	if (peer_start_read(head, data, n, a, &s, &err) < 0)
		return;
	text = peer_start_write(&s, &out);
	back = json_loads(text, 0, NULL);
	assert(out.n == n && memcmp(out.text, data, n) == 0);
	assert(peer_start_read(back, out.text, out.n, a, &again, &err) == 0 && again.id == s.id);
	json_decref(back);
	free(text);
	strbuf_fini(&out);
}

static void report_try(const json_t *head)
{
	struct peer_report r;
	struct pool_entry e = {.linked = true};
	struct pool_need none = {0};
	struct err err;

	if (peer_report_read(head, &r, &err) < 0)
		return;
	pool_table_report(&e, &r, 0);
	pool_entry_usable(&e, &none, 0, 1);
	for (int p = 0; p < PLACE_POLICIES; p++)
		assert(place_cost(&(struct place_rule){(enum place_policy)p, PLACE_K1, PLACE_K2}, &r.load) >= 0);
}

static void removed_try(const char *text, size_t n)
{
	struct strbuf copy = {0};
	struct revoked all;
	uint64_t number;
	struct err err;

	strbuf_add(&copy, text, n);
	if (removed_parse(strbuf_text(&copy), &number, &all, &err) == 0) {
		assert(number > 0 && all.joins.n <= REMOVED_MOST);
		revoked_fini(&all);
	}
	strbuf_fini(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *nul = size ? memchr(text, '\0', size) : NULL;
	size_t nhead = nul ? (size_t)(nul - text) : size;
	json_t *head = json_loadb(text, nhead, JSON_REJECT_DUPLICATES, NULL);
	struct arena *a = arena_create();
	struct peer_hello hello;
	struct peer_done done;
	struct graph g;
	struct err err;

	if (json_is_object(head)) {
		start_try(head, nul ? nul + 1 : text, nul ? size - nhead - 1 : 0, a);
		report_try(head);
		peer_hello_read(head, a, &hello, &err);
		record_load(peer_done_frame.fields, 0, head, &done, NULL, &err);
	}
	struct discover d;
	if (size && discover_read(text, size, &d) == 0) {
		char again[DISCOVER_SIZE];
		struct discover back;
		assert(discover_read(again, discover_write(&d, again), &back) == 0 && back.port == d.port);
	}
	removed_try(text, size);
	if (graph_parse(text, size, &g, &err) == 0)
		graph_fini(&g);
	json_decref(head);
	arena_destroy(a);
	return 0;
}
