/*
 * test_grounds.c - every reason for which a waiting job does not start: with all of them gone it
 * starts, with all but one it does not.
 *
 * The site of a seed (grounds.h) is made as often as there are reasons: each time another one is
 * left. SHUNT_SEED=n shows one, SHUNT_CASES=n tries that many.
 */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "property/grounds.h"
#include "server/life/grounds.h"

#define CASES 300

static unsigned seen[32];     /* how often each code was named */
static unsigned paid;	      /* credits, among limits */
static const char *codes[32]; /* those of GROUND_CODES */

/* In this many cases every reason occurs, except these. */
#define ALL_FROM 300
static const struct {
	const char *code, *why;
} cannot[] = {
	{"never",
	 "a job that no node could hold is a misfit, unless an overlay could bring the nodes, and none comes here"},
};

static void codes_read(void)
{
	static char text[] = GROUND_CODES;
	int n = 0;

	for (char *p = strtok(text, "|"); p; p = strtok(NULL, "|"))
		codes[n++] = p;
}

static const char *why_not(const char *code)
{
	for (size_t i = 0; i < sizeof cannot / sizeof *cannot; i++)
		if (strcmp(cannot[i].code, code) == 0)
			return cannot[i].why;
	return NULL;
}

/* How often each came; how many are missing. */
static int codes_print(void)
{
	int missing = 0;

	for (int k = 0; codes[k]; k++) {
		const char *why = seen[k] ? NULL : why_not(codes[k]);
		printf("# %s: %u%s%s\n", codes[k], seen[k], why ? ", as " : "", why ? why : "");
		missing += !seen[k] && !why;
	}
	return missing;
}

static void count(const json_t *reasons)
{
	const json_t *r;
	size_t i;

	json_array_foreach(reasons, i, r)
	{
		const char *measure = json_string_value(json_object_get(json_object_get(r, "limit"), "measure"));
		paid += measure && strstr(measure, "_credits");
		for (int k = 0; codes[k]; k++)
			seen[k] += is_code(r, codes[k]);
	}
}

static bool names_job(const json_t *r, const char *id)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(r, "jobs"), i, one) if (strcmp(json_string_value(one), id) == 0) return true;
	return false;
}

/* Returns true if the request is larger than a limit, without which a destination of its routing
 * queue accepts it. */
static bool exceeds_limit(const json_t *reasons)
{
	const json_t *r;
	size_t i;

	json_array_foreach(reasons, i,
			   r) if (is_code(r, "limit") &&
				  strstr(json_string_value(json_object_get(r, "change")), "itself")) return true;
	return false;
}

/* Returns true if a reason cannot be left alone: the job that the subject depends on holds what it
 * needs, so it has to end; or its destinations refuse it because of a limit. */
static bool goes_with_others(const json_t *reasons, const json_t *left)
{
	const char *id = json_string_value(json_array_get(json_object_get(left, "jobs"), 0));
	const json_t *r;
	size_t i;

	if (left && is_code(left, "route"))
		return exceeds_limit(reasons);
	if (!left || !is_code(left, "depend") || !id)
		return false;
	json_array_foreach(reasons, i,
			   r) if (!is_code(r, "depend") && !is_code(r, "order") && names_job(r, id)) return true;
	return false;
}

/* Returns true if it was a case: a job that waits. */
static bool one_case(uint64_t seed, bool loud, int *wrong)
{
	struct scene x = {.loud = loud};
	json_t *reasons = NULL;
	size_t n = 0;
	bool waits;

	for (size_t left = 0; left <= n; left++) {
		world(&x, seed);
		if (left == 0) {
			waits = strchr("QHW", state_of(&x)) != NULL;
			reasons = waits ? reasons_of(&x) : NULL;
			n = json_array_size(reasons);
			count(reasons);
			if (waits && n == 0) {
				printf("# seed %llu: it waits without a reason\n", (unsigned long long)seed);
				++*wrong;
			}
		}
		if (n > 0) {
			const json_t *stays = left ? json_array_get(reasons, left - 1) : NULL;
			if (!goes_with_others(reasons, stays) && starts_without(&x, reasons, stays) != (left == 0)) {
				char *text = json_dumps(stays ? stays : reasons, JSON_COMPACT);
				printf("# seed %llu, theme %d: %s %s\n", (unsigned long long)seed, (int)x.theme,
				       stays ? "it starts although one is left:" : "it does not start without", text);
				free(text);
				++*wrong;
				left = n;
			}
		}
		site_teardown((void **)&x.f);
	}
	json_decref(reasons);
	return n > 0;
}

/* Sites of which a reason was missing or one too many. */
static const uint64_t once_wrong[] = {280, 568, 570, 815, 851, 1255, 1455, 1497, 1811};

static void every_reason(void **state)
{
	const char *seed = getenv("SHUNT_SEED"), *many = getenv("SHUNT_CASES");
	int wrong = 0, cases = 0, most = many ? atoi(many) : CASES, missing;

	codes_read();
	if (seed)
		one_case(strtoull(seed, NULL, 10), true, &wrong);
	for (size_t i = 0; !seed && i < sizeof once_wrong / sizeof *once_wrong; i++)
		one_case(once_wrong[i], false, &wrong);
	for (uint64_t i = 1; !seed && cases < most; i++)
		cases += one_case(i, false, &wrong);
	missing = codes_print();
	printf("# %d jobs, %u without credits, %d wrong\n", cases, paid, wrong);
	assert_int_equal(wrong, 0);
	assert_true(missing == 0 || cases < ALL_FROM);
}

/* Reads the history, as after a refused submission, beside the loop. */
static void no_such_job(void **state)
{
	struct scene x = {0};

	world(&x, 1);
	snprintf(x.subject, sizeof x.subject, "99[2]");
	assert_int_equal(state_of(&x), '?');
	assert_int_equal(x.f->a.status, 404);
	site_teardown((void **)&x.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(no_such_job), cmocka_unit_test(every_reason)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
