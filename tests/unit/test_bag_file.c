/*
 * test_bag_file.c - bag files, what tasks need, commands with places, lines of CSV.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bag/bagfile.h"
#include "bag/expand.h"
#include "support/closed.h"

static void assert_task(const struct bag *b, size_t i, const char *command)
{
	assert_true(i < b->tasks.n);
	assert_int_equal(b->tasks.v[i].n, strlen(command));
	assert_memory_equal(b->text + b->tasks.v[i].at, command, strlen(command));
}

static void lines(void **state)
{
	(void)state;
	static const char text[] = "# a comment\n\n  echo a b \r\n#bag cpus=2\nmake\n#bagpipe\n#bag\necho c # d\nlast";
	struct bag b;
	struct err err;

	assert_int_equal(bag_parse(text, strlen(text), &b, &err), 0);
	assert_int_equal(b.tasks.n, 4);
	assert_task(&b, 0, "echo a b");
	assert_task(&b, 1, "make");
	assert_task(&b, 2, "echo c # d");
	assert_task(&b, 3, "last");
	assert_int_equal(b.needs.n, 2);
	assert_int_equal(b.needs.v[b.tasks.v[0].need].cpus, 1000);
	assert_int_equal(b.needs.v[b.tasks.v[1].need].cpus, 2000);
	assert_int_equal(b.tasks.v[2].need, b.tasks.v[0].need);
	bag_fini(&b);
	assert_int_equal(bag_parse("", 0, &b, &err), 0);
	assert_int_equal(b.tasks.n, 0);
	bag_fini(&b);
}

static void refused(const char *text, size_t n, const char *sentence)
{
	struct bag b;
	struct err err;

	assert_true(bag_parse(text, n, &b, &err) < 0);
	assert_string_equal(err.text, sentence);
}

static void mistakes(void **state)
{
	(void)state;
	char *long_line = mem_alloc(BAG_LINE_MOST + 1);

	memset(long_line, 'x', BAG_LINE_MOST + 1);
	refused("a\n#bag cpus\n", 12, "line 2: cpus: must be NAME=VALUE, as in cpus=2");
	refused("#bag cpus=0", 11, "line 1: cpus=0: must be 0.001-1000000, with at most three decimals");
	refused("#bag cpus=1.2345", 16, "line 1: cpus=1.2345: must be 0.001-1000000, with at most three decimals");
	refused("#bag gpus=1x", 12, "line 1: gpus=1x: must be a whole number, 0-10000");
	refused("#bag color=red", 14, "line 1: color: tasks can need cpus, gpus, mem, time, in and out");
	refused("#bag time=0", 11, "line 1: time=0: must be at least 1 second");
	refused("a\0b", 3, "line 1: the line contains a NUL byte");
	refused("#bag cpus=.", 11, "line 1: cpus=.: must be 0.001-1000000, with at most three decimals");
	refused("#bag cpus=1000001", 17, "line 1: cpus=1000001: must be 0.001-1000000, with at most three decimals");
	refused("#bag gpus=10001", 15, "line 1: gpus=10001: must be a whole number, 0-10000");
	refused("#bag in=", 8, "line 1: in=: names no file");
	refused("#bag out=", 9, "line 1: out=: names no file");
	refused(long_line, BAG_LINE_MOST + 1, "line 1: the line has 131073 bytes; at most 131072 are allowed");
	free(long_line);
}

static void needs(void **state)
{
	(void)state;
	struct bag_need need, again;
	struct strbuf text = {0};
	struct err err;

	assert_int_equal(need_parse(" cpus=.5 gpus=2  mem=2gb time=10m in=a.csv,b out=c ", &need, &err), 0);
	assert_int_equal(need.cpus, 500);
	assert_int_equal(need.gpus, 2);
	assert_int_equal(need.memory, 2 << 20);
	assert_int_equal(need.seconds, 600);
	need_format(&need, &text);
	assert_string_equal(text.text, "cpus=0.500 gpus=2 mem=2gb time=600 in=a.csv,b out=c");
	assert_int_equal(need_parse(text.text, &again, &err), 0);
	assert_true(need_equal(&need, &again));
	assert_string_equal(again.in, "a.csv,b");
	assert_string_equal(again.out, "c");
	for (int i = 0; i < 6; i++) { /* each of them makes a difference */
		struct bag_need other = again;
		int64_t *const numbers[] = {&other.cpus, &other.gpus, &other.memory, &other.seconds};
		if (i < 4)
			++*numbers[i];
		else
			*(i == 4 ? &other.in : &other.out) = NULL;
		assert_false(need_equal(&need, &other));
	}
	need_fini(&need);
	need_fini(&again);
	strbuf_clear(&text);
	assert_int_equal(need_parse("cpus=1000000.000 gpus=10000 in=a in=b", &need, &err), 0);
	need_format(&need, &text);
	assert_string_equal(text.text, "cpus=1000000 gpus=10000 in=b");
	need_fini(&need);
	strbuf_clear(&text);
	assert_int_equal(need_parse("cpus=0.001", &need, &err), 0);
	assert_int_equal(need.cpus, 1);
	assert_int_equal(need_parse("", &need, &err), 0);
	assert_int_equal(need.cpus, BAG_CPU);
	need_format(&need, &text);
	assert_string_equal(strbuf_text(&text), "");
	strbuf_fini(&text);
}

