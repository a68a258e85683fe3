/*
 * pbsattr_things.c - converts queues, the server and nodes to PBS's attributes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/lib/object.h"
#include "cmd/pbs/pbsattr_internal.h"

const char *pbsattr_counts(struct pbsattrs *a, const json_t *counts, int64_t *ret_total)
{
	static const struct {
		const char *word, *letters;
	} states[] = {{"Transit", "T"},	  {"Queued", "Q"},  {"Held", "H"},    {"Waiting", "W"},
		      {"Running", "RBS"}, {"Exiting", "E"}, {"Complete", "C"}};
	struct strbuf text = {0};

	if (!a->arena)
		a->arena = arena_create();
	*ret_total = 0;
	for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
		int64_t n = 0;
		for (const char *letter = states[i].letters; *letter; letter++)
			n += object_number(counts, (char[]){*letter, '\0'}, 0);
		strbuf_printf(&text, "%s%s:%" PRId64, i ? " " : "", states[i].word, n);
		*ret_total += n;
	}
	const char *kept = arena_strndup(a->arena, text.text, text.n);
	strbuf_fini(&text);
	return kept;
}

static void counts_add(struct pbsattrs *a, const json_t *thing)
{
	int64_t total;
	const char *counts = pbsattr_counts(a, json_object_get(thing, "counts"), &total);

	pbsattr_add(a, "total_jobs", NULL, PBSATTR_NUMBER, "%" PRId64, total);
	pbsattr_add(a, "state_count", NULL, PBSATTR_TEXT, "%s", counts);
}

static void value_add(struct pbsattrs *a, const char *name, const char *resource, const json_t *value)
{
	struct strbuf joined = {0};
	const json_t *item;
	size_t i;

	if (json_is_string(value)) {
		strbuf_puts(&joined, json_string_value(value));
	} else if (json_is_boolean(value)) {
		strbuf_puts(&joined, json_is_true(value) ? "True" : "False");
	} else if (json_is_array(value)) {
		json_array_foreach(value, i, item)
			strbuf_printf(&joined, "%s%s", i ? "," : "", json_string_value(item));
	} else if (json_is_number(value)) {
		strbuf_printf(&joined, "%.15g", json_number_value(value));
	}
	if (joined.n)
		pbsattr_add(a, name, resource, json_is_integer(value) ? PBSATTR_NUMBER : PBSATTR_TEXT, "%s",
			    joined.text);
	strbuf_fini(&joined);
}

/* Adds the set attributes: {"enabled": "True", "resources_max.walltime": "10:00:00"}; a nested
 * object also holds resources. */
static void attributes_add(struct pbsattrs *a, const json_t *attributes)
{
	const char *key, *inner;
	json_t *value, *part;

	json_object_foreach((json_t *)attributes, key, value)
	{
		const char *dot = strchr(key, '.');
		if (json_is_object(value)) {
			json_object_foreach(value, inner, part) value_add(a, key, inner, part);
		} else if (dot) {
			if (!a->arena)
				a->arena = arena_create();
			value_add(a, arena_strndup(a->arena, key, (size_t)(dot - key)), dot + 1, value);
		} else {
			value_add(a, key, NULL, value);
		}
	}
}

void pbsattr_queue(struct pbsattrs *a, const json_t *queue, enum pbs_family family)
{
	static const char *const always[] = {"queue_type", "enabled", "started"};
	const json_t *attributes = json_object_get(queue, "attributes"), *defaults = json_object_get(queue, "defaults");

	counts_add(a, queue);
	for (int i = 0; i < 3; i++)
		if (!json_object_get(attributes, always[i]))
			value_add(a, always[i], NULL, json_object_get(defaults, always[i]));
	attributes_add(a, attributes);
}

void pbsattr_server(struct pbsattrs *a, const json_t *server, enum pbs_family family)
{
	const char *state = object_text(server, "state");
	const json_t *amount;
	size_t i;

	pbsattr_add(a, "server_state", NULL, PBSATTR_TEXT, "%s",
		    strcmp(state, "idle") == 0		? "Idle"
		    : strcmp(state, "terminating") == 0 ? "Terminating"
							: "Active");
	pbsattr_add(a, "server_host", NULL, PBSATTR_TEXT, "%s", object_text(server, "host"));
	counts_add(a, server);
	attributes_add(a, json_object_get(server, "attributes"));
	pbsattr_add(a, "resources_available", "ncpus", PBSATTR_NUMBER, "%" PRId64, object_number(server, "cpus", 0));
	pbsattr_add(a, "resources_assigned", "ncpus", PBSATTR_NUMBER, "%" PRId64,
		    object_number(server, "cpus_used", 0));
	json_array_foreach(json_object_get(server, "amounts"), i, amount)
		pbsattr_add(a, "resources_assigned", object_text(amount, "name"), PBSATTR_NUMBER, "%" PRId64,
			    object_number(amount, "used", 0));
	pbsattr_add(a, "pbs_version", NULL, PBSATTR_TEXT, "%s", object_text(server, "version"));
}

/* Adds which job is on which CPU: "0/12.x, 1/12.x" in TORQUE, "12.x/0, 12.x/1" in PBS Pro. */
static void node_jobs_add(struct pbsattrs *a, const json_t *node, enum pbs_family family)
{
	const json_t *jobs = json_object_get(node, "jobs"), *job, *cpu;
	struct strbuf text = {0};
	size_t i, k;

	json_array_foreach(jobs, i, job)
	{
		const char *id = object_text(job, "id");
		json_array_foreach(json_object_get(job, "cpus"), k, cpu)
		{
			int n = (int)json_integer_value(cpu);
			strbuf_puts(&text, text.n ? ", " : "");
			if (family == PBS_PRO)
				strbuf_printf(&text, "%s/%d", id, n);
			else
				strbuf_printf(&text, "%d/%s", n, id);
		}
	}
	if (text.n)
		pbsattr_add(a, "jobs", NULL, PBSATTR_TEXT, "%s", text.text);
	strbuf_fini(&text);
}

