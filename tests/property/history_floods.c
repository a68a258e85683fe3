/*
 * history_floods.c - what people do to make the server work or remember too much: workflows in
 * layers, products of dependencies, and floods of requests that are refused or only ask.
 */
#include <stdio.h>
#include <unistd.h>

#include "property/history.h"
#include "server/job/jobs.h"
#include "server/server.h"

/* Depends on all of `n` jobs from a number on. */
static void depend_write(struct history *h, uint64_t first, uint64_t n, struct strbuf *b)
{
	strbuf_puts(b, rng_below(&h->floods, 3) ? "afterany" : "afterok");
	for (uint64_t i = 0; i < n; i++)
		strbuf_printf(b, ":%llu", (unsigned long long)(first + i));
}

static uint64_t next_number(const struct history *h)
{
	return h->s->jobs->next_number;
}

static void depend_alter(struct history *h, uint64_t number, uint64_t first, uint64_t n)
{
	struct strbuf b = {0};
	char path[64];

	depend_write(h, first, n, &b);
	snprintf(path, sizeof path, "/v1/jobs/%llu", (unsigned long long)number);
	ask(h, getuid(), "PATCH", path, "{\"depend\":\"%s\"}", b.text);
	strbuf_fini(&b);
}

/* Each job of a level depends on all of the level before. Then some depend on others, which may
 * be a circle. */
static void layers(struct history *h)
{
	uint64_t begun = next_number(h), first = 0, width = 0;

	for (uint64_t level = 0; level < 2 + rng_below(&h->floods, 3); level++) {
		uint64_t next = next_number(h);
		struct strbuf b = {0};
		if (width)
			depend_write(h, first, width, &b);
		for (uint64_t i = 0; i < 3; i++)
			ask(h, getuid(), "POST", "/v1/jobs",
			    "{\"script\":\"true\",\"resources\":[\"ncpus=1,walltime=60\"],\"depend\":\"%s\"}",
			    strbuf_text(&b));
		strbuf_fini(&b);
		first = next;
		width = next_number(h) - next;
		if (!width)
			return;
	}
	for (int i = 0; i < 3; i++) {
		uint64_t all = next_number(h) - begun, number = begun + rng_below(&h->floods, all);
		depend_alter(h, number, begun + rng_below(&h->floods, all), 1);
	}
}

/* Each element of an array depends on many jobs, some of them several times. */
static void product(struct history *h)
{
	uint64_t there = next_number(h) - 1, number = there + 1, n = there < 40 ? there : 40;
	struct strbuf b = {0};

	depend_write(h, number - n, n, &b);
	ask(h, getuid(), "POST", "/v1/jobs",
	    "{\"script\":\"true\",\"resources\":[\"ncpus=1,walltime=60\"],\"array\":\"0-%d\",\"depend\":\"%s\"}",
	    1 + (int)rng_below(&h->floods, 8), b.text);
	strbuf_fini(&b);
	if (next_number(h) > number && n)
		depend_alter(h, number, number - n, 1 + rng_below(&h->floods, n));
}

