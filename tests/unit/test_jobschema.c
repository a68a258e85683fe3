/*
 * test_jobschema.c - the rows of a job: what they promise of each other, and what comes back of
 * what was stored.
 */
#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "core/jobschema.h"
#include "core/kind.h"
#include "core/spec.h"

static const uint32_t uses[] = {STORED, IN_BODY, AT_SUBMIT, AT_ALTER, RUNNING, SHOWN,
				HOOKED, AGAIN,	 BRIEF,	    PLANNED,  ECHOED,  IN_MORE};

static struct spec *spec_named(const char *name)
{
	struct spec *p = mem_zalloc(sizeof *p + strlen(name) + 1);

	strcpy(p->name, name);
	return p;
}

static void spec_drop(struct spec *p)
{
	for (const struct field *f = job_members; f->name; f++)
		if (f->form == FORM_TEXT && (p->rare || !(f->in & RARE)))
			free((char *)field_text(f, spec_part(p, f), NULL));
	free(p);
}

static json_t *stored(const struct spec *p, const struct names *words)
{
	struct strbuf out = {0};
	struct json j;
	json_t *o;

	json_init(&j, &out, false);
	json_open_object(&j, NULL);
	spec_store(p, words, &j);
	json_close_object(&j);
	o = json_loads(out.text, 0, NULL);
	assert_non_null(o);
	strbuf_fini(&out);
	return o;
}

/* ---- the table ---- */

static void names_are_unique_in_each_use(void **state)
{
	for (const struct field *f = job_members; f->name; f++)
		for (const struct field *g = f + 1; g->name; g++)
			for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
				if (f->in & uses[i] && g->in & uses[i])
					assert_string_not_equal(f->name, g->name);
	(void)state;
}

static void every_stored_member_has_a_place(void **state)
{
	for (const struct field *f = job_members; f->name; f++) {
		if (f->in & (STORED | PLANNED))
			assert_int_not_equal(f->form, FORM_NONE);
		assert_true(f->in & (STORED | IN_BODY | AT_SUBMIT));
		if (f->in & (AT_ALTER | HOOKED | JUDGED | ECHOED))
			assert_true(f->in & AT_SUBMIT);
		if (f->in & RUNNING)
			assert_true(f->in & AT_ALTER);
		if (f->in & ECHOED)
			assert_false(f->in & SHOWN);
		if (f->in & IN_MORE)
			assert_true(f->in & STORED && !(f->in & IN_HISTORY));
		for (const struct field *g = f + 1; g->name && f->form == FORM_TEXT; g++)
			assert_false(g->form == FORM_TEXT && g->at == f->at && (g->in & RARE) == (f->in & RARE));
		if (f->form == FORM_LETTERS)
			assert_non_null(strchr(f->letters, 'n'));
	}
	(void)state;
}

/* ---- the store ---- */

static void member_shake(struct rng *rng, const struct field *f, void *record, struct names *words)
{
	char text[32];
	json_t *v;

	snprintf(text, sizeof text, "%s%u", f->name, (unsigned)rng_below(rng, 1000));
	if (f->form == FORM_INLINE)
		return;
	if (f->form == FORM_TEXT || f->form == FORM_WORD)
		v = json_string(text);
	else if (f->form == FORM_BOOL)
		v = json_boolean(rng_below(rng, 2));
	else
		v = json_integer(1 + (json_int_t)rng_below(rng, f->most && f->most < 100 ? (uint64_t)f->most : 7));
	assert_int_equal(field_read(f, v, record, words, NULL), 0);
	json_decref(v);
}

static void what_was_stored_is_loaded(void **state)
{
	struct rng rng;

	rng_seed(&rng, 7);
	for (int i = 0; i < 300; i++) {
		struct spec *p = spec_named("job"), *q = spec_named("job");
		struct spec_rare rare = {0}, again;
		struct names words = {0};
		json_t *o;

		p->deadline = TIME_NEVER;
		p->rare = &rare;
		names_add(&words, "");
		for (const struct field *f = job_members; f->name; f++)
			if (f->in & ALWAYS || (f->in & STORED && rng_below(&rng, 2)))
				member_shake(&rng, f, f->in & RARE ? (void *)&rare : p, &words);
		o = stored(p, &words);
		assert_int_equal(spec_load(o, q, &again, &words, NULL), 0);
		q->rare = &again;
		assert_false(spec_differs(p, q, STORED));
		json_decref(o);
		spec_drop(p);
		spec_drop(q);
		names_fini(&words);
	}
	(void)state;
}

