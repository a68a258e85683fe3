/*
 * test_admit.c - which jobs may come in, which queue takes them, and with what: routing,
 * access, limits, defaults.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rules/admit.h"
#include "rules/queue.h"

/* A site, and how many jobs it has: the same number wherever one asks. */
struct fixture {
	struct ruleset site;
	struct arena *arena;
	int64_t jobs;
	struct admitted got;
	struct err err;
};

static bool find(void *context, const char *name, struct admit_queue *ret)
{
	struct fixture *f = context;
	size_t n = strcspn(name, "@");
	char own[64];
	int at;

	snprintf(own, sizeof own, "%.*s", strcmp(name + n, "@pine") == 0 ? (int)n : 63, name); /* this server is pine */
	at = ruleset_find(&f->site, own);
	if (at >= 0)
		*ret = (struct admit_queue){.name = f->site.queues.v[at].name, .attrs = &f->site.queues.v[at].attrs};
	return at >= 0;
}

static int64_t count(void *context, const char *queue, const char *user)
{
	return ((struct fixture *)context)->jobs;
}

static void set(struct fixture *f, const char *queue, const char *name, const char *value)
{
	struct attrs *a = queue ? &f->site.queues.v[ruleset_find(&f->site, queue)].attrs : &f->site.attrs;

	if (attrs_change(a, ATTR_SET, name, value, &f->err) < 0)
		fail_msg("%s", f->err.text);
}

static void add(struct fixture *f, const char *queue)
{
	ruleset_add(&f->site, queue);
	set(f, queue, "enabled", "True");
}

static void add_route(struct fixture *f, const char *queue, const char *to)
{
	add(f, queue);
	set(f, queue, "queue_type", "Route");
	set(f, queue, "route_destinations", to);
	set(f, queue, "started", "True");
}

static int setup(void **state)
{
	struct fixture *f = mem_zalloc(sizeof *f);

	ruleset_init(&f->site);
	f->arena = arena_create();
	add(f, "batch");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	ruleset_fini(&f->site);
	arena_destroy(f->arena);
	free(f);
	return 0;
}

static int ask_as(struct fixture *f, const char *queue, const char *request, struct admit_job job)
{
	struct admit_site site = {&f->site.attrs, find, count, f};
	struct reqtext text;

	reqtext_init(&text);
	f->err.text[0] = '\0';
	if (*request && reqtext_parse(&text, request, f->arena, &f->err) < 0)
		fail_msg("%s", f->err.text);
	job.text = &text;
	if (!job.by.user)
		job.by.user = "ana";
	if (!job.count)
		job.count = 1;
	return job_admit(&site, queue, &job, f->arena, &f->got, &f->err);
}

static int ask(struct fixture *f, const char *queue, const char *request)
{
	return ask_as(f, queue, request, (struct admit_job){0});
}

static const char *text_of(struct fixture *f)
{
	struct strbuf out = {0};
	const char *text;

	reqtext_format(&f->got.text, &out);
	text = arena_strndup(f->arena, strbuf_text(&out), out.n);
	strbuf_fini(&out);
	return text;
}

static void refused(struct fixture *f, int rc, const char *why)
{
	assert_int_equal(rc, -EDQUOT);
	assert_string_equal(f->err.text, why);
}

static void plain(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(ask(f, "batch", "ncpus=2"), 0);
	assert_string_equal(f->got.queue.name, "batch");
	assert_int_equal(f->got.text.walltime, 3600); /* the server's own default */
	assert_int_equal(ask(f, "none", "ncpus=2"), -ENOENT);
	assert_string_equal(f->err.text, "Unknown queue none");
	set(f, "batch", "enabled", "False");
	refused(f, ask(f, "batch", ""), "queue batch is not enabled: it accepts no jobs now");
}