const char *pbs_node_state(const char *state, const char *full, char *buf, size_t size)
{
	static const char *const words[][2] = {
		{"draining", "offline"}, {"joining", "down"}, {"unhealthy", "down"}, {"claimed", "busy"}};
	size_t used = 0;

	*buf = '\0';
	for (const char *p = state; *p; p += *p == ',') {
		size_t n = strcspn(p, ",");
		char word[32];
		snprintf(word, sizeof word, "%.*s", (int)n, p);
		if (strcmp(word, "busy") == 0)
			snprintf(word, sizeof word, "%s", full);
		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			if (strcmp(word, words[i][0]) == 0)
				snprintf(word, sizeof word, "%s", words[i][1]);
		if (!strstr(buf, word) && used < size)
			used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? "," : "", word);
		p += n;
	}
	return buf;
}

void pbsattr_node(struct pbsattrs *a, const json_t *node, enum pbs_family family)
{
	char state[64];
	static const char *const kib[][2] = {{"disk", "disk_used"}, {"swap", "swap_used"}};
	int64_t cpus = object_number(node, "cpus", 0), gpus = object_number(node, "gpus", 0),
		memory = object_number(node, "memory", 0);

	/* PBS's word for a full node; its own "busy" is about load. */
	pbs_node_state(object_text(node, "state"), family == PBS_PRO ? "job-busy" : "job-exclusive", state,
		       sizeof state);
	pbsattr_add(a, "state", NULL, PBSATTR_TEXT, "%s", state);
	if (family & PBS_TORQUE)
		pbsattr_add(a, "np", NULL, PBSATTR_NUMBER, "%" PRId64, cpus);
	if (family & PBS_TORQUE && gpus > 0)
		pbsattr_add(a, "gpus", NULL, PBSATTR_NUMBER, "%" PRId64, gpus);
	if (!(family & PBS_TORQUE))
		pbsattr_add(a, "pcpus", NULL, PBSATTR_NUMBER, "%" PRId64, cpus);
	value_add(a, "properties", NULL, json_object_get(node, "features"));
	pbsattr_add(a, "ntype", NULL, PBSATTR_TEXT, "%s", family == PBS_PRO ? "PBS" : "cluster");
	node_jobs_add(a, node, family);
	if (family & PBS_PRO) {
		pbsattr_add(a, "resources_available", "host", PBSATTR_TEXT, "%s", object_text(node, "name"));
		pbsattr_add(a, "resources_available", "ncpus", PBSATTR_NUMBER, "%" PRId64, cpus);
		if (memory > 0) {
			pbsattr_add(a, "resources_available", "mem", PBSATTR_TEXT, "%" PRId64 "kb", memory);
			pbsattr_add(a, "resources_assigned", "mem", PBSATTR_TEXT, "%" PRId64 "kb",
				    object_number(node, "memory_used", 0));
		}
		for (size_t i = 0; i < sizeof kib / sizeof *kib; i++)
			if (object_number(node, kib[i][0], 0) > 0) {
				pbsattr_add(a, "resources_available", kib[i][0], PBSATTR_TEXT, "%" PRId64 "kb",
					    object_number(node, kib[i][0], 0));
				pbsattr_add(a, "resources_assigned", kib[i][0], PBSATTR_TEXT, "%" PRId64 "kb",
					    object_number(node, kib[i][1], 0));
			}
		pbsattr_add(a, "resources_assigned", "ncpus", PBSATTR_NUMBER, "%" PRId64,
			    object_number(node, "cpus_used", 0));
		if (gpus > 0) {
			pbsattr_add(a, "resources_available", "ngpus", PBSATTR_NUMBER, "%" PRId64, gpus);
			pbsattr_add(a, "resources_assigned", "ngpus", PBSATTR_NUMBER, "%" PRId64,
				    object_number(node, "gpus_used", 0));
		}
	}
	if (json_is_number(json_object_get(node, "speed")) && json_number_value(json_object_get(node, "speed")) != 1)
		pbsattr_add(a, "speed", NULL, PBSATTR_TEXT, "%g", json_number_value(json_object_get(node, "speed")));
	if (json_is_true(json_object_get(node, "shared"))) {
		pbsattr_add(a, "shared", NULL, PBSATTR_TEXT, "True");
		pbsattr_add(a, "share_used", NULL, PBSATTR_TEXT, "%.3f",
			    json_number_value(json_object_get(node, "share_used")));
	}
	if (json_is_number(json_object_get(node, "load")))
		pbsattr_add(a, "loadave", NULL, PBSATTR_TEXT, "%.2f", json_number_value(json_object_get(node, "load")));
	if (*object_text(node, "version"))
		pbsattr_add(a, "pbs_version", NULL, PBSATTR_TEXT, "%s", object_text(node, "version"));
	if (object_number(node, "protocol", 0))
		pbsattr_add(a, "protocol", NULL, PBSATTR_TEXT, "%" PRId64 "%s", object_number(node, "protocol", 0),
			    json_is_true(json_object_get(node, "outdated")) ? " (older than the server's)" : "");
	if (*object_text(node, "note"))
		pbsattr_add(a, family == PBS_PRO ? "comment" : "note", NULL, PBSATTR_TEXT, "%s",
			    object_text(node, "note"));
}
