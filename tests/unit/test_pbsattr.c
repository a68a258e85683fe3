/*
 * test_pbsattr.c - jobs, queues and nodes in PBS's words: golden texts, as PBS's own commands would
 * print them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "cmd/lib/object.h"
#include "cmd/pbs/jobspec.h"
#include "cmd/pbs/pbsattr_internal.h"
#include "core/jobschema.h"

static const char running[] =
	"{\"id\":\"12.lab\",\"number\":12,\"index\":null,\"array\":null,\"name\":\"big\",\"owner\":\"ada\",\"host\":\"front\",\"queue\":\"batch\","
	"\"account\":\"proj\",\"project\":null,\"state\":\"R\",\"type\":\"Q\",\"deadline\":1600007200,\"guaranteed\":true,\"priority\":5,\"holds\":\"n\","
	"\"at\":null,\"depend\":\"afterok:3\",\"rerunnable\":true,\"attempt\":1,\"resources\":\"nodes=2:ppn=4,arch=x86\",\"walltime\":7200,\"cpus\":8,"
	"\"nodect\":2,\"memory\":4194304,\"gpus\":null,\"created\":1600000000,\"queued\":1600000000,\"started\":1600000060,\"ended\":null,"
	"\"modified\":1600000060,\"planned_start\":null,\"exec_host\":\"n1/0+n1/1+n2/0+n2/1\",\"exec_vnode\":\"(n1:ncpus=2)+(n2:ncpus=2)\","
	"\"exit_status\":null,\"used\":{\"cput\":100,\"walltime\":60,\"memory\":2048},\"comment\":\"a <b> & \\\"c\\\"\\nd\",\"output\":\"/home/ada/big.o12\","
	"\"error\":\"/home/ada/big.e12\",\"join\":null,\"keep\":null,\"mail\":\"ae\",\"mail_to\":\"ada@lab\",\"shell\":null,\"umask\":\"022\","
	"\"interactive\":false,\"submit_args\":\"-N big run.sh\",\"array_spec\":null,\"array_counts\":null,\"session\":4242,"
	"\"environment\":[\"PBS_O_HOME=/home/ada\",\"PBS_O_PATH=/usr/local/bin:/usr/bin:/bin:/opt/site/tools/bin\",\"LIST=a,b\"]}";

static const char running_text[] = "    Job_Name = big\n"
				   "    Job_Owner = ada@front\n"
				   "    resources_used.cput = 00:01:40\n"
				   "    resources_used.mem = 2048kb\n"
				   "    resources_used.walltime = 00:01:00\n"
				   "    job_state = R\n"
				   "    queue = batch\n"
				   "    server = lab\n"
				   "    Account_Name = proj\n"
				   "    ctime = Sun Sep 13 12:26:40 2020\n"
				   "    depend = afterok:3\n"
				   "    Error_Path = front:/home/ada/big.e12\n"
				   "    exec_host = n1/0+n1/1+n2/0+n2/1\n"
				   "    exec_vnode = (n1:ncpus=2)+(n2:ncpus=2)\n"
				   "    Hold_Types = n\n"
				   "    Join_Path = n\n"
				   "    Keep_Files = n\n"
				   "    Mail_Points = ae\n"
				   "    Mail_Users = ada@lab\n"
				   "    mtime = Sun Sep 13 12:27:40 2020\n"
				   "    Output_Path = front:/home/ada/big.o12\n"
				   "    Priority = 5\n"
				   "    qtime = Sun Sep 13 12:26:40 2020\n"
				   "    Rerunable = True\n"
				   "    Resource_List.mem = 4194304kb\n"
				   "    Resource_List.ncpus = 8\n"
				   "    Resource_List.nodect = 2\n"
				   "    Resource_List.nodes = 2:ppn=4\n"
				   "    Resource_List.arch = x86\n"
				   "    Resource_List.walltime = 02:00:00\n"
				   "    start_time = Sun Sep 13 12:27:40 2020\n"
				   "    stime = Sun Sep 13 12:27:40 2020\n"
				   "    session_id = 4242\n"
				   "    substate = 42\n"
				   "    umask = 022\n"
				   "    Variable_List = PBS_O_HOME=/home/ada,\n"
				   "\tPBS_O_PATH=/usr/local/bin:/usr/bin:/bin:/opt/site/tools/bin,LIST=a\\,b\n"
				   "    comment = a <b> & \"c\"\\nd\n"
				   "    etime = Sun Sep 13 12:26:40 2020\n"
				   "    run_count = 1\n"
				   "    submit_args = -N big run.sh\n"
				   "    Submit_arguments = -N big run.sh\n"
				   "    Walltime.Remaining = 7140\n"
				   "    type = Q\n"
				   "    deadline = Sun Sep 13 14:26:40 2020\n"
				   "    guaranteed = True\n";

static const char completed[] =
	"{\"id\":\"7.lab\",\"name\":\"STDIN\",\"owner\":\"ada\",\"host\":\"front\",\"queue\":\"batch\",\"state\":\"C\",\"type\":\"C\",\"deadline\":null,"
	"\"guaranteed\":false,\"priority\":0,\"holds\":\"\",\"rerunnable\":false,\"attempt\":1,\"resources\":\"select=1:ncpus=2\",\"walltime\":60,\"cpus\":2,"
	"\"nodect\":1,\"created\":1600000000,\"started\":1600000010,\"ended\":1600000020,\"modified\":1600000020,\"exec_host\":\"n1/0+n1/1\","
	"\"exit_status\":271,\"used\":{\"cput\":1,\"walltime\":10,\"memory\":0},\"comment\":\"deleted by <ada>\",\"environment\":[\"A=1\",\"B=x=y\"]}";

static const char completed_xml[] =
	"<Job_Name>STDIN</Job_Name><Job_Owner>ada@front</Job_Owner><resources_used><cput>00:00:01</cput><walltime>00:00:10</walltime></resources_used>"
	"<job_state>C</job_state><queue>batch</queue><server>lab</server><ctime>1600000000</ctime><exec_host>n1/0+n1/1</exec_host>"
	"<Hold_Types>n</Hold_Types><Join_Path>n</Join_Path><Keep_Files>n</Keep_Files><Mail_Points>n</Mail_Points><mtime>1600000020</mtime>"
	"<Priority>0</Priority><qtime>1600000000</qtime><Rerunable>False</Rerunable><Resource_List><ncpus>2</ncpus><nodect>1</nodect>"
	"<select>1:ncpus=2</select><walltime>00:01:00</walltime></Resource_List><start_time>1600000010</start_time>"
	"<Variable_List>A=1,B=x=y</Variable_List><comment>deleted by &lt;ada&gt;</comment><exit_status>271</exit_status>"
	"<comp_time>1600000020</comp_time><type>C</type>";

static const char completed_json[] =
	"{\"Job_Name\":\"STDIN\",\"Job_Owner\":\"ada@front\",\"resources_used\":{\"cput\":\"00:00:01\",\"walltime\":\"00:00:10\"},\"job_state\":\"F\","
	"\"queue\":\"batch\",\"server\":\"lab\",\"ctime\":\"Sun Sep 13 12:26:40 2020\",\"exec_host\":\"n1/0+n1/1\",\"Hold_Types\":\"n\",\"Join_Path\":\"n\","
	"\"Keep_Files\":\"n\",\"Mail_Points\":\"n\",\"mtime\":\"Sun Sep 13 12:27:00 2020\",\"Priority\":0,\"qtime\":\"Sun Sep 13 12:26:40 2020\","
	"\"Rerunable\":\"False\",\"Resource_List\":{\"ncpus\":2,\"nodect\":1,\"select\":\"1:ncpus=2\",\"walltime\":\"00:01:00\"},"
	"\"stime\":\"Sun Sep 13 12:26:50 2020\",\"substate\":92,\"Variable_List\":{\"A\":\"1\",\"B\":\"x=y\"},\"comment\":\"deleted by <ada>\","
	"\"run_count\":1,\"Exit_status\":271,\"type\":\"C\"}";

struct made {
	json_t *object;
	struct pbsattrs attrs;
	struct strbuf out;
};

static struct made make(const char *text, void (*of)(struct pbsattrs *, const json_t *, enum pbs_family),
			enum pbs_family family)
{
	struct made m = {.object = json_loads(text, 0, NULL)};

	assert_non_null(m.object);
	of(&m.attrs, m.object, family);
	return m;
}

static void drop(struct made *m)
{
	pbsattrs_fini(&m->attrs);
	strbuf_fini(&m->out);
	json_decref(m->object);
}

static void test_text(void **state)
{
	struct made m = make(running, pbsattr_job, PBS_BOTH);

	pbsattr_text(&m.attrs, 4, 78, &m.out);
	assert_string_equal(strbuf_text(&m.out), running_text);
	drop(&m);
}

/* What clients do: join at newline and tab. The result is what -1 prints. */
static void test_wrap_joins(void **state)
{
	struct made m = make(running, pbsattr_job, PBS_BOTH);
	struct strbuf joined = {0};

	pbsattr_text(&m.attrs, 4, 40, &m.out);
	for (const char *p = m.out.text; *p; p++) {
		if (strncmp(p, "\n\t", 2) == 0)
			p++;
		else
			strbuf_add(&joined, p, 1);
	}
	strbuf_clear(&m.out);
	pbsattr_text(&m.attrs, 4, 0, &m.out);
	assert_string_equal(strbuf_text(&joined), strbuf_text(&m.out));
	strbuf_fini(&joined);
	drop(&m);
}

