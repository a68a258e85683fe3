/*
 * history_list.c - see history_list.h.
 */
#include "cmd/jobs/history_list.h"

#include <stdio.h>
#include <string.h>

#include "base/outcome.h"
#include "base/strbuf.h"
#include "base/table.h"
#include "base/timetext.h"
#include "cmd/lib/object.h"

/* ---- collecting ---- */

/* Writes "12[]" for "12[3].pine"; returns false if it is not an element. */
static bool array_of(const char *id, char *buf, size_t size)
{
	const char *open = strchr(id, '['), *close = open ? strchr(open, ']') : NULL;

	if (!close)
		return false;
	snprintf(buf, size, "%.*s[]%s", (int)(open - id), id, close + 1);
	return true;
}

static int64_t sooner(int64_t a, int64_t b)
{
	return !a || (b && b < a) ? b : a;
}

static int64_t more(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void line_merge(struct history_line *x, const json_t *row)
{
	const char *state = object_text(row, "state");

	x->submitted = sooner(x->submitted, object_number(row, "submitted", 0));
	x->started = sooner(x->started, object_number(row, "started", 0));
	x->ended = more(x->ended, object_number(row, "ended", 0));
	x->ran_ms = more(x->ran_ms, object_number(row, "ran_ms", 0));
	x->peak_kib = more(x->peak_kib, object_number(row, "peak_kib", 0));
	x->could_ms += object_number(row, "ran_ms", 0) * object_number(row, "cpus", 0);
	x->cpu_ms += object_number(row, "cpu_ms", 0);
	x->same_exit &= object_number(row, "exit_status", 0) == object_number(x->job, "exit_status", 0);
	if (!x->states)
		return;
	x->elements++;
	json_object_set_new(x->states, state, json_integer(object_number(x->states, state, 0) + 1));
}

/* Returns the line of an array; if it has none, registers the array for the next line and returns
 * NULL. */
static struct history_line *line_find(struct history_list *l, const char *array)
{
	uint32_t at;

	if (names_find(&l->arrays, array, &at))
		return &l->lines.v[l->array_line.v[at]];
	names_add(&l->arrays, array);
	vec_push(&l->array_line, l->lines.n);
	return NULL;
}

void history_list_add(struct history_list *l, json_t *row)
{
	char array[300];
	bool collapse = !l->expand && array_of(object_text(row, "id"), array, sizeof array);
	struct history_line *x = collapse ? line_find(l, array) : NULL;

	if (!x) {
		vec_push(&l->lines, (struct history_line){.job = json_incref(row),
							  .states = collapse ? json_object() : NULL,
							  .same_exit = true});
		x = &l->lines.v[l->lines.n - 1];
	}
	line_merge(x, row);
}

void history_list_fini(struct history_list *l)
{
	for (size_t i = 0; i < l->lines.n; i++) {
		json_decref(l->lines.v[i].job);
		json_decref(l->lines.v[i].states);
	}
	vec_free(&l->lines);
	vec_free(&l->array_line);
	names_fini(&l->arrays);
}

/* ---- printing ---- */

static void id_cell(struct table *t, const struct history_line *x)
{
	char array[300], buf[64];
	const char *id = object_text(x->job, "id");

	table_cell(t, "%s", id_short(x->states && array_of(id, array, sizeof array) ? array : id, buf, sizeof buf));
}

static const char *state_text(const char *state, char *buf, size_t size)
{
	return outcome_text(0, state, buf, size);
}

/* Adds "succeeded"; for an array "succeeded, 10" or "9 succeeded, 1 failed". */
static void state_cell(struct table *t, const struct history_line *x)
{
	struct strbuf text = {0};
	const char *state;
	char buf[64];
	json_t *n;

	if (json_object_size(x->states) > 1)
		json_object_foreach(x->states, state, n)
			strbuf_printf(&text, "%s%lld %s", text.n ? ", " : "", (long long)json_integer_value(n),
				      state_text(state, buf, sizeof buf));
	else
		strbuf_puts(&text, state_text(object_text(x->job, "state"), buf, sizeof buf));
	if (json_object_size(x->states) == 1)
		strbuf_printf(&text, ", %lld", (long long)x->elements);
	table_cell(t, "%s", text.text);
	strbuf_fini(&text);
}

static void line_print(struct table *t, const struct history_line *x, bool users)
{
	char buf[64];

	id_cell(t, x);
	table_cell(t, "%s", object_text(x->job, "name"));
	if (users)
		table_cell(t, "%s", object_text(x->job, "owner"));
	table_cell(t, "%s", object_text(x->job, "queue"));
	state_cell(t, x);
	if (x->same_exit)
		table_cell(t, "%lld", (long long)object_number(x->job, "exit_status", 0));
	else
		table_cell(t, "-");
	table_cell(t, "%lld", (long long)object_number(x->job, "cpus", 0));
	instant_format(x->ended, buf, sizeof buf);
	buf[16] = '\0'; /* no seconds */
	table_cell(t, "%s", buf);
	table_cell(t, "%s", x->started ? duration_human(x->started - x->submitted, buf, sizeof buf) : "-");
	table_cell(t, "%s", x->started ? duration_human(x->ran_ms / 1000, buf, sizeof buf) : "-");
	if (x->could_ms > 0) /* CPU time used as a share of the CPU time available */
		table_cell(t, "%lld%%", (long long)(100 * x->cpu_ms / x->could_ms));
	else
		table_cell(t, "-");
	table_cell(t, "%s", x->peak_kib ? memory_human(x->peak_kib, buf, sizeof buf) : "-");
}

void history_list_print(const struct history_list *l, bool users)
{
	static const char *const with[] = {"job",   "~name", "user",	"~queue", "ended as", ">exit",
					   ">cpus", "ended", ">waited", ">ran",	  ">cpu",     ">memory"},
				 *const without[] = {"job",   "~name",	 "~queue", "ended as", ">exit",	 ">cpus",
						     "ended", ">waited", ">ran",   ">cpu",     ">memory"};
	struct table *t = users ? table_create(with, 12) : table_create(without, 11);

	for (size_t i = l->lines.n; i-- > 0;)
		line_print(t, &l->lines.v[i], users);
	table_print(t, stdout, 0);
	table_destroy(t);
}
