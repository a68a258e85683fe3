/*
 * test_hook.c - hooks: what they may change, what they can't reach, and that every call ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/frame.h"
#include "hooks/chain.h"
#include "hooks/frames.h"
#include "hooks/hook.h"
#include "hooks/worker.h"

#define MEMORY (4 << 20)

static int looks;

/* A clock of the test's own: some looks long. */
static bool late(void *context)
{
	return ++looks > 1000;
}

static const struct hook_limits limits = {.memory = MEMORY, .late = late};

static struct hook_verdict call(enum hook_event e, const char *text, const char *job, const char *asked)
{
	struct hook_source x = {"t.lua", text, strlen(text)};
	json_t *j = json_loads(job, 0, NULL), *a = asked ? json_loads(asked, 0, NULL) : NULL,
	       *facts = json_pack("{s:s, s:s}", "user", "ann", "group", "staff"),
	       *site = json_pack("{s:s, s:{s:{s:s}}}", "name", "pine", "queues", "batch", "type", "Execution");
	struct hook_subject s = {e, j, a, facts, site};
	struct hook_verdict v = {0};

	assert_non_null(j);
	looks = 0;
	hook_call(&x, &limits, &s, &v);
	json_decref(j);
	json_decref(a);
	json_decref(facts);
	json_decref(site);
	return v;
}