static void test_xml(void **state)
{
	struct made m = make(completed, pbsattr_job, PBS_TORQUE);

	pbsattr_xml(&m.attrs, &m.out);
	assert_string_equal(strbuf_text(&m.out), completed_xml);
	drop(&m);
}

static void test_json(void **state)
{
	struct made m = make(completed, pbsattr_job, PBS_PRO);
	json_t *object = pbsattr_json(&m.attrs);
	char *text = json_dumps(object, JSON_COMPACT);

	assert_string_equal(text, completed_json);
	free(text);
	json_decref(object);
	drop(&m);
}

static void test_dsv(void **state)
{
	struct made m =
		make("{\"name\":\"a|b\",\"owner\":\"ada\",\"host\":\"h\",\"state\":\"Q\"}", pbsattr_job, PBS_TORQUE);

	pbsattr_dsv(&m.attrs, "|", &m.out);
	assert_string_equal(
		strbuf_text(&m.out),
		"Job_Name=a\\|b|Job_Owner=ada@h|job_state=Q|Hold_Types=n|Join_Path=n|Keep_Files=n|Mail_Points=n");
	drop(&m);
}

/* A finished job is C to who knows TORQUE, F to PBS Pro alone. */
static void test_letters(void **state)
{
	static const struct {
		enum pbs_family family;
		const char *line;
	} cases[] = {{PBS_TORQUE, "    job_state = C\n"},
		     {PBS_BOTH, "    job_state = C\n"},
		     {PBS_PRO, "    job_state = F\n"}};

	for (int i = 0; i < 3; i++) {
		struct made m = make(completed, pbsattr_job, cases[i].family);
		pbsattr_text(&m.attrs, 4, 78, &m.out);
		assert_non_null(strstr(m.out.text, cases[i].line));
		drop(&m);
	}
}