static void a_missing_member_is_its_default(void **state)
{
	json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:i}", "name", "x", "owner", "ann", "queue", "batch", "resources",
			      "", "created", 5);
	struct spec *p = spec_named("x");
	struct spec_rare rare;
	struct names words = {0};

	assert_int_equal(spec_load(o, p, &rare, &words, NULL), 0);
	assert_true(p->deadline == TIME_NEVER);
	assert_true(p->rerunnable);
	assert_int_equal(p->mail, MAIL_ABORT);
	assert_true(p->eligible == UINT32_MAX);
	assert_int_equal(p->resources, 0);
	assert_string_equal(names_get(&words, p->owner), "ann");
	json_decref(o);
	spec_drop(p);
	names_fini(&words);
	(void)state;
}

static void damaged_records_are_refused(void **state)
{
	static const struct {
		const char *head, *said;
	} cases[] = {
		{"{\"name\":\"x\",\"queue\":\"q\",\"resources\":\"\",\"created\":1}", "\"owner\""},
		{"{\"name\":\"x\",\"owner\":\"a\",\"queue\":\"q\",\"resources\":\"\",\"created\":1,\"kind\":9}",
		 "kind"},
		{"{\"name\":\"x\",\"owner\":7,\"queue\":\"q\",\"resources\":\"\",\"created\":1}", "owner"},
		{"{\"name\":\"x\",\"owner\":\"a\",\"queue\":\"q\",\"resources\":\"\",\"created\":1,\"priority\":70000}",
		 "priority"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		json_t *o = json_loads(cases[i].head, 0, NULL);
		struct spec *p = spec_named("x");
		struct names words = {0};
		struct spec_rare rare;
		struct err err;

		assert_int_equal(spec_load(o, p, &rare, &words, &err), -EINVAL);
		assert_non_null(strstr(err.text, cases[i].said));
		json_decref(o);
		spec_drop(p);
		names_fini(&words);
	}
	(void)state;
}

/* ---- values ---- */

static void letters_are_bits(void **state)
{
	struct strbuf out = {0};
	struct err err;
	uint8_t bits = 0;

	assert_int_equal(letters_parse("mail", "abenpf", "be", &bits, &err), 0);
	assert_int_equal(bits, MAIL_BEGIN | MAIL_END);
	letters_format("abenpf", bits, &out);
	assert_string_equal(out.text, "be");
	assert_int_equal(letters_parse("mail", "abenpf", "npf", &bits, &err), 0);
	assert_int_equal(bits, 0);
	strbuf_clear(&out);
	letters_format("abenpf", bits, &out);
	assert_string_equal(out.text, "n");
	bits = 3;
	assert_int_equal(letters_parse("mail", "abenpf", "ax", &bits, &err), -EINVAL);
	assert_string_equal(err.text, "mail \"ax\" must be of the letters a, b, e, or n");
	assert_int_equal(bits, 3);
	strbuf_fini(&out);
	(void)state;
}

static void rows_are_found_from_anywhere(void **state)
{
	const struct field *last = job_members;

	while (last[1].name)
		last++;
	assert_ptr_equal(field_find(job_members, STORED, "name", NULL), job_members);
	assert_ptr_equal(field_find(job_members, STORED, "name", job_members), job_members);
	assert_ptr_equal(field_find(job_members, STORED, "name", last), job_members);
	assert_ptr_equal(field_find(job_members, STORED, last->name, last), last);
	assert_null(field_find(job_members, STORED, "submit_host", NULL));
	assert_non_null(field_find(job_members, AT_SUBMIT, "submit_host", last));
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_unique_in_each_use), cmocka_unit_test(every_stored_member_has_a_place),
		cmocka_unit_test(what_was_stored_is_loaded),	cmocka_unit_test(a_missing_member_is_its_default),
		cmocka_unit_test(damaged_records_are_refused),	cmocka_unit_test(letters_are_bits),
		cmocka_unit_test(rows_are_found_from_anywhere),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
