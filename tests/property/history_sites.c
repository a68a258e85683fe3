/*
 * history_sites.c - jobs go to other sites and come back: what people do with them, and what the
 * courier reports.
 *
 * A site is only what the courier says of it: reports come in any order, of earlier tries too. All
 * of it is drawn from h->sites, so that seeds mean without it what they meant before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "property/history.h"
#include "server/base/words.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/server.h"
#include "support/bare.h"

static uint64_t some(struct history *h, uint64_t n)
{
	return rng_below(&h->sites, n);
}

#define SOME(h, ...)                                                                                                   \
	((const char *const[]){__VA_ARGS__})[some(h, sizeof(const char *const[]){__VA_ARGS__} / sizeof(const char *))]

static const char *queue_there(struct history *h)
{
	return SOME(h, "long@east", "@east", "short@west", "long@nowhere");
}

/* Two are there from the beginning; one without jobs can go. */
void sites_add(struct history *h)
{
	static const char body[] = "{\"servers\":\"%s\",\"token\":\"s%d.secret.0123456789abcdef0123456789abcdef\"}";

	ask(h, getuid(), "PUT", "/v1/sites/east", body, "east.example.org:7722", 1);
	ask(h, getuid(), "PUT", "/v1/sites/west", body, "one two:7000", 2);
}

static void site_change(struct history *h)
{
	const char *path = SOME(h, "/v1/sites/east", "/v1/sites/west");

	if (some(h, 2))
		ask(h, getuid(), "DELETE", path, "{}");
	else
		sites_add(h);
}

static void submit(struct history *h)
{
	struct strbuf b = {0};
	int cpus = 1 + (int)some(h, 4), walltime = 1 + (int)some(h, 300);

	strbuf_printf(&b,
		      "{\"name\":\"s\",\"script\":\"exit 0\",\"resources\":[\"ncpus=%d,walltime=%d\"],\"queue\":\"%s\"",
		      cpus, walltime, some(h, 3) ? queue_there(h) : "entry");
	if (some(h, 4) == 0)
		strbuf_puts(&b, ",\"hold\":\"u\"");
	if (some(h, 6) == 0)
		strbuf_printf(&b, ",\"at\":%lld", (long long)(h->now_us / 1000000 + (int64_t)some(h, 200)));
	if (some(h, 6) == 0 && h->submitted)
		strbuf_printf(&b, ",\"depend\":\"afterany:%lld\"", (long long)(1 + some(h, h->submitted)));
	if (some(h, 4) == 0)
		strbuf_printf(&b, ",\"array\":\"%s\"", SOME(h, "0-3%2", "1,5-7", "2-4%1"));
	if (some(h, 5) == 0) {
		int64_t deadline = h->now_us / 1000000 + 400 + (int64_t)some(h, 2000);
		strbuf_printf(&b, ",\"type\":\"Q\",\"deadline\":%lld%s", (long long)deadline,
			      some(h, 2) ? "" : ",\"require_guarantee\":true");
	}
	strbuf_puts(&b, "}");
	ask(h, some(h, 3) ? getuid() : 65534, "POST", "/v1/jobs", "%s", b.text);
	h->submitted = h->s->jobs->next_number - 1;
	strbuf_fini(&b);
}

/* One that is in such a queue, or any other. */
static uint32_t some_leaving(struct history *h)
{
	const struct jobs *jobs = h->s->jobs;

	if (jobs->leaving.n && some(h, 3))
		return jobs->leaving.v[some(h, jobs->leaving.n)];
	return jobs->entries.n > 1 ? 1 + (uint32_t)some(h, jobs->entries.n - 1) : 0;
}

static void change(struct history *h)
{
	const char *what = SOME(h, "move", "move", "move", "delete", "hold", "release");
	uint32_t id = some_leaving(h);
	struct strbuf name = {0};
	char path[32];

	if (id == 0 || !entry_get(h->s, id)->spec)
		return;
	entry_id(h->s, id, &name);
	snprintf(path, sizeof path, "/v1/jobs/%s", what);
	if (strcmp(what, "move") == 0)
		ask(h, getuid(), "POST", path, "{\"ids\":[\"%s\"],\"queue\":\"%s\"}", name.text,
		    some(h, 2) ? queue_there(h) : SOME(h, "batch", "fast", "entry"));
	else if (strcmp(what, "delete") == 0)
		ask(h, getuid(), "POST", path, "{\"ids\":[\"%s\"],\"message\":\"no more\"%s}", name.text,
		    some(h, 6) ? "" : ",\"purge\":true");
	else
		ask(h, getuid(), "POST", path, "{\"ids\":[\"%s\"],\"holds\":\"u\"}", name.text);
	strbuf_fini(&name);
}