static void test_array(void **state)
{
	struct made m = make(
		"{\"id\":\"5[].lab\",\"name\":\"a\",\"owner\":\"ada\",\"host\":\"h\",\"state\":\"B\",\"array_spec\":\"1-10%2\","
		"\"array_counts\":{\"Q\":5,\"R\":2,\"C\":3}}",
		pbsattr_job, PBS_PRO);

	pbsattr_text(&m.attrs, 4, 0, &m.out);
	assert_non_null(strstr(m.out.text, "    job_state = B\n"));
	assert_non_null(strstr(m.out.text, "    array = True\n"));
	assert_non_null(strstr(m.out.text, "    array_indices_submitted = 1-10%2\n"));
	assert_non_null(
		strstr(m.out.text,
		       "    array_state_count = Transit:0 Queued:5 Held:0 Waiting:0 Running:2 Exiting:0 Complete:3\n"));
	drop(&m);
}

/* ---- names of a job's members ---- */

static void test_every_member_is_named(void **state)
{
	for (const struct field *f = job_members; f->name; f++) {
		const struct job_attr *row = job_attrs;
		while (row->key && strcmp(row->key, f->name) != 0)
			row++;
		if (f->in & (AT_SUBMIT | SHOWN) && !row->key)
			fail_msg("%s has neither an attribute of PBS nor a row without a name", f->name);
	}
}

