/*
 * test_wire.c - the tables of what leaves a program, compared with what was recorded: members of
 * frames between hosts and between processes, of orders and results, and of files that a later
 * version reads; each with its form, its bounds and what a missing one means. Then the options by
 * which one program starts another.
 *
 * Other versions speak the same, so a row that changes or goes is a mistake, unless
 * docs/protocol.md says how they cope. Then, and for a new row, run
 *	SHUNT_GOLDEN=write meson test -C build wire
 * and look at the difference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/codec.h"
#include "base/option.h"
#include "client/tray.h"
#include "engine/frames.h"
#include "golden/recorded.h"
#include "run/order_internal.h"

#define FILE_NAME SHUNT_ROOT "/tests/golden/wire.txt"

/* Tables that are static in their files (table.c). */
extern const void *const wire_order[],
	*const wire_glance[],
		*const wire_message[],
			*const wire_task[], *const wire_news[],
						    *const wire_files[],
							    *const wire_ticket[],
								    *const wire_spool[],
									    *const wire_tray[],
										    *const wire_home[],
											    *const wire_guard_book[],
												    *const wire_main[];

static void bounds_put(struct strbuf *out, int64_t least, int64_t most)
{
	if (least || most)
		strbuf_printf(out, " %lld..%lld", (long long)least, (long long)most);
}

static const struct field *same_place(const struct field *rows, const struct field *f)
{
	while (rows != f && rows->at != f->at)
		rows++;
	return rows == f ? NULL : rows;
}

static void rows_put(struct strbuf *out, const struct field *rows, int depth)
{
	static const char *const forms[] = {"none", "bool",   "u8",	 "i16",	    "i32",     "u32",	 "i64",
					    "u64",  "micros", "seconds", "real",    "letters", "choice", "choice8",
					    "text", "lent",   "bytes",	 "inline",  "chars",   "word",	 "record",
					    "json", "texts",  "ints",	 "records", "names"};

	for (const struct field *f = rows; f->name; f++) {
		const struct field *other = same_place(rows, f);
		strbuf_printf(out, "%*s%s %s", 2 * depth, "", f->name, forms[f->form]);
		strbuf_puts(out, f->is & REQUIRED ? " required" : f->is & SPARSE ? " sparse" : "");
		if (f->in & ~ALWAYS)
			strbuf_printf(out, " in %x", f->in & ~ALWAYS);
		strbuf_puts(out, f->in & ALWAYS ? " always" : "");
		if (f->missing)
			strbuf_printf(out, " missing %lld", (long long)f->missing);
		bounds_put(out, f->least, f->most);
		if (f->words)
			strbuf_printf(out, " %s", f->words);
		if (other)
			strbuf_printf(out, " (see %s)", other->name);
		strbuf_puts(out, "\n");
		if (f->of)
			rows_put(out, f->of->fields, depth + 1);
	}
}

static void options_put(struct strbuf *out, const struct option *rows)
{
	static const char *const kinds[] = {"flag",   "text", "file",	 "dir",	  "word",  "policies",
					    "number", "int",  "seconds", "chars", "texts", "member"};

	for (const struct option *o = rows; o->name; o++) {
		strbuf_printf(out, "  --%s %s", o->name, kinds[o->kind]);
		if (o->letter)
			strbuf_printf(out, " -%c", o->letter);
		bounds_put(out, o->min, o->max);
		strbuf_puts(out, "\n");
	}
}

static void test_wire(void **state)
{
	const struct {
		const char *name;
		const struct field *rows;
	} tables[] = {
		{"order", wire_order[0]},
		{"what a nursery reads of an order", wire_glance[0]},
		{"result", result_schema.fields},
		{"to a nursery", wire_message[0]},
		{"from a nursery", wire_message[1]},
		{"task", wire_task[0]},
		{"from a task", wire_task[1]},
		{"hello", hello_frame.fields},
		{"facts", facts_schema.fields},
		{"welcome, settings", welcome_frame.fields},
		{"ping, pong", ping_frame.fields},
		{"signal, limit, save, forget, clean", part_frame.fields},
		{"dial", dial_frame.fields},
		{"sorry", sorry_frame.fields},
		{"news", wire_news[0]},
		{"frames of a file", ((const struct schema *)wire_files[0])->fields},
		{"ticket", wire_ticket[0]},
		{"parcel in SPOOL/TAG.json", wire_spool[0]},
		{"offer", offer_schema.fields},
		{"frames of a spool", spool_frames.fields},
		{"change in a tray", wire_tray[0]},
		{"agent.json", wire_home[0]},
		{"owner.json", wire_guard_book[0]},
	};
	const struct {
		const char *name;
		const struct schema *schema;
	} parts[] = {{"facts_counted", &facts_counted},
		     {"facts_checked", &facts_checked},
		     {"settings_frame", &settings_frame},
		     {"pong_frame", &pong_frame}};
	struct strbuf out = {0};

	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		strbuf_printf(&out, "== %s\n", tables[i].name);
		rows_put(&out, tables[i].rows, 1);
	}
	strbuf_puts(&out, "== parts of tables\n");
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		strbuf_printf(&out, "  %s in %x\n", parts[i].name, parts[i].schema->in);
	strbuf_puts(&out, "== shunt-agent\n");
	options_put(&out, wire_main[0]);
	recorded_compare(FILE_NAME, "== ", &out);
	strbuf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_wire)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