static void bounds(void **state)
{
	struct fixture *f = *state;

	set(f, "batch", "resources_max.walltime", "1:00:00");
	set(f, "batch", "resources_max.mem", "2gb");
	set(f, "batch", "resources_min.ncpus", "2");
	set(f, "batch", "resources_max.nodes", "3");
	set(f, "batch", "resources_max.licence", "4");
	assert_int_equal(ask(f, "batch", "nodes=3:ppn=1:mem=512mb,walltime=3600"), 0);
	refused(f, ask(f, "batch", "ncpus=2,walltime=3601"),
		"walltime=01:00:01 is more than queue batch allows: at most 01:00:00 (resources_max.walltime)");
	refused(f, ask(f, "batch", "ncpus=1"),
		"ncpus=1 is less than queue batch allows: at least 2 (resources_min.ncpus)");
	refused(f, ask(f, "batch", "nodes=4:ppn=1"),
		"nodect=4 is more than queue batch allows: at most 3 (resources_max.nodect)");
	assert_int_equal(ask(f, "batch", "nodes=4:ppn=1,place=pack"), 0); /* one node in the end */
	refused(f, ask(f, "batch", "nodes=2:ppn=2,pmem=1gb"),
		"mem=4gb is more than queue batch allows: at most 2gb (resources_max.mem)");
	refused(f, ask(f, "batch", "select=2:ncpus=1:licence=2+1:ncpus=1:licence=1"),
		"licence=5 is more than queue batch allows: at most 4 (resources_max.licence)");
	set(f, NULL, "resources_max.ncpus", "3");
	refused(f, ask(f, "batch", "ncpus=4"),
		"ncpus=4 is more than this server allows: at most 3 (resources_max.ncpus)");
	set(f, "batch", "resources_min.cput", "1:00:00"); /* nobody knows what a job asks for of it */
	assert_int_equal(ask(f, "batch", "ncpus=2"), 0);
}

/* A request that is altered where it is: what a queue takes in is not asked again. */
static void request_alone(void **state)
{
	struct fixture *f = *state;
	struct admit_site site = {&f->site.attrs, find, count, f};
	struct reqtext text;

	set(f, "batch", "enabled", "False");
	set(f, "batch", "from_route_only", "True");
	set(f, "batch", "resources_max.walltime", "60");
	set(f, "batch", "resources_min.ncpus", "2");
	reqtext_init(&text);
	text.walltime = 60;
	assert_int_equal(admit_request(&site, "batch", &text, false, "walltime", &f->err), 0);
	assert_int_equal(admit_request(&site, "batch", &text, false, NULL, &f->err), -EDQUOT);
	text.walltime = 61;
	assert_int_equal(admit_request(&site, "batch", &text, false, "walltime", &f->err), -EDQUOT);
	assert_int_equal(admit_request(&site, NULL, &text, false, NULL, &f->err), 0);
	set(f, NULL, "resources_max.walltime", "60");
	assert_int_equal(admit_request(&site, NULL, &text, false, NULL, &f->err), -EDQUOT);
	assert_string_equal(
		f->err.text,
		"walltime=00:01:01 is more than this server allows: at most 00:01:00 (resources_max.walltime)");
}

/* The lower of what an interactive job asks for and interactive_walltime counts; one that asks
 * for more is refused. */
