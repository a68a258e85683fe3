/*
 * test_courier.c - the process that talks to another site (cmd/admin/courier.h) believes that a
 * job is not there only if the site says so about that job. The site is that of
 * fuzz/fuzz_courier.c, whose checks abort; it gives the answers below.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/code.h"
#include "base/strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_prove_nothing),
		cmocka_unit_test(other_answers_prove_nothing),
		cmocka_unit_test(answers_about_the_job),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