/* What the courier has to do. Those that can leave are offered by that. */
static json_t *work_ask(struct history *h)
{
	struct bare_answer a = {0};
	json_t *ret;

	bare_ask(h->s, getuid(), "POST", "/v1/courier", "{}", &a);
	ret = json_loads(strbuf_text(&a.body), 0, NULL);
	if (h->loud)
		printf("# courier: %s\n", strbuf_text(&a.body));
	strbuf_fini(&a.body);
	return ret;
}

static void report(struct history *h, const json_t *job, const char *rest)
{
	int64_t try = json_integer_value(json_object_get(job, "try"));
	char path[64];

	snprintf(path, sizeof path, "/v1/courier/%s", json_string_value(json_object_get(job, "name")));
	ask(h, getuid(), "POST", path, "{\"try\":%lld,%s}", (long long)try - (some(h, 12) == 1), rest);
}

static void ended_write(struct history *h, char *ret, size_t size)
{
	int64_t now = h->now_us / 1000000;
	int status = (int)some(h, 3);
	const char *used = some(h, 2) ? ",\"used\":{\"cput\":3,\"memory\":512,\"walltime\":7}" : "";
	const char *how =
		SOME(h, "", ",\"comment\":\"it said so\"", ",\"cause\":\"walltime\"", ",\"cause\":\"deleted\"");

	snprintf(ret, size, "\"result\":\"ended\",\"job\":{\"exit_status\":%d,\"started\":%lld,\"ended\":%lld%s%s}%s",
		 status, (long long)now - 9, (long long)now - 2, used, how,
		 some(h, 3) ? "" : ",\"why\":\"its output stays there\"");
}

static void courier(struct history *h)
{
	json_t *work = work_ask(h), *jobs = json_object_get(work, "jobs");
	size_t n = json_array_size(jobs);
	char text[500];

	if (n) {
		const json_t *job = json_array_get(jobs, some(h, n));
		int there;
		char state;
		switch (some(h, 8)) {
		case 0:
		case 1:
		case 2:
			there = (int)some(h, 90);
			snprintf(text, sizeof text, "\"result\":\"accepted\",\"there\":\"%d%s.there\"", there,
				 some(h, 2) ? "[]" : "");
			break;
		case 3:
			snprintf(text, sizeof text, "\"result\":\"back\"%s",
				 some(h, 2) ? "" : ",\"why\":\"it has no such queue\"");
			break;
		case 4:
		case 5:
			state = "QRHWSEx"[some(h, 7)];
			snprintf(text, sizeof text, "\"result\":\"state\",\"state\":\"%c\",\"guaranteed\":%s", state,
				 some(h, 2) ? "true" : "false");
			break;
		case 6:
			ended_write(h, text, sizeof text);
			break;
		default:
			snprintf(text, sizeof text, "\"result\":\"trouble\",\"why\":\"%s\"",
				 SOME(h, "no answer", "no such user"));
			break;
		}
		report(h, job, text);
	}
	json_decref(work);
}

void op_sites(struct history *h)
{
	switch (some(h, 12)) {
	case 0:
		if (some(h, 3) == 0)
			site_change(h);
		break;
	case 1:
		attribute(h, "/v1/queues/entry", "route_destinations",
			  SOME(h, "long@east,fast", "slow,short@west", "fast,slow", "@east,@west"));
		break;
	case 2:
	case 3:
		submit(h);
		break;
	case 4:
	case 5:
	case 6:
		change(h);
		break;
	default:
		courier(h);
		break;
	}
}

void sites_drain(struct history *h)
{
	json_t *work = work_ask(h), *job;
	char text[500];
	size_t i;

	json_array_foreach(json_object_get(work, "jobs"), i, job)
	{
		report(h, job, "\"result\":\"accepted\",\"there\":\"1.there\"");
		ended_write(h, text, sizeof text);
		report(h, job, text);
	}
	json_decref(work);
}

void away_see(const struct history *h, uint32_t id, struct strbuf *out)
{
	const struct away *a = entry_get(h->s, id)->away;

	if (!a)
		return;
	strbuf_printf(out, "  away %d wish %d state %s try %u from %s id %s refused", a->phase, a->wish, a->state,
		      a->try, a->from ? word_text(h->s, a->from) : "-", a->id ? a->id : "-");
	for (int i = 0; i < AWAY_REFUSED && a->refused[i]; i++)
		strbuf_printf(out, " %s", word_text(h->s, a->refused[i]));
	strbuf_puts(out, "\n");
}

void away_check(const struct history *h, const struct array *a)
{
	uint32_t n = 0;

	for (uint32_t id = a->first; id < a->first + a->count; id++)
		n += entry_away(entry_get(h->s, id)) && !entry_ended(h->s, id);
	assert_int_equal(n, a->away);
}