static void interactive(void **state)
{
	struct fixture *f = *state;
	struct admit_site site = {&f->site.attrs, find, count, f};
	struct admit_job job = {.interactive = true};
	struct reqtext text;

	set(f, NULL, "resources_default.walltime", "7200");
	set(f, "batch", "resources_default.walltime", "5400");
	assert_int_equal(ask_as(f, "batch", "walltime=10:00:00", job), 0);
	set(f, NULL, "interactive_walltime", "2700");
	assert_int_equal(ask_as(f, "batch", "", job), 0);
	assert_int_equal(f->got.text.walltime, 2700);
	assert_int_equal(ask_as(f, "batch", "walltime=45:00", job), 0);
	assert_int_equal(ask_as(f, "batch", "walltime=30:00", job), 0);
	assert_int_equal(f->got.text.walltime, 1800);
	assert_int_equal(ask_as(f, "batch", "walltime=45:01", job), -EDQUOT);
	assert_string_equal(
		f->err.text,
		"walltime=00:45:01 is more than this server allows an interactive job: at most 00:45:00 (interactive_walltime)");
	assert_int_equal(ask(f, "batch", "walltime=45:01"), 0);
	assert_int_equal(ask(f, "batch", ""), 0);
	assert_int_equal(f->got.text.walltime, 5400);

	reqtext_init(&text);
	text.walltime = 2701;
	assert_int_equal(admit_request(&site, "batch", &text, true, "walltime", &f->err), -EDQUOT);
	assert_int_equal(admit_request(&site, "batch", &text, false, "walltime", &f->err), 0);

	set(f, NULL, "interactive_walltime", "0");
	assert_int_equal(ask_as(f, "batch", "", job), -EDQUOT);
	assert_string_equal(f->err.text, "this server accepts no interactive jobs (interactive_walltime is 0)");
}

static void access(void **state)
{
	struct fixture *f = *state;
	const char *const physics[] = {"users", "physics", NULL}, *const none[] = {NULL};

	set(f, "batch", "acl_user_enable", "True");
	set(f, "batch", "acl_users", "-eve,ana@pine,bo");
	refused(f, ask_as(f, "batch", "", (struct admit_job){.by = {.user = "eve"}}),
		"queue batch does not accept jobs of user eve (acl_users)");
	refused(f, ask_as(f, "batch", "", (struct admit_job){.by = {.user = "ana", .host = "oak"}}),
		"queue batch does not accept jobs of user ana (acl_users)");
	assert_int_equal(ask_as(f, "batch", "", (struct admit_job){.by = {.user = "ana", .host = "pine"}}), 0);
	set(f, NULL, "acl_host_enable", "True");
	set(f, NULL, "acl_hosts", "pine");
	refused(f, ask_as(f, "batch", "", (struct admit_job){.by = {.user = "bo", .host = "oak"}}),
		"this server does not accept jobs from host oak (acl_hosts)");
	assert_int_equal(ask_as(f, "batch", "", (struct admit_job){.by = {.user = "bo"}}), 0); /* not known */
	set(f, "batch", "acl_group_enable", "True");
	set(f, "batch", "acl_groups", "physics");
	assert_int_equal(ask_as(f, "batch", "", (struct admit_job){.by = {.user = "bo", .groups = physics}}), 0);
	assert_int_equal(ask_as(f, "batch", "", (struct admit_job){.by = {.user = "bo"}}), 0);
	refused(f, ask_as(f, "batch", "", (struct admit_job){.by = {.user = "bo", .groups = none}}),
		"queue batch does not accept jobs of the groups of user bo (acl_groups)");
}

static void numbers(void **state)
{
	struct fixture *f = *state;
	struct admit_job array = {.count = 3, .array = true};

	f->jobs = 4;
	set(f, "batch", "max_queuable", "6");
	assert_int_equal(ask_as(f, "batch", "", (struct admit_job){.count = 2}), 0);
	refused(f, ask_as(f, "batch", "", array), "queue batch has a limit of 6 jobs (max_queuable), and it has 4 now");
	set(f, "batch", "max_queuable", "4");
	assert_int_equal(ask(f, "batch", ""), -EDQUOT);
	assert_int_equal(ask_as(f, "batch", "", (struct admit_job){.from = "batch"}), 0); /* it counts there already */
	set(f, NULL, "max_queued", "4");
	add(f, "other");
	assert_int_equal(ask(f, "other", ""), -EDQUOT);
	assert_int_equal(ask_as(f, "other", "", (struct admit_job){.from = "batch"}),
			 0); /* the server has no more than before */
	set(f, "other", "max_user_queuable", "4");
	assert_int_equal(ask_as(f, "other", "", (struct admit_job){.from = "batch"}), -EDQUOT);
	assert_int_equal(ask_as(f, "other", "", (struct admit_job){.from = "batch", .exempt = true}), 0);
	set(f, NULL, "max_array_size", "2");
	assert_int_equal(ask_as(f, "batch", "", array), -EINVAL);
	assert_string_equal(f->err.text, "the array has 3 elements: this server takes at most 2 (max_array_size)");
}