static void expands(const char *command, const char *value, const char *expected)
{
	struct values v = {0};
	struct strbuf out = {0};
	struct err err;

	vec_push(&v.v, mem_strdup(value));
	vec_push(&v.v, mem_strdup("two"));
	assert_int_equal(expand_command(command, NULL, &v, 7, &out, &err), 0);
	assert_string_equal(strbuf_text(&out), expected);
	strbuf_fini(&out);
	values_fini(&v);
}

static void places(void **state)
{
	(void)state;
	expands("convert {} {.}.jpg", "a/b.png", "convert a/b.png a/b.jpg");
	expands("echo {/} {//} {/.} {#} {2}", "a/b.png", "echo b.png a b 7 two");
	expands("echo {//} {.}", ".profile", "echo . .profile");
	expands("echo {//} {/}", "/etc", "echo / etc");
	expands("gzip -k", "x", "gzip -k x");
	expands("awk '{print $1}' {}", "x", "awk '{print $1}' x");
	expands("cat {}", "x; rm -rf ~", "cat 'x; rm -rf ~'");
	expands("cat {}", "it's", "cat 'it'\\''s'");
	expands("cat {}", "", "cat ''");
	expands("a { {} }", "x", "a { x }");
	expands("{/.} {.}", "a.b/.c", ".c a.b/.c"); /* not the directory's */
	expands("{1}{#}{", "x", "x7{");
	expands("{0123456789012345678901234567890123456789012345678901234567890123} {}", "x",
		"{0123456789012345678901234567890123456789012345678901234567890123} x");
}

static int file_need(const char *need, const char *value, struct strbuf *ret)
{
	struct values v = {0};
	struct err err;

	vec_push(&v.v, mem_strdup(value));
	strbuf_clear(ret);
	int rc = expand_need(need, NULL, &v, 7, ret, &err);
	values_fini(&v);
	return rc;
}

static void needs_of_files(void **state)
{
	(void)state;
	struct strbuf out = {0};

	assert_int_equal(file_need("in={} out={.}.txt,{#}", "a/b.csv", &out), 0);
	assert_string_equal(out.text, "in=a/b.csv out=a/b.txt,7");
	assert_int_equal(file_need("in={}", "it's(1)", &out), 0);
	assert_string_equal(out.text, "in=it's(1)"); /* no shell reads it */
	assert_int_equal(file_need("in={},{.}*", "a[1]*.x", &out), 0);
	assert_string_equal(out.text, "in=a\\[1]\\*.x,a\\[1]\\**"); /* itself, not a pattern */
	assert_int_equal(file_need("in={}", "a b", &out), -EINVAL);
	assert_int_equal(file_need("in={}", "a,b", &out), -EINVAL);
	assert_int_equal(file_need("in=x{#}", "a b", &out), 0);
	strbuf_fini(&out);
}

