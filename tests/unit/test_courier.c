/*
 * test_courier.c - the process that talks to another site (cmd/admin/courier.h) believes that a
 * job is not there only if the site says so about that job. The site is that of
 * fuzz/fuzz_courier.c, whose checks abort; it gives the answers below. All that is asked and
 * reported then is compared with tests/golden/courier.txt (SHUNT_GOLDEN=write records it).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/code.h"
#include "base/strbuf.h"
#include "golden/recorded.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
extern void (*courier_asked)(const char *who, const char *method, const char *path, const json_t *body);
extern bool courier_refused;

/* Lets the site answer every request of a round with this. */
static void round_with(const char *code, const char *body)
{
	struct strbuf answers = {0};

	for (int i = 0; i < 16; i++) {
		strbuf_printf(&answers, "%s\n%s", code, body);
		strbuf_add(&answers, "", 1);
	}
	LLVMFuzzerTestOneInput((const uint8_t *)answers.text, answers.n);
	strbuf_fini(&answers);
}

/* A site that cannot look up its accounts says "User NAME does not exist here": that is not about
 * the job, which may run there. */
static void errors_prove_nothing(void **state)
{
	(void)state;
	for (int i = CODE_NONE + 1; i < CODES; i++)
		round_with(code_row((enum code)i)->word, "{\"id\": null}");
}

static void other_answers_prove_nothing(void **state)
{
	static const char *const bodies[] = {
		"", "{}", "[]", "null", "{\"id\": 7}", "{\"id\": false}", "\"\"", "{\"id\": \"\"}", "{\"ids\": null}"};

	(void)state;
	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
		round_with("", bodies[i]);
}

/* These do: one has it, the other does not. */
static void answers_about_the_job(void **state)
{
	(void)state;
	round_with("", "{\"id\": null}");
	round_with("", "{\"id\": \"7.east\"}");
	round_with("", "{\"id\": \"7.east\", \"forgotten\": true}");
}

/* ---- all that is said ---- */

static struct strbuf said;

static void on_asked(const char *who, const char *method, const char *path, const json_t *body)
{
	char *text = body ? json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

	strbuf_printf(&said, "%s %s %s%s%s\n", who, method, path, text ? " " : "", text ? text : "");
	free(text);
}

#define ENDED(members) "\n{\"state\":\"C\"," members "}"
#define DENIED(code) code "\n{}"

/* The answers of each round: to the offer of job 1, the withdrawal of 2-3, and the looks at 3 and
 * 4; and what these lead to. */
static const char *const rounds[][9] = {
	{"\n{\"id\":\"7.east\"}", "\n{\"id\":null}", "\n{\"state\":\"R\",\"guaranteed\":true}", "\n{\"state\":\"Q\"}",
	 "\n{}"},
	{"\n{}", "\n{\"id\":\"9.east\",\"forgotten\":true}", "\n{}", "\n{\"state\":7}"},
	{"\n{}", "\n{}", ENDED("\"started\":5"), "\nout", "\nerr", ENDED("\"started\":5,\"join\":\"oe\""), "\nboth"},
	{"\n{}", "\n{}", ENDED("\"started\":null"), ENDED("\"started\":5,\"join\":\"eo\""), DENIED("bad_state")},
	{"\n{}", "\n{}", ENDED("\"started\":5"), DENIED("unknown_job"), DENIED("no_output"), ENDED("\"started\":5"),
	 DENIED("unavailable")},
	{"\n{}", "\n{}", ENDED("\"started\":5"), DENIED("forbidden"), ENDED("\"started\":5,\"join\":\"n\""), "\nout",
	 DENIED("too_many")},
	{DENIED("refused"), "\n{\"id\":null}", DENIED("unavailable"), DENIED("unknown_job"), "\n{\"id\":null}"},
	{DENIED("forbidden"), "\n{\"id\":\"9.east\"}", "\n{\"id\":null}", DENIED("unknown_job"),
	 "\n{\"id\":\"7.east\",\"forgotten\":true}", DENIED("unknown_job"),
	 "\n{\"id\":\"8.east\",\"forgotten\":false}"},
	{DENIED("unavailable"), DENIED("not_leader"), DENIED("forbidden"), DENIED("unknown_job"),
	 DENIED("unknown_user")},
	{DENIED("not_leader"), DENIED("unavailable")},
	{DENIED("outcome_unknown")},
	{DENIED("too_many")},
	{DENIED("unauthorized")},
	{""},
};

static void round_record(const char *const *answer)
{
	struct strbuf answers = {0};

	for (; *answer; answer++) {
		strbuf_puts(&answers, *answer);
		strbuf_add(&answers, "", 1);
	}
	LLVMFuzzerTestOneInput((const uint8_t *)answers.text, answers.n);
	strbuf_fini(&answers);
}

static void all_is_said(void **state)
{
	(void)state;
	courier_asked = on_asked;
	for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
		strbuf_printf(&said, "$ round %zu\n", i);
		round_record(rounds[i]);
	}
	strbuf_puts(&said, "$ round 2, where output can't be written\n");
	courier_refused = true;
	round_record(rounds[2]);
	courier_asked = NULL;
	recorded_compare(SHUNT_ROOT "/tests/golden/courier.txt", "$ ", &said);
	strbuf_fini(&said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_prove_nothing),
		cmocka_unit_test(other_answers_prove_nothing),
		cmocka_unit_test(answers_about_the_job),
		cmocka_unit_test(all_is_said),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