static void routing(void **state)
{
	struct fixture *f = *state;

	add(f, "short");
	add(f, "long");
	set(f, "short", "resources_max.walltime", "60");
	set(f, "long", "resources_min.walltime", "120");
	set(f, "long", "from_route_only", "True");
	add_route(f, "feed", "gone,short,long@oak,long@pine");
	assert_int_equal(ask(f, "feed", "walltime=60"), 0);
	assert_string_equal(f->got.queue.name, "short");
	assert_int_equal(ask(f, "feed", "walltime=120"), 0);
	assert_string_equal(f->got.queue.name, "long");
	refused(f, ask(f, "feed", "walltime=90"),
		"no destination of queue feed accepts it: unknown queue gone; walltime=00:01:30 is more than queue short "
		"allows: at most 00:01:00 (resources_max.walltime); unknown queue long@oak; walltime=00:01:30 is less than queue long allows: at "
		"least 00:02:00 (resources_min.walltime)");
	refused(f, ask(f, "long", "walltime=120"),
		"queue long accepts jobs from routing queues only (from_route_only)");
	set(f, "feed", "started", "False"); /* then it keeps them */
	assert_int_equal(ask(f, "feed", "walltime=60"), 0);
	assert_string_equal(f->got.queue.name, "feed");
	set(f, "feed", "started", "True");
	assert_int_equal(ask_as(f, "long", "walltime=1", (struct admit_job){.exempt = true}), 0);
	assert_int_equal(ask_as(f, "feed", "walltime=90", (struct admit_job){.exempt = true}), -EDQUOT);
	set(f, NULL, "resources_max.walltime", "100");
	refused(f, ask(f, "feed", "walltime=120"),
		"walltime=00:02:00 is more than this server allows: at most 00:01:40 (resources_max.walltime)");
	add_route(f, "nowhere", "x");
	attrs_change(&f->site.queues.v[ruleset_find(&f->site, "nowhere")].attrs, ATTR_UNSET, "route_destinations", NULL,
		     &f->err);
	refused(f, ask(f, "nowhere", "walltime=1"),
		"queue nowhere has nowhere to route to (route_destinations is not set)");
}

static void circles(void **state)
{
	struct fixture *f = *state;
	struct strbuf all = {0};
	char name[16], next[16];

	set(f, "batch", "resources_max.walltime", "60");
	add_route(f, "a", "b");
	add_route(f, "b", "a,b,batch");
	assert_int_equal(ask(f, "a", "walltime=60"), 0);
	assert_int_equal(ask(f, "a", "walltime=61"), -EDQUOT);

	/* A web: each of 60 routes to all of them, and none accepts. Tried way by way, this
	 * would not end. */
	for (int i = 0; i < 60; i++)
		strbuf_printf(&all, "%sw%d", i ? "," : "", i);
	for (int i = 0; i < 60; i++) {
		snprintf(name, sizeof name, "w%d", i);
		add_route(f, name, all.text);
	}
	assert_int_equal(ask(f, "w0", ""), -EDQUOT);
	strbuf_fini(&all);

	for (int i = 0; i < 20; i++) { /* a chain */
		snprintf(name, sizeof name, "c%d", i);
		snprintf(next, sizeof next, "c%d", i + 1);
		add_route(f, name, next);
	}
	add(f, "c20");
	assert_int_equal(ask(f, "c0", ""), -EDQUOT);
	assert_int_equal(ask(f, "c12", ""), 0);
	assert_string_equal(f->got.queue.name, "c20");
}