/* The function's body in, the changes or the message out. */
static void expect(const char *body, const char *job, const char *expected)
{
	char text[4096], *got;
	struct hook_verdict v;

	snprintf(text, sizeof text, "function on_submit(job)\n%s\nend", body);
	v = call(HOOK_SUBMIT, text, job, NULL);
	got = v.changes ? json_dumps(v.changes, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	if (strcmp(expected, v.message ? v.message : got ? got : "") != 0)
		print_error("%s\nexpected %s\ngot      %s\n", body, expected, v.message ? v.message : got ? got : "");
	assert_string_equal(v.message ? v.message : got ? got : "", expected);
	free(got);
	hook_verdict_fini(&v);
}

static void fails(const char *body, const char *why)
{
	char text[4096];
	struct hook_verdict v;

	snprintf(text, sizeof text, "function on_submit(job)\n%s\nend", body);
	v = call(HOOK_SUBMIT, text, "{\"name\":\"a\"}", NULL);
	if (v.result != HOOK_FAILED || !strstr(v.message, why))
		print_error("%s\nexpected %s\ngot      %s\n", body, why, v.message ? v.message : "nothing");
	assert_int_equal(v.result, HOOK_FAILED);
	assert_non_null(strstr(v.message, why));
	assert_null(v.changes);
	assert_null(v.log);
	hook_verdict_fini(&v);
}

static void what_changes(void **state)
{
	expect("", "{}", "");
	expect("job.account = job.account or 'general'", "{}", "{\"account\":\"general\"}");
	expect("job.account = job.account or 'general'", "{\"account\":\"x\"}", "{\"account\":\"x\"}");
	expect("job.account = nil", "{\"account\":\"x\"}", "{\"account\":null}");
	expect("job.priority = 5 job.priority = job.priority + 1", "{}", "{\"priority\":6}");
	expect("job.rerunnable = false", "{}", "{\"rerunnable\":false}");
	expect("job.queue = site.queues.batch and 'batch'", "{}", "{\"queue\":\"batch\"}");
	expect("job.name = job.user .. job.group .. site.name", "{\"user\":\"root\"}", "{\"name\":\"annstaffpine\"}");
}

static void what_is_requested(void **state)
{
	static const char job[] = "{\"resources\":[\"nodes=2:ppn=4,walltime=1:00:00\",\"mem=2gb\"]}";

	expect("job.name = job.walltime .. job.resources.nodes .. job.resources.mem .. tostring(job.resources.gpus)",
	       job, "{\"name\":\"36002:ppn=42gbnil\"}");
	expect("job.walltime = 60 job.name = job.walltime .. job.resources.walltime", job,
	       "{\"name\":\"6060\",\"resources\":[\"walltime=60\"]}");
	expect("job.resources.nodes = '1:ppn=8' job.resources.gpus = 2", job,
	       "{\"resources\":[\"nodes=1:ppn=8\",\"gpus=2\"]}");
	fails("job.resources.nodes = '1,walltime=5'", "a comma or a blank");
	fails("job.resources['a b'] = '1'", "letters, digits");
	fails("job.resources = {}", "can't be changed here");
	fails("job.walltime = -1", "above 0");
	fails("job.walltime = 'long'", "above 0");
}

static void changes_are_put_in(void **state)
{
	json_t *job = json_loads("{\"name\":\"a\",\"resources\":[\"walltime=5\"]}", 0, NULL),
	       *changes = json_loads("{\"name\":\"b\",\"resources\":[\"walltime=9\"]}", 0, NULL);
	char *text;

	hook_changes_apply(job, changes);
	text = json_dumps(job, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(text, "{\"name\":\"b\",\"resources\":[\"walltime=5\",\"walltime=9\"]}");
	free(text);
	json_decref(job);
	json_decref(changes);
}

static void what_is_refused(void **state)
{
	struct hook_verdict v;

	expect("refuse('no: ' .. job.name)", "{\"name\":\"a\"}", "no: a");
	expect("pcall(refuse, 'no') job.name = 'x'", "{}", "no");
	expect("pcall(refuse, 'first') refuse('second')", "{}", "first");
	expect("refuse('a\\nb\\27[31m')", "{}", "a b [31m");
	fails("refuse()", "bad argument");
	v = call(HOOK_START, "function on_start(job) refuse('no') end", "{}", NULL);
	assert_int_equal(v.result, HOOK_FAILED);
	assert_non_null(strstr(v.message, "nothing can be refused"));
	hook_verdict_fini(&v);
}

static void what_is_altered(void **state)
{
	static const char text[] = "function on_modify(job, changes)\n"
				   " if changes.walltime and changes.walltime > 3600 then refuse('too long') end\n"
				   " if changes.name then changes.comment = job.name .. ' before' end\n"
				   " if changes.mail then job.name = 'x' end\n"
				   "end";
	struct hook_verdict v = call(HOOK_MODIFY, text, "{\"name\":\"a\"}", "{\"name\":\"b\"}");

	assert_string_equal(json_string_value(json_object_get(v.changes, "comment")), "a before");
	hook_verdict_fini(&v);
	v = call(HOOK_MODIFY, text, "{}", "{\"resources\":[\"walltime=2:00:00\"]}");
	assert_int_equal(v.result, HOOK_REFUSED);
	hook_verdict_fini(&v);
	v = call(HOOK_MODIFY, text, "{\"name\":\"a\"}", "{\"mail\":\"b\"}");
	assert_int_equal(v.result, HOOK_FAILED);
	assert_non_null(strstr(v.message, "read-only"));
	hook_verdict_fini(&v);
}

static void what_is_said(void **state)
{
	struct hook_verdict v =
		call(HOOK_END, "function on_end(job) log('over') notify('ann', 'a\\nb', 'text\\n') end", "{}", NULL);
	const json_t *mail = json_array_get(v.mails, 0);

	assert_int_equal(v.result, HOOK_ACCEPTED);
	assert_string_equal(json_string_value(json_array_get(v.log, 0)), "over");
	assert_string_equal(json_string_value(json_object_get(mail, "subject")), "a b");
	assert_string_equal(json_string_value(json_object_get(mail, "to")), "ann");
	hook_verdict_fini(&v);
	fails("for i = 1, 100 do log('x') end", "at most 20");
	fails("for i = 1, 100 do notify('a', 'b', 'c') end", "at most 5");
	fails("notify('a b', 'c', 'd')", "recipient");
	fails("notify('a', 'c', string.rep('x', 100000))", "16384");
}

static void what_no_hook_can_change(void **state)
{
	fails("job.user = 'root'", "job.user can't be changed here");
	fails("job.script = 'rm'", "can't be changed");
	fails("job.workdir = '/'", "can't be changed");
	fails("job[1] = 2", "can't be changed");
	fails("job.name = 5", "must be a text");
	fails("job.priority = 1.5", "whole number");
	fails("job.name = {}", "not a table");
	fails("job.name = string.rep('x', 5000)", "4096 bytes");
	fails("job.name = 'a\\0b'", "zero byte");
	fails("job.name = 'a\\27b'", "control character");
	fails("job.name = '\\255'", "UTF-8");
	expect("rawset(job, 'user', 'root')", "{}", ""); /* a table that nobody reads */
	expect("rawset(job, 'account', 'x')", "{}", "");
}

/* Ways out that others have found in other sandboxes. */
static void nothing_to_reach(void **state)
{
	static const char *const names[] = {
		"io",	"os",	       "package",  "require",	 "debug",	   "coroutine",
		"load", "loadfile",    "dofile",   "loadstring", "collectgarbage", "print",
		"warn", "string.dump", "newproxy", "setfenv",	 "module"};
	char body[200];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(body, sizeof body, "if %s ~= nil then refuse('%s') end", names[i], names[i]);
		expect(body, "{}", "");
	}
	expect("for k, v in pairs(_G) do if type(v) == 'userdata' then refuse(k) end end", "{}", "");
	fails("setmetatable({}, {__gc = function() while true do end end})", "__gc");
	fails("getmetatable(job).__index = nil", "index a boolean");
	fails("setmetatable(job, {})", "protected metatable");
	expect("if getmetatable('').__index ~= string then refuse('?') end", "{}", "");
}

static void bytecode_is_no_source(void **state)
{
	struct hook_source x = {"b.lua", "\x1bLuaT\0", 7};
	unsigned events;
	struct err err;

	assert_true(hook_check(&x, &limits, &events, &err) < 0);
	assert_non_null(strstr(err.text, "binary"));
}

static void every_call_ends(void **state)
{
	fails("while true do end", "ran for too long");
	fails("while true do pcall(function() while true do end end) end", "ran for too long");
	fails("local function f() return f() end f()", "ran for too long");
	fails("local function f() return xpcall(f, f) end while true do f() end", "too long");
	fails("local t = setmetatable({}, {__index = function(t, k) while true do end end}) return t.x", "too long");
	fails("local x <close> = setmetatable({}, {__close = function() while true do end end})", "too long");
	fails("string.gsub(string.rep('x', 1000), '.', function() while true do end end)", "too long");
	fails("table.sort({1, 2, 3}, function() while true do end end)", "too long");
	fails("local function f() f() f() end f()", "hook_memory");
	fails("for i = 1, 1e9 do pcall(error) end", "too long");
	fails("error({})", "not a text");
	fails("error('\\0')", "");
	fails("error()", "not a text");
}

static void memory_is_bounded(void **state)
{
	fails("string.rep('x', 1 << 30)", "hook_memory");
	fails("string.rep('x', 1 << 20, string.rep('y', 1 << 20))", "too large");
	fails("local t = {} while true do t[#t + 1] = {} end", "hook_memory");
	fails("local s = 'x' while true do s = s .. s end", "hook_memory");
	fails("local t = {} for i = 1, 1e7 do t[i] = i end", "hook_memory");
	fails("table.concat(setmetatable({}, {__len = function() return 1 << 40 end, __index = function() return 'xxxxxxxxxx' end}))",
	      "");
	fails("string.format('%99999d', 1)", "invalid conversion");
	fails("while true do pcall(string.rep, 'x', 1 << 30) end", "too long");
}

static void expect_factors(const char *text, const char *expected)
{
	struct hook_source x = {"t.lua", text, strlen(text)};
	json_t *jobs = json_loads(
		"[{\"user\":\"ann\"},{\"user\":\"bob\",\"resources\":[\"walltime=60\"]},{\"user\":\"cem\"}]", 0, NULL);
	double v[3] = {0, 0, 1};
	struct err err = {.text = ""};
	char got[600];

	looks = 0;
	hook_priorities(&x, &limits, jobs, NULL, NULL, v, &err);
	snprintf(got, sizeof got, "%g %g %g%s%s", v[0], v[1], v[2], *err.text ? " " : "", err.text);
	assert_string_equal(got, expected);
	json_decref(jobs);
}

static void factors(void **state)
{
	expect_factors("function priority_factor(job) return job.user == 'bob' and job.walltime or -1.5 end",
		       "-1.5 60 -0.5");
	expect_factors("local n = 0 function priority_factor(job) n = n + 1 return n end", "1 2 4");
	expect_factors("function priority_factor(job) return job.name end",
		       "nan nan nan priority_factor must return a number, not a nil");
	expect_factors("function priority_factor(job) if job.user == 'bob' then while true do end end return 7 end",
		       "7 nan nan it ran for too long");
	expect_factors("function priority_factor(job) return 0/0 end",
		       "nan nan nan priority_factor must return a number from -1e9 to 1e9");
	expect_factors("function priority_factor(job) return math.huge end",
		       "nan nan nan priority_factor must return a number from -1e9 to 1e9");
	expect_factors("function priority_factor(job) job.name = 'x' return 1 end",
		       "nan nan nan t.lua:1: job.name: in priority_factor nothing can be changed");
	expect_factors("function priority_factor(job) log('x') end",
		       "nan nan nan t.lua:1: log: not in priority_factor, which is called again and again");
	expect_factors("function priority_factor(job) pcall(refuse, 'x') return 1 end", "1 1 2");
}

static void too_little_memory(void **state)
{
	struct hook_source x = {"t.lua", "function on_submit(job) end", 27};
	unsigned events;
	struct err err;

	for (size_t memory = 0; memory < 40000; memory += 500) {
		struct hook_limits tight = {.memory = memory};
		if (hook_check(&x, &tight, &events, &err) < 0)
			assert_non_null(strstr(err.text, "hook_memory"));
	}
}

static void what_is_checked(void **state)
{
	static const struct {
		const char *text, *error;
		unsigned events;
	} cases[] = {
		{"function on_submit() end", NULL, 1},
		{"function on_end() end function on_modify() end", NULL, 10},
		{"function on_submit( end", "t.lua:1:", 0},
		{"", "it defines none of", 0},
		{"on_submit = 5", "it defines none of", 0},
		{"while true do end", "too long", 0},
		{"error('at the top')", "at the top", 0},
		{"refuse('at the top')", "inside a function", 0},
		{"local x = string.rep('x', 1 << 30)", "hook_memory", 0},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct hook_source x = {"t.lua", cases[i].text, strlen(cases[i].text)};
		unsigned events = 0;
		struct err err = {.text = ""};
		looks = 0;
		assert_int_equal(hook_check(&x, &limits, &events, &err) < 0, cases[i].error != NULL);
		if (cases[i].error && !strstr(err.text, cases[i].error))
			fail_msg("%s: %s", cases[i].text, err.text);
		assert_int_equal(events, cases[i].events);
	}
}

/* ---- several files ---- */

static struct hook_answer chain(const char *const *texts, size_t n, bool refuses)
{
	static const char *const names[] = {"a.lua", "b.lua", "c.lua"};
	struct hook_file files[3];
	json_t *job = json_pack("{s:s}", "name", "x");
	struct hook_chain c = {.file = files, .n = n, .limits = limits, .failure_refuses = refuses};
	struct hook_subject s = {.event = HOOK_SUBMIT, .job = job};
	struct hook_answer a;

	for (size_t i = 0; i < n; i++)
		files[i] = (struct hook_file){{names[i], texts[i], strlen(texts[i])}, 1, NULL};
	looks = 0;
	hook_chain_call(&c, &s, &a);
	assert_string_equal(json_string_value(json_object_get(job, "name")), "x");
	json_decref(job);
	return a;
}

static void one_after_the_other(void **state)
{
	const char *texts[] = {"function on_submit(j) j.name = j.name .. '1' j.walltime = 5 log('one') end",
			       "function on_submit(j) j.name = j.name .. '2' .. j.walltime end",
			       "function on_submit(j) error('three') end"};
	struct hook_answer a = chain(texts, 2, true);

	assert_int_equal(a.result, HOOK_ACCEPTED);
	assert_string_equal(json_string_value(json_object_get(a.changes, "name")), "x125");
	assert_int_equal(json_array_size(a.ran), 2);
	hook_answer_fini(&a);
	a = chain(texts, 3, true);
	assert_int_equal(a.result, HOOK_FAILED);
	assert_null(a.changes);
	assert_string_equal(
		a.message,
		"the site's hook c.lua failed, so nothing is accepted now; inform the administrator: c.lua:1: three");
	hook_answer_fini(&a);
	a = chain(texts, 3, false);
	assert_int_equal(a.result, HOOK_ACCEPTED);
	assert_string_equal(json_string_value(json_object_get(a.changes, "name")), "x125");
	hook_answer_fini(&a);
}

static void an_answer_is_read_as_it_was_written(void **state)
{
	const char *texts[] = {"function on_submit(j) j.name = 'y' log('one') notify('a', 'b', 'c') end"};
	struct hook_answer a = chain(texts, 1, true), b;
	struct strbuf out = {0}, again = {0};
	json_t *o;

	hook_answer_write(&a, &out);
	o = json_loads(out.text, 0, NULL);
	assert_int_equal(hook_answer_read(o, &b, NULL), 0);
	hook_answer_write(&b, &again);
	assert_string_equal(out.text, again.text);
	json_decref(o);
	hook_answer_fini(&b);
	o = json_loads("{\"result\":\"refused\"}", 0, NULL);
	assert_true(hook_answer_read(o, &b, NULL) < 0);
	json_decref(o);
	hook_answer_fini(&a);
	hook_answer_fini(&b);
	strbuf_fini(&out);
	strbuf_fini(&again);
}

/* ---- the process in which they run ---- */

#define LIMITS "\"time_us\":2000000,\"memory\":4194304"
#define CALL(event)                                                                                                    \
	"{\"do\":\"call\",\"event\":\"" event "\",\"facts\":{\"user\":\"ann\"},\"site\":{\"name\":\"pine\"}," LIMITS "}"

static const char one[] =
	"function on_submit(j) if j.name == 'bad' then refuse('not bad') end j.account = j.user .. site.name "
	"end function on_start(j) log(j.name .. ' starts') end",
		  two[] = "function on_submit(j) if j.name == 'wrong' then error('oops') end end function "
			  "priority_factor(j) if not j.walltime then error('none') end return j.walltime / 2 end",
		  endless[] = "function on_submit(j) while true do end end";

/* Requests, their data, and the replies, a line each, without times. */
static const struct {
	const char *head, *data, *replies;
} talks[] = {
	{CALL("submit"), "{\"name\":\"x\"}",
	 "{\"answer\":{\"result\":\"accepted\"}}\n"
	 "{\"done\":1}\n"}, /* before the server has sent files */
	{"{\"do\":\"check\",\"name\":\"a.lua\"," LIMITS "}", one, "{\"events\":5}\n"},
	{"{\"do\":\"check\",\"name\":\"b.lua\"," LIMITS "}", two, "{\"events\":17}\n"},
	{"{\"do\":\"check\"," LIMITS "}", "function", "{\"error\":\"?:1: <name> expected near <eof>\"}\n"},
	{"files", NULL, ""},
	{CALL("submit"), "{\"name\":\"x\"}",
	 "{\"at\":\"a.lua\"}\n"
	 "{\"at\":\"b.lua\"}\n"
	 "{\"answer\":{\"result\":\"accepted\",\"changes\":{\"account\":\"annpine\"},\"ran\":[{\"file\":\"a.lua\",\"us\":.,\"failed\":null},{\"file\":\"b.lua\",\"us\":.,\"failed\":null}]}}\n"
	 "{\"done\":1}\n"},
	{CALL("submit"), "{\"name\":\"bad\"}",
	 "{\"at\":\"a.lua\"}\n"
	 "{\"answer\":{\"result\":\"refused\",\"message\":\"not bad\",\"ran\":[{\"file\":\"a.lua\",\"us\":.,\"failed\":null}]}}\n"
	 "{\"done\":1}\n"},
	{CALL("submit"), "{\"name\":\"wrong\"}",
	 "{\"at\":\"a.lua\"}\n"
	 "{\"at\":\"b.lua\"}\n"
	 "{\"answer\":{\"result\":\"accepted\",\"changes\":{\"account\":\"annpine\"},\"ran\":[{\"file\":\"a.lua\",\"us\":.,\"failed\":null},{\"file\":\"b.lua\",\"us\":.,\"failed\":\"b.lua:1: oops\"}]}}\n"
	 "{\"done\":1}\n"},
	{"{\"do\":\"call\",\"event\":\"submit\",\"facts\":{\"user\":\"ann\"},\"site\":{\"name\":\"pine\"},\"refuses\":true," LIMITS
	 "}",
	 "{\"name\":\"wrong\"}",
	 "{\"at\":\"a.lua\"}\n"
	 "{\"at\":\"b.lua\"}\n"
	 "{\"answer\":{\"result\":\"failed\",\"message\":\"the site's hook b.lua failed, so nothing is accepted now; inform the administrator: b.lua:1: oops\",\"ran\":[{\"file\":\"a.lua\",\"us\":.,\"failed\":null},{\"file\":\"b.lua\",\"us\":.,\"failed\":\"b.lua:1: oops\"}]}}\n"
	 "{\"done\":1}\n"},
	{CALL("submit"), "{\"jobs\":[{\"name\":\"x\"},{\"name\":\"bad\"},{\"name\":\"y\"}]}",
	 "{\"at\":\"a.lua\"}\n"
	 "{\"at\":\"b.lua\"}\n"
	 "{\"answer\":{\"result\":\"accepted\",\"changes\":{\"account\":\"annpine\"},\"ran\":[{\"file\":\"a.lua\",\"us\":.,\"failed\":null},{\"file\":\"b.lua\",\"us\":.,\"failed\":null}]}}\n"
	 "{\"at\":\"a.lua\"}\n"
	 "{\"answer\":{\"result\":\"refused\",\"message\":\"not bad\",\"ran\":[{\"file\":\"a.lua\",\"us\":.,\"failed\":null}]}}\n"
	 "{\"done\":2}\n"},
	{CALL("start"), "{\"job\":{\"name\":\"x\"}}",
	 "{\"at\":\"a.lua\"}\n"
	 "{\"answer\":{\"result\":\"accepted\",\"log\":[{\"file\":\"a.lua\",\"text\":\"x starts\"}],\"ran\":[{\"file\":\"a.lua\",\"us\":.,\"failed\":null}]}}\n"
	 "{\"done\":1}\n"},
	{CALL("end"), "{\"job\":{\"name\":\"x\"}}",
	 "{\"answer\":{\"result\":\"accepted\"}}\n"
	 "{\"done\":1}\n"},
	{CALL("other"), "{\"job\":{\"name\":\"x\"}}", "{\"done\":0}\n"},
	{"{\"do\":\"call\"," LIMITS "}", "{\"name\":\"x\"}", "{\"done\":0}\n"},
	{CALL("submit"), "{\"name\":\"x\",\"name\":\"y\"}", "{\"done\":0}\n"}, /* ambiguous */
	{CALL("submit"), "nonsense", "{\"done\":0}\n"},
	{"{\"do\":\"priority\"," LIMITS "}", "[{\"resources\":[\"walltime=10\"]},{\"resources\":[\"walltime=3\"]}]",
	 "{\"answer\":{\"result\":\"accepted\",\"ran\":[{\"file\":\"b.lua\",\"us\":.,\"failed\":null}]}}\n"
	 "{\"done\":2,\"values\":[5.0,1.5]}\n"},
	{"{\"do\":\"priority\"," LIMITS "}", "[{\"resources\":[\"walltime=10\"]},{},{\"resources\":[\"walltime=3\"]}]",
	 "{\"answer\":{\"result\":\"accepted\",\"ran\":[{\"file\":\"b.lua\",\"us\":.,\"failed\":\"b.lua:1: none\"}]}}\n"
	 "{\"done\":3,\"values\":[5.0,null,null],\"failed\":true}\n"},
	{"{\"do\":\"none\"}", "", ""},
	{"nonsense", "", ""},
	{"try a.lua", "{\"name\":\"x\"}",
	 "{\"at\":\"a.lua\"}\n"
	 "{\"answer\":{\"result\":\"accepted\",\"changes\":{\"account\":\"annoak\"},\"ran\":[{\"file\":\"a.lua\",\"us\":.,\"failed\":null}]}}\n"
	 "{\"done\":1,\"events\":5}\n"},
	{"try", "{\"name\":\"bad\"}",
	 "{\"at\":\"?\"}\n"
	 "{\"answer\":{\"result\":\"refused\",\"message\":\"not bad\",\"ran\":[{\"file\":\"?\",\"us\":.,\"failed\":null}]}}\n"
	 "{\"done\":1,\"events\":5}\n"},
	{"try wrong", "{\"name\":\"x\"}", "{\"error\":\"a.lua:1: <name> expected near <eof>\"}\n"},
	{"endless", "{\"name\":\"x\"}",
	 "{\"at\":\"?\"}\n"
	 "{\"answer\":{\"result\":\"accepted\",\"ran\":[{\"file\":\"?\",\"us\":.,\"failed\":\"it ran for too long\"}]}}\n"
	 "{\"done\":1,\"events\":1}\n"},
	{CALL("submit"), "{\"name\":\"x\"}",
	 "{\"at\":\"a.lua\"}\n"
	 "{\"at\":\"b.lua\"}\n"
	 "{\"answer\":{\"result\":\"accepted\",\"changes\":{\"account\":\"annpine\"},\"ran\":[{\"file\":\"a.lua\",\"us\":.,\"failed\":null},{\"file\":\"b.lua\",\"us\":.,\"failed\":null}]}}\n"
	 "{\"done\":1}\n"}, /* files in force are as before */
};

/* Makes the frame of a request, of which some are written here. */
static void request_put(const char *head, const char *data, struct strbuf *out)
{
	struct strbuf own = {0}, bytes = {0};

	if (strcmp(head, "files") == 0) {
		strbuf_printf(
			&own,
			"{\"do\":\"files\",\"files\":[{\"name\":\"a.lua\",\"bytes\":%zu,\"events\":5},{\"name\":\"b.lua\","
			"\"bytes\":%zu,\"events\":17},{\"name\":\"c.lua\",\"bytes\":1000,\"events\":1}]," LIMITS "}",
			strlen(one), strlen(two));
		strbuf_printf(&bytes, "%s%s", one, two); /* the third one's text is missing */
	} else if (strncmp(head, "try", 3) == 0) {
		const char *text = strcmp(head, "try wrong") == 0 ? "function" : one;
		strbuf_printf(
			&own,
			"{\"do\":\"try\",%s\"event\":\"submit\",\"bytes\":%zu,\"facts\":{\"user\":\"ann\"},\"site\":{\"name\":\"oak\"}," LIMITS
			"}",
			head[3] == ' ' ? "\"name\":\"a.lua\"," : "", strlen(text));
		strbuf_printf(&bytes, "%s%s", text, data);
	} else if (strcmp(head, "endless") == 0) {
		strbuf_printf(&own,
			      "{\"do\":\"try\",\"event\":\"submit\",\"bytes\":%zu,\"time_us\":1000,\"memory\":4194304}",
			      strlen(endless));
		strbuf_printf(&bytes, "%s%s", endless, data);
	} else {
		strbuf_puts(&own, head);
		strbuf_puts(&bytes, data);
	}
	frame_put(out, own.text, own.n, strbuf_text(&bytes), bytes.n);
	strbuf_fini(&own);
	strbuf_fini(&bytes);
}

/* Appends a reply without the times that it has. */
static void reply_show(const char *head, size_t n, struct strbuf *out)
{
	for (const char *end = head + n; head < end;) {
		if (strncmp(head, "\"us\":", 5) == 0) {
			strbuf_puts(out, "\"us\":.");
			head += 5 + strspn(head + 5, "0123456789");
		} else {
			strbuf_add(out, head++, 1);
		}
	}
	strbuf_puts(out, "\n");
}

/* Starts the process of the hooks; returns its socket. */
static int process_begin(pid_t *ret)
{
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	*ret = fork();
	if (*ret == 0) {
		dup2(fd[1], 0);
		close(fd[0]);
		close(fd[1]);
		_exit(hook_command());
	}
	close(fd[1]);
	return fd[0];
}

/* Reads all replies to a request: those before the replies to a question that is asked after it. */
static void replies_read(int fd, bool priority, struct strbuf *ret)
{
	struct strbuf in = {0}, out = {0};
	const char *head, *data;
	char buf[4096];
	size_t nhead, ndata;
	bool more = true;

	static const char last[] = "{\"do\":\"check\",\"name\":\"the last\"," LIMITS "}";

	frame_put(&out, last, strlen(last), "(", 1);
	assert_int_equal(send(fd, out.text, out.n, 0), out.n);
	while (more) {
		ssize_t n = recv(fd, buf, sizeof buf, 0), took;
		assert_true(n > 0);
		strbuf_add(&in, buf, (size_t)n);
		while ((took = frame_next(in.text, in.n, HOOK_FRAME_MAX, &head, &nhead, &data, &ndata)) > 0) {
			more = !memmem(head, nhead, "the last", 8);
			if (more && !(priority && memmem(head, nhead, "{\"at\"", 5))) /* after some processor time */
				reply_show(head, nhead, ret);
			memmove(in.text, in.text + took, in.n - (size_t)took);
			in.n -= (size_t)took;
		}
	}
	strbuf_fini(&in);
	strbuf_fini(&out);
}

static void the_process_answers(void **state)
{
	struct strbuf out = {0}, got = {0};
	pid_t pid;
	int fd = process_begin(&pid), status;

	for (size_t i = 0; i < sizeof talks / sizeof *talks; i++) {
		strbuf_clear(&out);
		strbuf_clear(&got);
		request_put(talks[i].head, talks[i].data, &out);
		assert_int_equal(send(fd, out.text, out.n, 0), out.n);
		replies_read(fd, strstr(talks[i].head, "\"priority\""), &got);
		assert_string_equal(strbuf_text(&got), talks[i].replies);
	}
	close(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	fd = process_begin(&pid); /* what is not a frame ends it */
	assert_int_equal(send(fd, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, 0), 8);
	assert_int_equal(recv(fd, &status, 1, 0), 0);
	close(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 1 << 8);
	strbuf_fini(&out);
	strbuf_fini(&got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_changes),
		cmocka_unit_test(what_is_requested),
		cmocka_unit_test(changes_are_put_in),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(what_is_altered),
		cmocka_unit_test(what_is_said),
		cmocka_unit_test(what_no_hook_can_change),
		cmocka_unit_test(nothing_to_reach),
		cmocka_unit_test(bytecode_is_no_source),
		cmocka_unit_test(every_call_ends),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(factors),
		cmocka_unit_test(too_little_memory),
		cmocka_unit_test(what_is_checked),
		cmocka_unit_test(one_after_the_other),
		cmocka_unit_test(an_answer_is_read_as_it_was_written),
		cmocka_unit_test(the_process_answers),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
