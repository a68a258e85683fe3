/*
 * test_bag_worker.c - commands as a worker starts them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bag/spawn.h"

static void splits(const char *command, const char *expected)
{
	struct spawner s = {0};
	char got[256] = "";
	size_t n = spawner_split(&s, command, strlen(command));

	for (size_t i = 0; i < n; i++)
		sprintf(got + strlen(got), "[%s]", s.words[i]);
	assert_string_equal(got, expected);
	assert_true(n == 0 || s.words[n] == NULL);
	spawner_fini(&s);
}

static void words(void **state)
{
	(void)state;
	splits("true", "[true]");
	splits("  a\tb  c=d ", "[a][b][c=d]");
	splits("cat 'a b' x'; rm 'y ''", "[cat][a b][x; rm y][]");
	splits("a=b c", "");
	splits("echo $x", "");
	splits("echo a > b", "");
	splits("ls *.c", "");
	splits("cat ~/x", "");
	splits("echo a#b", "[echo][a#b]");
	splits("echo #b", "");
	splits("echo 'a", "");
	splits("echo \"a\"", "");
	splits("'if' x", "");
	splits("a; b", "");
	splits("", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(words)};
	return cmocka_run_group_tests_name("bag_worker", tests, NULL, NULL);
}
