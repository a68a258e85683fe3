/*
 * history.c - a server that lives through a history is opened and asked.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "property/history.h"
#include "server/base/work.h"
#include "server/server.h"
#include "support/bare.h"

/* What fits the nodes of an overlay (history_overlays.c) also fits these: those of an overlay
 * never come, and it may be removed. */
#define NODES "n[1-2]:cpus=4:mem=8gb:disk=100gb:swap=2gb n3:cpus=8:mem=8gb:disk=100gb:swap=4gb:big:f0:f1:f2:f3:f4:f5:f6"

struct server *server_open(struct history *h)
{
	struct server *s = bare_open(h->dir, NODES);

	visits_realm(s);
	s->slices->slice_steps = 1 + (int64_t)below(h, 4);
	return s;
}

int64_t below(struct history *h, int64_t n)
{
	return (int64_t)(rng_next(&h->rng) % (uint64_t)n);
}

bool one_in(struct history *h, int64_t n)
{
	return below(h, n) == 0;
}

const char *pick(struct history *h, const char *const *list)
{
	int n = 0;

	while (list[n])
		n++;
	return list[below(h, n)];
}

/* Root, who manages, and somebody else. */
uid_t someone(struct history *h)
{
	return one_in(h, 3) ? 65534 : getuid();
}

/* Those that were answered meanwhile go; all of them do when their server has gone. */
void waiting_end(struct history *h, bool all)
{
	for (int i = 0; i < WAITING_MAX; i++)
		if (h->waiting[i] && (all || bare_answered(h->waiting[i]))) {
			bare_end(h->waiting[i]);
			h->waiting[i] = NULL;
		}
}

static void digest_add(struct history *h, const char *method, const char *path, const char *body, int status)
{
	const uint64_t of[] = {h->digest, hash_bytes(method, strlen(method)), hash_bytes(path, strlen(path)),
			       hash_bytes(body, strlen(body)), (uint64_t)status};

	h->digest = hash_bytes(of, sizeof of);
}

/* A request that is done in slices while others come, and that a restart may cut off. */
static void begin(struct history *h, uid_t uid, const char *method, const char *path, const char *body)
{
	int i = 0;

	while (i < WAITING_MAX && h->waiting[i])
		i++;
	if (i == WAITING_MAX)
		return;
	if (h->loud)
		printf("# %lld %u %s %s %s -> begun\n", (long long)(h->now_us / 1000000 - EPOCH), (unsigned)uid, method,
		       path, body);
	digest_add(h, method, path, body, 0);
	h->waiting[i] = bare_begin(h->s, uid, method, path, NULL, body, NULL);
}

void ask(struct history *h, uid_t uid, const char *method, const char *path, const char *fmt, ...)
{
	struct bare_answer a = {0};
	char body[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(body, sizeof body, fmt, ap);
	va_end(ap);
	if (h->patience < 0) {
		begin(h, uid, method, path, body);
		return;
	}
	bare_ask(h->s, uid, method, path, body, &a);
	digest_add(h, method, path, body, a.status);
	if (h->loud)
		printf("# %lld %u %s %s %s -> %d %.160s\n", (long long)(h->now_us / 1000000 - EPOCH), (unsigned)uid,
		       method, path, body, a.status, strbuf_text(&a.body));
	strbuf_fini(&a.body);
}

void attribute(struct history *h, const char *path, const char *name, const char *value)
{
	struct strbuf before = {0}, after = {0};

	coordinated_see(h, &before);
	ask(h, getuid(), "PATCH", path, "{\"changes\":[{\"op\":\"set\",\"name\":\"%s\",\"value\":\"%s\"}]}", name,
	    value);
	coordinated_see(h, &after);
	strbuf_fini(&before);
	strbuf_fini(&after);
}