static void defaults(void **state)
{
	static const struct {
		const char *attribute, *value, *shown, *asked;
	} each[] = {
		{"resources_default.mem", "3gb", "mem=3gb", "mem=7mb"},
		{"resources_default.disk", "4gb", "disk=4gb", "disk=8mb"},
		{"resources_default.swap", "5gb", "swap=5gb", "swap=9mb"},
		{"resources_default.gpus", "2", "gpus=2", "gpus=3"},
	};
	struct fixture *f = *state;

	set(f, NULL, "resources_default.mem", "1gb");
	set(f, NULL, "resources_default.ncpus", "2");
	add(f, "gpu");
	set(f, "gpu", "resources_default.ngpus", "1");
	set(f, "gpu", "resources_default.nodes", "2:ppn=4");
	set(f, "gpu", "resources_default.walltime", "600");
	assert_int_equal(ask(f, "batch", ""), 0);
	assert_string_equal(text_of(f), "nodes=1:ppn=2,mem=1gb,walltime=01:00:00");
	assert_int_equal(ask(f, "gpu", ""), 0);
	assert_string_equal(text_of(f), "nodes=2:ppn=4,mem=1gb,gpus=1,walltime=00:10:00");
	assert_int_equal(ask(f, "gpu", "select=1:ncpus=3:ngpus=2:mem=2gb,walltime=5"), 0); /* it asks for all itself */
	assert_string_equal(text_of(f), "select=1:ncpus=3:mem=2gb:ngpus=2,walltime=00:00:05");
	assert_int_equal(ask(f, "batch", "ncpus=1,pmem=5mb"), 0);
	assert_int_equal(f->got.text.job.v[RES_MEM], 0);

	/* What a job asks for itself stays, each resource by itself. */
	add(f, "all");
	for (size_t i = 0; i < sizeof each / sizeof *each; i++)
		set(f, "all", each[i].attribute, each[i].value);
	for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
		assert_int_equal(ask(f, "all", each[i].asked), 0);
		for (size_t k = 0; k < sizeof each / sizeof *each; k++)
			if (!strstr(text_of(f), k == i ? each[k].asked : each[k].shown))
				fail_msg("%s: no %s in %s", each[i].asked, k == i ? each[k].asked : each[k].shown,
					 text_of(f));
	}
}

/* The queue that takes it says it first, then those on the way, the last before the first, then
 * the server. Defaults are judged as well. */
static void defaults_on_the_way(void **state)
{
	struct fixture *f = *state;

	add(f, "small");
	add_route(f, "inner", "small,batch");
	add_route(f, "outer", "inner");
	set(f, "outer", "resources_default.walltime", "100");
	set(f, "outer", "resources_default.mem", "1gb");
	assert_int_equal(ask(f, "outer", ""), 0);
	assert_string_equal(f->got.queue.name, "small");
	assert_int_equal(f->got.text.walltime, 100);
	set(f, "inner", "resources_default.walltime", "200");
	assert_int_equal(ask(f, "outer", ""), 0);
	assert_int_equal(f->got.text.walltime, 200);
	set(f, "small", "resources_default.walltime", "300");
	assert_int_equal(ask(f, "outer", ""), 0);
	assert_int_equal(f->got.text.walltime, 300);
	assert_int_equal(f->got.text.job.v[RES_MEM], 1 << 20);
	set(f, "small", "resources_max.walltime", "250");
	assert_int_equal(ask(f, "outer", ""), 0);
	assert_string_equal(f->got.queue.name, "batch");
	assert_int_equal(f->got.text.walltime, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(plain, setup, teardown),
		cmocka_unit_test_setup_teardown(bounds, setup, teardown),
		cmocka_unit_test_setup_teardown(request_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(interactive, setup, teardown),
		cmocka_unit_test_setup_teardown(access, setup, teardown),
		cmocka_unit_test_setup_teardown(numbers, setup, teardown),
		cmocka_unit_test_setup_teardown(routing, setup, teardown),
		cmocka_unit_test_setup_teardown(circles, setup, teardown),
		cmocka_unit_test_setup_teardown(defaults, setup, teardown),
		cmocka_unit_test_setup_teardown(defaults_on_the_way, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
