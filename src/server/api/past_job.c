/*
 * past_job.c - see past_job.h.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "server/api/past_job.h"
#include "server/api/show.h"
#include "server/job/entry.h"
#include "store/store.h"

const char *past_id(const struct history_row *row, const char *server, char *buf, size_t size)
{
	unsigned long long number = job_key_number(row->key);

	if (row->id)
		snprintf(buf, size, "%s", row->id);
	else if (job_key_index(row->key) >= 0)
		snprintf(buf, size, "%llu[%lld].%s", number, (long long)job_key_index(row->key), server);
	else
		snprintf(buf, size, "%llu.%s", number, server);
	return buf;
}

/* ---- writing ---- */

static void instant_write(struct json *j, const char *key, int64_t t)
{
	if (t > 0)
		json_int(j, key, t);
	else
		json_text(j, key, NULL);
}

static void amount_write(struct json *j, const char *key, int64_t n)
{
	instant_write(j, key, n); /* null if there is none, too */
}

/* What ended it, unless it ran to its end. */
static const char *cause_of(const char *state)
{
	for (uint8_t i = 0; i < END_COUNT; i++)
		if (cause_name(i) && strcmp(cause_name(i), state) == 0)
			return cause_name(i);
	return NULL;
}

static void used_write(const struct history_row *row, struct json *j)
{
	if (!row->started) {
		json_text(j, "used", NULL);
		return;
	}
	json_open_object(j, "used");
	json_int(j, "cput", row->cpu_ms / 1000);
	json_int(j, "walltime", row->ran_ms / 1000);
	json_int(j, "memory", row->peak_kib);
	json_close_object(j);
}

static void place_write(const struct history_row *row, struct json *j)
{
	struct strbuf vnode = {0};

	json_text(j, "exec_host", row->hosts);
	if (row->hosts)
		vnodes_format(row->hosts, &vnode);
	json_text(j, "exec_vnode", vnode.n ? vnode.text : NULL);
	strbuf_fini(&vnode);
}

/* All that elements and arrays have in common. */
static void members_write(const struct history_row *row, struct json *j)
{
	json_int(j, "number", (int64_t)job_key_number(row->key));
	json_text(j, "name", row->name);
	json_text(j, "owner", row->user);
	json_text(j, "queue", row->queue);
	json_text(j, "account", row->account);
	json_text(j, "project", row->project);
	json_text(j, "qos", row->qos);
	json_text(j, "state", "C");
	json_text(j, "substate", row->started ? "done" : "deleted");
	json_text(j, "holds", "n");
	json_int(j, "attempt", row->attempt);
	json_text(j, "resources", row->resources);
	json_int(j, "walltime", row->walltime);
	json_int(j, "cpus", row->cpus);
	json_int(j, "nodect", row->nodes);
	amount_write(j, "memory", row->memory_kib);
	amount_write(j, "gpus", row->gpus);
	json_int(j, "created", row->submitted);
	json_int(j, "queued", row->submitted);
	instant_write(j, "started", row->started);
	json_int(j, "ended", row->ended);
	json_int(j, "modified", row->ended);
	place_write(row, j);
	json_int(j, "exit_status", row->exit_status);
	json_text(j, "cause", cause_of(row->state));
	used_write(row, j);
	json_text(j, "comment", row->text);
	json_bool(j, "past", true);
}

void past_row_write(const struct history_row *row, const char *server, struct json *j)
{
	int64_t index = row->id ? -1 : job_key_index(row->key);
	char id[400];

	json_text(j, "id", past_id(row, server, id, sizeof id));
	if (index >= 0) {
		json_int(j, "index", index);
		snprintf(id, sizeof id, "%llu[].%s", (unsigned long long)job_key_number(row->key), server);
		json_text(j, "array", id);
	}
	members_write(row, j);
}

static void range_format(struct strbuf *out, int64_t first, int64_t last)
{
	strbuf_printf(out, "%s%lld", out->n ? "," : "", (long long)first);
	if (last > first)
		strbuf_printf(out, "-%lld", (long long)last);
}

void past_job_write(const struct past_job *p, const char *server, struct json *j)
{
	struct strbuf indices = {0};
	char id[400];

	if (!p->elements) {
		past_row_write(&p->row, server, j);
		return;
	}
	snprintf(id, sizeof id, "%llu[].%s", (unsigned long long)job_key_number(p->row.key), server);
	json_text(j, "id", id);
	strbuf_puts(&indices, strbuf_text(&p->indices));
	range_format(&indices, p->first, p->last);
	json_text(j, "array_spec", indices.text);
	json_open_object(j, "array_counts");
	json_int(j, "C", p->elements);
	json_close_object(j);
	members_write(&p->row, j);
	strbuf_fini(&indices);
}

/* ---- putting together ---- */

static const char *keep(struct past_job *p, const char *text)
{
	return text ? arena_printf(p->arena, "%s", text) : NULL;
}

static void row_keep(struct past_job *p, const struct history_row *row)
{
	struct history_row *to = &p->row;

	p->arena = arena_create();
	*to = *row;
	to->id = keep(p, row->id);
	to->user = keep(p, row->user);
	to->group = keep(p, row->group);
	to->account = keep(p, row->account);
	to->project = keep(p, row->project);
	to->queue = keep(p, row->queue);
	to->qos = keep(p, row->qos);
	to->name = keep(p, row->name);
	to->resources = keep(p, row->resources);
	to->hosts = keep(p, row->hosts);
	to->state = keep(p, row->state);
	to->text = keep(p, row->text);
}

/* Another element. What only one has is not said of an array; its exit status is the first that is not 0. */
static void row_merge(struct history_row *to, const struct history_row *row)
{
	to->hosts = to->text = NULL;
	if (!to->started || (row->started && row->started < to->started))
		to->started = row->started;
	if (row->ended > to->ended)
		to->ended = row->ended;
	if (!to->exit_status)
		to->exit_status = row->exit_status;
	to->ran_ms += row->ran_ms;
	to->cpu_ms += row->cpu_ms;
	if (row->peak_kib > to->peak_kib)
		to->peak_kib = row->peak_kib;
}

void past_job_add(struct past_job *p, const struct history_row *row)
{
	int64_t index = job_key_index(row->key);

	if (!p->arena)
		row_keep(p, row);
	else
		row_merge(&p->row, row);
	if (index < 0 || p->element)
		return;
	if (p->elements && index != p->last + 1)
		range_format(&p->indices, p->first, p->last);
	if (!p->elements || index != p->last + 1)
		p->first = index;
	p->last = index;
	p->elements++;
}

void past_job_fini(struct past_job *p)
{
	arena_destroy(p->arena);
	strbuf_fini(&p->indices);
}
