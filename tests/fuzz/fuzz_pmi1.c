/*
 * fuzz_pmi1.c - any bytes as lines of PMI-1, and as data of other hosts. Every line is answered by
 * at most one line.
 */
#include <assert.h>
#include <string.h>

#include "pmix/pmi1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct layout_rank ranks[2] = {{.host = 0, .local = 0}, {.host = 0, .local = 1}};
	struct layout l = {.name = "run", .size = 2, .rank = ranks};
	struct strbuf text = {0};
	struct pmi1 p;

	vec_push(&l.host, (struct layout_host){.name = "n"});
	vec_push(&l.host.v[0].rank, 0);
	vec_push(&l.host.v[0].rank, 1);
	pmi1_init(&p, &l);
	strbuf_add(&text, (const char *)data, size);
	for (char *at = text.text, *end; at && (end = memchr(at, '\n', size - (size_t)(at - text.text)));
	     at = end + 1) {
		struct strbuf answer = {0};
		*end = '\0';
		enum pmi1_deed deed = pmi1_line(&p, 0, at, &answer);
		assert(answer.n == 0 || memchr(answer.text, '\n', answer.n) == answer.text + answer.n - 1);
		if (deed == PMI1_FENCE)
			pmi1_pass(&p, p.fresh.text, p.fresh.n);
		strbuf_fini(&answer);
	}
	pmi1_pass(&p, (const char *)data, size);
	pmi1_fini(&p);
	vec_free(&l.host.v[0].rank);
	vec_free(&l.host);
	strbuf_fini(&text);
	return 0;
}