static void options_check(const struct option *options, uint32_t in)
{
	char key[64];

	for (const struct option *o = options; o->name; o++)
		if (o->kind == OPTION_MEMBER &&
		    !field_find(job_members, in, jobspec_key(o->name, key, sizeof key), NULL))
			fail_msg("--%s: a job has no such member, or not at that time", o->name);
}

static void test_options_set_members(void **state)
{
	options_check(qsub_options, AT_SUBMIT);
	options_check(qalter_options, AT_ALTER);
}

static void test_more_names(void **state)
{
	for (const struct job_attr *row = job_attrs; row->key; row++) {
		const struct field *f = field_find(job_members, AT_SUBMIT, row->key, NULL);
		if (!(row->family & BY_W))
			continue;
		assert_true(f && f->is & IS_TEXT);
		assert_non_null(strstr(pbsattr_more_names, row->name));
		assert_string_equal(pbsattr_more(row->name), row->key);
	}
	assert_string_equal(pbsattr_more("STAGEIN"), "stagein");
	assert_null(pbsattr_more("Account_Name"));
}

static void test_queue(void **state)
{
	struct made m = make(
		"{\"name\":\"batch\",\"attributes\":{\"enabled\":\"True\",\"resources_max.walltime\":\"10:00:00\",\"max_running\":5},"
		"\"defaults\":{\"queue_type\":\"Execution\",\"enabled\":\"False\",\"started\":\"True\"},\"counts\":{\"Q\":2,\"R\":1}}",
		pbsattr_queue, PBS_BOTH);

	pbsattr_text(&m.attrs, 4, 0, &m.out);
	assert_string_equal(strbuf_text(&m.out),
			    "    total_jobs = 3\n"
			    "    state_count = Transit:0 Queued:2 Held:0 Waiting:0 Running:1 Exiting:0 Complete:0\n"
			    "    queue_type = Execution\n"
			    "    started = True\n"
			    "    enabled = True\n"
			    "    resources_max.walltime = 10:00:00\n"
			    "    max_running = 5\n");
	drop(&m);
}

static void test_server(void **state)
{
	struct made m = make(
		"{\"name\":\"lab\",\"version\":\"1.0\",\"host\":\"front\",\"state\":\"active\",\"cpus\":8,\"cpus_used\":2,"
		"\"attributes\":{\"managers\":[\"a@*\",\"b@*\"]},\"counts\":{}}",
		pbsattr_server, PBS_BOTH);

	pbsattr_text(&m.attrs, 4, 0, &m.out);
	assert_string_equal(strbuf_text(&m.out),
			    "    server_state = Active\n"
			    "    server_host = front\n"
			    "    total_jobs = 0\n"
			    "    state_count = Transit:0 Queued:0 Held:0 Waiting:0 Running:0 Exiting:0 Complete:0\n"
			    "    managers = a@*,b@*\n"
			    "    resources_available.ncpus = 8\n"
			    "    resources_assigned.ncpus = 2\n"
			    "    pbs_version = 1.0\n");
	drop(&m);
}