/* Requests about things that the site does not have, each named as nothing was named before. */
static void unknown_ask(struct history *h, uint32_t i)
{
	static const char *const needs[] = {"ncpus=1,licence%u=1",     "ncpus=1,advres=r%u", "ncpus=1,partition=P%u",
					    "nodes=1:feature%u:ppn=1", "nodes=host%u:ppn=1", "ncpus=1,qos=q%u"};
	static const struct {
		const char *path, *name, *value;
	} settings[] = {{"/v1/reservations/kept", "nodes", "host%u"},
			{"/v1/reservations/kept", "start", "2027-%u-99"},
			{"/v1/reservations/kept", "amounts.licence%u", "3"},
			{"/v1/reservations/kept", "per_node.ncpus", "10%u"},
			{"/v1/reservations/kept", "hours", "Mon %u:99"},
			{"/v1/queues/fast", "nodes", "host%u,"},
			{"/v1/queues/fast", "priority", "x%u"},
			{"/v1/server", "default_queue", "queue%u"},
			{"/v1/server", "resources_available.ncpus%u", "x"},
			{"/v1/accounts/account%u", "parent", "top"},
			{"/v1/nodes/host%u", "x", "y"},
			{"/v1/partitions/part%u", "nodes", "n1"}};
	static const char *const lists[] = {"/v1/jobs?user=user%u",   "/v1/jobs?queue=queue%u",
					    "/v1/jobs?state=state%u", "/v1/quota?user=user%u",
					    "/v1/usage?user=user%u",  "/v1/credits?account=account%u",
					    "/v1/nodes/host%u"};
	char text[3][80];

	for (size_t k = 0; k < sizeof needs / sizeof *needs; k++) {
		snprintf(text[0], sizeof text[0], needs[k], i); /* NOLINT */
		ask(h, getuid(), "POST", k % 2 ? "/v1/jobs" : "/v1/whatif",
		    "{\"script\":\"true\",\"queue\":\"batch\",\"resources\":[\"%s\"]}", text[0]);
	}
	for (size_t k = 0; k < sizeof settings / sizeof *settings; k++) {
		snprintf(text[0], sizeof text[0], settings[k].path, i);	 /* NOLINT */
		snprintf(text[1], sizeof text[1], settings[k].name, i);	 /* NOLINT */
		snprintf(text[2], sizeof text[2], settings[k].value, i); /* NOLINT */
		ask(h, getuid(), "PATCH", text[0], "{\"changes\":[{\"op\":\"set\",\"name\":\"%s\",\"value\":\"%s\"}]}",
		    text[1], text[2]);
	}
	for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
		snprintf(text[0], sizeof text[0], lists[k], i); /* NOLINT */
		ask(h, 65534, "GET", text[0], "%s", "");
	}
	ask(h, getuid(), "POST", "/v1/jobs", "{\"script\":\"true\",\"class\":\"class%u\",\"queue\":\"batch\"}", i);
	ask(h, 65534, "POST", "/v1/credits", "{\"op\":\"deposit\",\"account\":\"account%u\",\"amount\":1}", i);
	ask(h, getuid(), "POST", "/v1/credits", "{\"op\":\"deposit\",\"account\":\"account%u\",\"amount\":0}", i);
}

void refused_ask(struct history *h, uint32_t i)
{
	uid_t uid = i % 3 ? getuid() : 65534;
	char path[64], features[64] = "";

	for (int k = 0, n = 0; k < 7; k++) /* each subset of the features that n3 has */
		if (i >> k & 1)
			n += snprintf(features + n, sizeof features - (size_t)n, ":f%d", k);
	ask(h, uid, "POST", "/v1/whatif",
	    "{\"script\":\"true\",\"resources\":[\"nodes=%u:ppn=1%s,mem=%ukb\"],\"project\":\"p%u\"}",
	    i % 7 ? 50 + i % 500 : 1, features, 1024 + i, i);
	ask(h, uid, "POST", "/v1/jobs",
	    "{\"script\":\"true\",\"queue\":\"nowhere%u\",\"account\":\"a%u\",\"submit_host\":\"h%u\"}", i, i, i);
	ask(h, uid, "POST", "/v1/whatif",
	    "{\"script\":\"true\",\"resources\":[\"ncpus=1,estimate=%u,budget=%u\"],\"deadline\":%lld}", 30 + i % 1000,
	    1 + i, (long long)(h->now_us / 1000000 + 2000 + i));
	snprintf(path, sizeof path, "/v1/jobs/%u", 1 + i % 20);
	ask(h, uid, "PATCH", path, "{\"project\":\"q%u\",\"resources\":[\"nodes=%u:ppn=0\"]}", i, 2000 + i);
	unknown_ask(h, i);
}

void op_floods(struct history *h)
{
	uint32_t from = (uint32_t)rng_below(&h->floods, 100000);

	switch (rng_below(&h->floods, 3)) {
	case 0:
		layers(h);
		break;
	case 1:
		product(h);
		break;
	default:
		for (uint32_t i = 0; i < 5; i++)
			refused_ask(h, from + i);
	}
	h->submitted = next_number(h) - 1;
}
