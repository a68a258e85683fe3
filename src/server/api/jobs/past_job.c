/*
 * past_job.c - see past_job.h.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/codec.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "server/api/frame/schemas.h"
#include "server/api/jobs/past_job.h"
#include "server/api/jobs/show.h"
#include "server/book/past.h"
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

/* Returns what ended a job; NULL: it ran to its end. */
static const char *cause_of(const char *state)
{
	for (uint8_t i = 0; i < END_COUNT; i++)
		if (cause_name(i) && strcmp(cause_name(i), state) == 0)
			return cause_name(i);
	return NULL;
}

/* Members of a job that are computed from its row (past.h has the others). */
struct derived {
	int64_t number, index;	/* index: -1 unless it is an element */
	const char *array;	/* elements only */
	const char *array_spec; /* arrays only */
	int64_t completed;	/* number of an array's elements; 0: not an array */
	const char *state, *substate, *holds;
	const char *vnodes; /* NULL: it never ran, or is an array */
	const char *cause;  /* NULL: it ran to its end */
	struct job_used used;
	bool past;
};
#define HAS(member) MEMBER(struct derived, member)

static const struct field counts_fields[] = {{"C", .is = REQUIRED | IS_INT, .form = FORM_I64}, {0}};
static const struct schema counts = {.fields = counts_fields};

static const struct field derived_fields[] = {
	{"number", .is = REQUIRED | IS_INT, HAS(number)},
	{"index", .is = IS_INT | SPARSE, .missing = -1, HAS(index)},
	{"array", .is = IS_TEXT, HAS(array)},
	{"array_spec", .is = IS_TEXT, HAS(array_spec)},
	{"array_counts", .is = IS_OBJECT | SPARSE, .of = &counts, MEMBER_AS(FORM_RECORD, struct derived, completed)},
	{"state", .is = REQUIRED | IS_TEXT, HAS(state)},
	{"substate", .is = REQUIRED | IS_TEXT, HAS(substate)},
	{"holds", .is = REQUIRED | IS_TEXT, HAS(holds)},
	{"exec_vnode", .is = IS_TEXT | IS_NULL, HAS(vnodes)},
	{"cause", .is = IS_TEXT | IS_NULL, HAS(cause)},
	{"used", .is = IS_OBJECT | IS_NULL, .of = &used_schema, MEMBER_AS(FORM_RECORD, struct derived, used)},
	{"past", .is = REQUIRED | IS_BOOL, HAS(past)},
	{0},
};

static struct job_used used_of(const struct history_row *row)
{
	return row->started ? (struct job_used){row->cpu_ms / 1000, row->ran_ms / 1000, row->peak_kib} : USED_NOTHING;
}

/* Writes a row under the name `id`, with the computed members. */
static void job_write(const struct history_row *row, const char *id, struct derived d, struct json *j)
{
	struct history_row named = *row;
	struct strbuf vnodes = {0};

	named.id = id;
	if (row->hosts)
		vnodes_format(row->hosts, &vnodes);
	d.number = (int64_t)job_key_number(row->key);
	d.state = "C";
	d.holds = "n";
	d.substate = row->started ? "done" : "deleted";
	d.vnodes = vnodes.text;
	d.cause = cause_of(row->state);
	d.used = used_of(row);
	d.past = true;
	record_show(past_members, AS_JOB, &named, NULL, j);
	past_more_show(row, j);
	record_show(derived_fields, 0, &d, NULL, j);
	strbuf_fini(&vnodes);
}

static const char *array_id_of(const struct history_row *row, const char *server, char *buf, size_t size)
{
	snprintf(buf, size, "%llu[].%s", (unsigned long long)job_key_number(row->key), server);
	return buf;
}

void past_row_write(const struct history_row *row, const char *server, struct json *j)
{
	struct derived d = {.index = row->id ? -1 : job_key_index(row->key)};
	char id[400], array[400];

	if (d.index >= 0)
		d.array = array_id_of(row, server, array, sizeof array);
	job_write(row, past_id(row, server, id, sizeof id), d, j);
}

void past_attempt_write(const struct history_row *row, const char *server, struct json *j)
{
	struct history_row named = *row;
	char id[400];

	named.id = past_id(row, server, id, sizeof id);
	record_show(past_members, AS_ROW, &named, NULL, j);
	past_more_show(row, j);
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
	strbuf_puts(&indices, strbuf_text(&p->indices));
	range_format(&indices, p->first, p->last);
	job_write(&p->row, array_id_of(&p->row, server, id, sizeof id),
		  (struct derived){.index = -1, .array_spec = indices.text, .completed = p->elements}, j);
	strbuf_fini(&indices);
}

/* ---- assembling ---- */

static void row_keep(struct past_job *p, const struct history_row *row)
{
	p->arena = arena_create();
	p->row = *row;
	for (const struct field *f = past_members; f->name; f++) {
		const char **text = (const char **)(void *)((char *)&p->row + f->at);
		if (f->form == FORM_LENT && f->in & AS_ROW && *text)
			*text = arena_printf(p->arena, "%s", *text);
	}
	if (row->members)
		p->row.members = arena_printf(p->arena, "%s", row->members);
}

/* Adds another element. Values of single elements are not shown for an array; its exit status is
 * the first that is not 0. */
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
