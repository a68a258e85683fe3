/*
 * lives.c - the engine of test_peers.c, in place of engine/engine.c. See peers.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/names.h"
#include "core/cluster.h"
#include "engine/engine.h"
#include "golden/peers.h"
#include "run/nursery.h"
#include "run/order.h"
#include "server/api/page/files.h"
#include "server/life/world/dispatch.h"
#include "server/link/agents.h"
#include "server/server.h"
#include "support/site.h"

static struct life {
	char tag[64];
	bool started;
	char fate[8]; /* what a server that is started learns of it; "": it runs */
} lives[LIVES];

static struct life *life_of(const char *tag)
{
	size_t n = strlen(tag);

	for (int i = 0; i < LIVES; i++)
		if (strncmp(lives[i].tag, tag, n) == 0 && (!lives[i].tag[n] || strchr(".-", lives[i].tag[n])))
			return &lives[i];
	return NULL;
}

void engine_start(struct engine *e, const struct part_order *parts, int n)
{
	for (int i = 0; i < LIVES; i++)
		if (!*lives[i].tag) {
			lives[i] = (struct life){0};
			snprintf(lives[i].tag, sizeof lives[i].tag, "%s", parts[0].order.tag);
			break;
		}
	for (int i = 0; i < n; i++)
		say("engine: start %s, part %d on \"%s\", walltime %lld", parts[0].order.tag, i, parts[i].host,
		    (long long)parts[i].order.walltime);
}
void engine_signal(struct engine *e, const char *tag, int signal)
{
	say("engine: signal %d to %s", signal, tag);
}
void engine_limit(struct engine *e, const char *tag, int64_t walltime)
{
	say("engine: limit of %s is %lld", tag, (long long)walltime);
}
void engine_save(struct engine *e, const char *tag, enum checkpoint_cause cause, int64_t seconds)
{
	say("engine: save %s, cause %d, %lld s", tag, (int)cause, (long long)seconds);
}
void engine_forget(struct engine *e, const char *tag)
{
	say("engine: forget %s", tag);
}
enum attempt_state engine_attach(struct engine *e, const char *tag, const char *const *hosts, int n)
{
	const struct life *x = life_of(tag);

	say("engine: attach %s on \"%s\"", tag, hosts[0]);
	if (x && *x->fate)
		return strcmp(x->fate, "lost") == 0    ? ATTEMPT_LOST
		       : strcmp(x->fate, "ended") == 0 ? ATTEMPT_ENDED
						       : ATTEMPT_NEVER;
	return !x ? ATTEMPT_NEVER : x->started ? ATTEMPT_RUNS : ATTEMPT_UNKNOWN;
}
void engine_host_up(struct engine *e, const char *host, struct link *link, const json_t *inventory)
{
	char *text = json_dumps(inventory, JSON_ENCODE_ANY);

	say("engine: host %s is up with %s: %s", host, link->name, text ? text : "");
	free(text);
}
void engine_host_down(struct engine *e, const char *host)
{
	say("engine: host %s is down", host);
}
void engine_host_lost(struct engine *e, const char *host)
{
	say("engine: host %s is lost", host);
}
/* Replaces a file, or removes it, in place of the nursery. */
void engine_rename(struct engine *e, uint64_t id, const struct nursery_user *who, const char *from, const char *path)
{
	int rc = *path ? rename(from, path) : unlink(from),
	    fd = rc < 0 || !*path ? -1 : open(path, O_RDONLY | O_CLOEXEC);

	say("engine: rename %s to \"%s\" as %s", from, path, who->name);
	files_opened(site->s, id, fd, fd < 0 ? strerror(rc < 0 ? errno : ENOENT) : NULL);
}
struct link *engine_link(const struct engine *e, const char *host)
{
	uint32_t node;

	return names_find(&site->s->cluster->node_names, host, &node) ? agents_link_of(site->s, node) : NULL;
}
bool engine_frame(struct engine *e, const char *host, const json_t *head, const char *data, size_t n)
{
	char *text = json_dumps(head, JSON_SORT_KEYS);

	say("engine: from %s %s", host, text);
	free(text);
	return true;
}

void life_starts(const char *tag)
{
	struct life *x = life_of(tag);

	if (!x) {
		say("*** it was not ordered");
		return;
	}
	x->started = true;
	dispatch_engine.attempt_started(site->s, x->tag, 4711);
}

void life_ends(const char *tag, int status, const char *host)
{
	struct life *x = life_of(tag), was;

	if (!x) {
		say("*** it was not ordered");
		return;
	}
	was = *x;
	*x = (struct life){0};
	if (host)
		dispatch_engine.attempt_lost(site->s, was.tag, host, NULL);
	else
		dispatch_engine.attempt_ended(site->s, &(struct result){.tag = was.tag,
									.how = RESULT_EXITED,
									.status = status,
									.started_us = now_us - 60000000,
									.ended_us = now_us,
									.ran_ms = 60000});
}

bool life_uses(const char *tag, int64_t cpu_ms, int64_t memory_kib)
{
	struct life *x = life_of(tag);

	if (x)
		dispatch_engine.attempt_used(site->s, x->tag, cpu_ms, memory_kib);
	return x != NULL;
}

void life_fate(const char *tag, const char *fate)
{
	struct life *x = life_of(tag);

	if (x)
		snprintf(x->fate, sizeof x->fate, "%s", fate);
	else
		say("*** it was not ordered");
}

void lives_begin(void)
{
	memset(lives, 0, sizeof lives);
}