static void test_node(void **state)
{
	static const char node[] =
		"{\"name\":\"n1\",\"state\":\"busy\",\"cpus\":4,\"cpus_used\":4,\"memory\":1048576,\"memory_used\":1024,\"features\":[\"fast\",\"gpu\"],"
		"\"note\":\"\",\"jobs\":[{\"id\":\"3.lab\",\"cpus\":[0,1]},{\"id\":\"4[2].lab\",\"cpus\":[3]}],\"load\":2.5}";
	struct made m = make(node, pbsattr_node, PBS_TORQUE);

	pbsattr_xml(&m.attrs, &m.out);
	assert_string_equal(
		strbuf_text(&m.out),
		"<state>job-exclusive</state><np>4</np><properties>fast,gpu</properties><ntype>cluster</ntype>"
		"<jobs>0/3.lab, 1/3.lab, 3/4[2].lab</jobs><loadave>2.50</loadave>");
	drop(&m);

	m = make(node, pbsattr_node, PBS_PRO);
	pbsattr_text(&m.attrs, 5, 0, &m.out);
	assert_string_equal(strbuf_text(&m.out), "     state = job-busy\n"
						 "     pcpus = 4\n"
						 "     properties = fast,gpu\n"
						 "     ntype = PBS\n"
						 "     jobs = 3.lab/0, 3.lab/1, 4[2].lab/3\n"
						 "     resources_available.host = n1\n"
						 "     resources_available.ncpus = 4\n"
						 "     resources_available.mem = 1048576kb\n"
						 "     resources_assigned.mem = 1024kb\n"
						 "     resources_assigned.ncpus = 4\n"
						 "     loadave = 2.50\n");
	drop(&m);
}

/* Nothing that a user can write breaks the XML. */
static void test_xml_quote(void **state)
{
	struct strbuf out = {0};

	xml_quote("<a b=\"c\">&\n\t\x01\xff z\xc3\xa4", &out);
	assert_string_equal(out.text, "&lt;a b=&quot;c&quot;&gt;&amp;&#10;&#9;\\u0001\\xff z\xc3\xa4");
	strbuf_fini(&out);
}

static void test_near(void **state)
{
	char buf[40];

	assert_string_equal(instant_near(1600000000, 1600000500, buf, sizeof buf), "12:26");
	assert_string_equal(instant_near(1600100000, 1600000500, buf, sizeof buf), "Mon 16:13");
	assert_string_equal(instant_near(1500000000, 1600000500, buf, sizeof buf), "2017-07-14 02:40");
	/* Neighbours: the same minute, the next one, and one that a second makes far. */
	assert_string_equal(instant_near(1599999959, 1600000500, buf, sizeof buf), "12:25");
	assert_string_equal(instant_near(1599999960, 1600000500, buf, sizeof buf), "12:26");
	assert_string_equal(instant_near(1600000019, 1600000500, buf, sizeof buf), "12:26");
	assert_string_equal(instant_near(1600000020, 1600000500, buf, sizeof buf), "12:27");
	assert_string_equal(instant_near(1600000020, 1600100000, buf, sizeof buf), "Sun 12:27");
	assert_string_equal(instant_near(1600000021, 1600000020 + 6 * 86400, buf, sizeof buf), "Sun 12:27");
	assert_string_equal(instant_near(1600000020, 1600000020 + 6 * 86400, buf, sizeof buf), "2020-09-13 12:27");
	assert_string_equal(instant_near(1600000020, 1600100000, buf, 4), "Sun");
	assert_string_equal(memory_human(1536, buf, sizeof buf), "1.5 MB");
	assert_string_equal(id_short("123456.lab", buf, 4), "123");
	assert_string_equal(id_short("12[3].lab", buf, sizeof buf), "12[3]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_wrap_joins),
		cmocka_unit_test(test_xml),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_dsv),
		cmocka_unit_test(test_letters),
		cmocka_unit_test(test_array),
		cmocka_unit_test(test_every_member_is_named),
		cmocka_unit_test(test_options_set_members),
		cmocka_unit_test(test_more_names),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_server),
		cmocka_unit_test(test_node),
		cmocka_unit_test(test_xml_quote),
		cmocka_unit_test(test_near),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests_name("pbsattr", tests, NULL, NULL);
}
