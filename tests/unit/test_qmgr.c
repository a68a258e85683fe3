/*
 * test_qmgr.c - the language of qmgr: what it means, what is wrong with it, and that quoted values
 * come back.
 */
#include "client/qmgr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A command in one canonical line: "set queue a,b x=1 y+=2". */
static void say(const struct qmgr_command *c, struct strbuf *out)
{
	static const char *const op[] = {"", "=", "+=", "-="};

	strbuf_printf(out, "%s%s%s", qmgr_verb_name(c->verb), c->object ? " " : "", qmgr_object_name(c->object));
	for (int i = 0; i < c->nnames; i++)
		strbuf_printf(out, "%s%s", i ? "," : " ", c->name[i]);
	for (int i = 0; i < c->nchanges; i++)
		strbuf_printf(out, " %s%s%s", c->change[i].name, op[c->change[i].op], c->change[i].value);
}

static void expect_text(const char *text, size_t n, const char *wanted)
{
	struct arena *arena = arena_create();
	struct qmgr_command c;
	struct strbuf all = {0};
	struct err err;
	int rc;

	for (size_t at = 0; (rc = qmgr_parse(text, n, &at, arena, &c, &err)) != 0;) {
		strbuf_puts(&all, all.n ? "; " : "");
		if (rc > 0)
			say(&c, &all);
		else
			strbuf_printf(&all, "! %s", err.text);
	}
	assert_string_equal(strbuf_text(&all), wanted);
	strbuf_fini(&all);
	arena_destroy(arena);
}

static void expect(const char *text, const char *wanted)
{
	expect_text(text, strlen(text), wanted);
}

static void test_commands(void **state)
{
	expect("create queue short", "create queue short");
	expect("c q a,b , c x=1", "create queue a,b,c x=1");
	expect("set server default_queue = short", "set server default_queue=short");
	expect("s s managers+=ann@*,managers-=bob@*", "set server managers+=ann@* managers-=bob@*");
	expect("set queue q@host resources_max.walltime=1:00:00, enabled = true,started=true",
	       "set queue q resources_max.walltime=1:00:00 enabled=true started=true");
	expect("set queue q acl_users = a@b,c@d,e", "set queue q acl_users=a@b,c@d,e");
	expect("set queue q acl_users = a@b,c@d , enabled=false", "set queue q acl_users=a@b,c@d enabled=false");
	expect("set queue q resources_default.nodes = 1:ppn=2", "set queue q resources_default.nodes=1:ppn=2");
	expect("unset queue q max_running, priority", "unset queue q max_running priority");
	expect("u s comment", "unset server comment");
	expect("list server @host; print queue; l n n1 state", "list server; print queue; list node n1 state");
	expect("p s\nprint\nactive queue a\nquit\nexit\n?\nhelp set",
	       "print server; print; active queue a; quit; quit; help; help");
	expect("LIST Queues\nprint nodes", "list queue; print node");
	expect("set node n-1 state += offline", "set node n-1 state+=offline");
}

static void test_layout(void **state)
{
	expect("", "");
	expect(" \n;; # nothing\n", "");
	expect("# c\nset server a=1 # c; set server b=2\nset server c=3;", "set server a=1; set server c=3");
	expect("set server \\\n a = 1, \\\r\n b = 2", "set server a=1 b=2");
	expect("set server a = \\\n 1", "set server a=1");
	expect("set server comment = \"a, b; # c = d\"", "set server comment=a, b; # c = d");
	expect("set server comment = 'it is \"so\"'", "set server comment=it is \"so\"");
	expect("set server comment = \"\"", "set server comment=");
	expect("set server comment = a#b", "set server comment=a#b");
}

static void test_partitions(void **state)
{
	expect("create partition A nodes = n[1-4], comment = 'the old ones'",
	       "create partition A nodes=n[1-4] comment=the old ones");
	expect("set partition A nodes -= n4; d par A", "set partition A nodes-=n4; delete partition A");
	expect("list partitions", "list partition");
}

static void test_wrong(void **state)
{
	expect("foo; list server",
	       "! \"foo\" is not a command: a line begins with create, delete, set, unset, list, print, active, help or "
	       "quit; list server");
	expect("set",
	       "! set what? Say server, queue, node, partition, class, user, group, account, qos or reservation");
	expect("set foo x=1",
	       "! set \"foo\": say server, queue, node, partition, class, user, group, account, qos or reservation");
	expect("create queue", "! create queue: its name is missing: create queue NAME");
	expect("create server x", "! \"x\" needs a value: x = VALUE (a value with blanks needs quotes)");
	expect("delete server", "! delete server: there is always exactly one; name another kind of object");
	expect("delete queue a b=1", "! delete queue takes names only: \"b\" is too much");
	expect("set server", "! set server: an attribute is missing: set server NAME = VALUE");
	expect("set queue a", "! set queue: an attribute is missing: set queue WHICH NAME = VALUE");
	expect("set server a", "! \"a\" needs a value: a = VALUE (a value with blanks needs quotes)");
	expect("set server a=1,", "! the name of an attribute is missing after the last comma");
	expect("set server ,a=1", "! the name of an attribute is missing before \",\"");
	expect("set server = 1", "! the name of an attribute is missing before \"=\"");
	expect("list server a=1", "! list takes names of attributes only, no values");
	expect("set server a=\"x\nlist server", "! a quote (\") is not closed; list server");
	expect_text("set server a=\0b", 15, "! there is a NUL byte in it");
}

static void test_quote(void **state)
{
	static const char *const values[] = {"plain", "a b", "a,b=c", "say \"x\"", "back\\slash", "",
					     "#x",    "-x",  "a;b",   "it's",	   "1:ppn=2"};

	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		struct strbuf text = {0}, wanted = {0};
		strbuf_puts(&text, "set server comment = ");
		qmgr_quote(values[i], &text);
		strbuf_puts(&text, ", next = 1");
		strbuf_printf(&wanted, "set server comment=%s next=1", values[i]);
		expect(text.text, wanted.text);
		strbuf_fini(&text);
		strbuf_fini(&wanted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands), cmocka_unit_test(test_layout), cmocka_unit_test(test_partitions),
		cmocka_unit_test(test_wrong),	 cmocka_unit_test(test_quote),
	};

	return cmocka_run_group_tests_name("qmgr", tests, NULL, NULL);
}