static void columns(void **state)
{
	(void)state;
	struct values names = {0}, v = {0};
	struct strbuf out = {0};
	struct err err;

	assert_int_equal(csv_split("rate,seed", &names, &err), 0);
	assert_int_equal(csv_split("0.5,\"a \"\"b\"\", c\"", &v, &err), 0);
	assert_int_equal(v.v.n, 2);
	assert_string_equal(v.v.v[1], "a \"b\", c");
	assert_int_equal(expand_command("sim --rate {rate} --seed={seed}", &names, &v, 1, &out, &err), 0);
	assert_string_equal(out.text, "sim --rate 0.5 --seed='a \"b\", c'");
	assert_int_equal(expand_command("{3}", &names, &v, 1, &out, &err), -EINVAL);
	assert_string_equal(err.text, "{3}: there are 2 values, from {1} on");
	assert_int_equal(csv_split("1", &v, &err), 0);
	assert_int_equal(expand_command("{seed}", &names, &v, 1, &out, &err), -EINVAL);
	assert_int_equal(csv_split("\"a\nb\"", &v, &err), 0);
	assert_int_equal(expand_command("{}", &names, &v, 1, &out, &err), -EINVAL);
	assert_int_equal(csv_split("a\tb,c\t", &v, &err), 0);
	assert_int_equal(v.v.n, 3);
	assert_string_equal(v.v.v[1], "b,c");
	assert_string_equal(v.v.v[2], "");
	assert_int_equal(csv_split("\"a\tb\",c", &v, &err), 0); /* a quoted tab separates nothing */
	assert_int_equal(v.v.n, 2);
	assert_int_equal(csv_split("\"a", &v, &err), -EINVAL);
	assert_int_equal(csv_split("1", &v, &err), 0);
	assert_int_equal(expand_command("{seed}", &names, &v, 1, &out, &err), -EINVAL);
	assert_string_equal(err.text, "{seed}: the line has only 1 value");
	assert_int_equal(expand_command("{0}", &names, &v, 1, &out, &err), -EINVAL);
	values_fini(&names);
	values_fini(&v);
	strbuf_fini(&out);
}

/* Words in braces that are neither a column nor the shell's. */
static void unknown(void **state)
{
	static const struct {
		const char *command, *word;
	} cases[] = {
		{"a {rate} {seed}", NULL}, {"a ${home} {1} {} {#} {a-b} {rate", NULL},
		{"{rates}", "rates"},	   {"{rat}", "rat"},
		{"a {seed} {sed}", "sed"}, {"{x{seeds}", "seeds"},
		{"${a} {b_1}", "b_1"},
	};
	struct values names = {0};
	struct err err;
	char word[64];

	(void)state;
	assert_int_equal(csv_split("rate,seed", &names, &err), 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(expand_unknown(cases[i].command, &names, word), cases[i].word != NULL);
		if (cases[i].word)
			assert_string_equal(word, cases[i].word);
	}
	values_fini(&names);
}

/* Commands may be as long as lines of a bag. */
static void longest(void **state)
{
	char *command = mem_alloc(BAG_LINE_MOST + 2);
	struct values none = {0};
	struct strbuf out = {0};
	struct err err;

	(void)state;
	memset(command, 'x', BAG_LINE_MOST + 1);
	command[BAG_LINE_MOST + 1] = '\0';
	assert_int_equal(expand_command(command, NULL, &none, 1, &out, &err), -EINVAL);
	assert_string_equal(err.text, "the command has 131073 bytes; at most 131072 are allowed");
	assert_int_equal(out.n, 0);
	assert_int_equal(expand_command(command + 1, NULL, &none, 1, &out, &err), 0);
	assert_int_equal(out.n, BAG_LINE_MOST);
	strbuf_fini(&out);
	free(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),   cmocka_unit_test(mistakes),	     cmocka_unit_test(needs),
		cmocka_unit_test(places),  cmocka_unit_test(needs_of_files), cmocka_unit_test(columns),
		cmocka_unit_test(unknown), cmocka_unit_test(longest),	     CLOSED_TEST};
	return cmocka_run_group_tests_name("bag_file", tests, closed_begin, NULL);
}
