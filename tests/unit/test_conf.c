/*
 * test_conf.c - the configuration file: values, defaults, mistakes and what is said of them, the
 * text of nodes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/settings/conf.h"

static int read_text(struct conf *c, const char *text, struct err *err)
{
	return conf_read(c, "shunt.conf", text, strlen(text), err);
}

static void test_defaults(void **state)
{
	struct conf c;
	struct err err = {.text = ""};

	(void)state;
	conf_init(&c);
	assert_string_equal(c.nodes, "auto");
	assert_string_equal(c.store, "");
	assert_string_equal(c.policy, "shunt");
	assert_string_equal(c.cgroup, "auto");
	assert_string_equal(c.mail_program, "/usr/sbin/sendmail");
	assert_int_equal(c.api_body, 64 << 20);
	assert_false(c.root_jobs);
	assert_int_equal(conf_load(&c, "/nonexistent/shunt.conf", &err), -ENOENT);
	conf_fini(&c);
}

static void test_values(void **state)
{
	struct conf c;
	struct err err = {.text = ""};

	(void)state;
	conf_init(&c);
	if (read_text(&c,
		      "# a site\n\n nodes = n[1-2]:cpus=8   # the old ones\nnodes=gpu1:cpus=4:gpus=2\r\n"
		      "store = postgres://shunt@db/shunt?x=1#y\nname=\n\n[ run ]\nroot_jobs = Yes\ncgroup=v1\n"
		      "[api]\nrate=0\nbody = 8mb\nidle = 2m\n[run]\nbind=no\n",
		      &err) != 0)
		fail_msg("%s", err.text);
	assert_string_equal(c.nodes, "n[1-2]:cpus=8 gpu1:cpus=4:gpus=2");
	assert_string_equal(c.store, "postgres://shunt@db/shunt?x=1#y");
	assert_string_equal(c.name, "");
	assert_true(c.root_jobs);
	assert_string_equal(c.cgroup, "v1");
	assert_string_equal(c.bind, "no");
	assert_int_equal(c.api_rate, 0);
	assert_int_equal(c.api_body, 8 << 20);
	assert_int_equal(c.api_idle, 120);
	assert_int_equal(conf_set(&c, "nodes", "4x8", &err), 0);
	assert_int_equal(conf_set(&c, "api.rate", "77", &err), 0);
	assert_string_equal(c.nodes, "4x8");
	assert_int_equal(c.api_rate, 77);
	assert_int_equal(conf_set(&c, "api.rat", "77", &err), -EINVAL);
	assert_non_null(strstr(err.text, "did you mean rate?"));
	conf_fini(&c);
}

static void test_mistakes(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"nodes = 4x8\nnode = 4x8\n", "shunt.conf:2: unknown option \"node\"; did you mean nodes?"},
		{"rate = 5\n", "shunt.conf:1: rate belongs in section [api]"},
		{"[api]\n\nnodes = 4x8\n", "shunt.conf:3: nodes belongs before the first section"},
		{"[apis]\n", "shunt.conf:1: unknown section [apis]; did you mean [api]?"},
		{"[database]\n", "known: run api offline mail"},
		{"[]\n", "unknown section []"},
		{"[api\n", "not closed"},
		{"hello\n", "a line is NAME = VALUE"},
		{"policy = magic\n", "shunt.conf:1: policy: unknown policy \"magic\""},
		{"policy = esay\n", "did you mean easy?"},
		{"policy = easy-clairvoyant\n", "simulator"},
		{"[run]\ncgroup = v3\n", "shunt.conf:2: cgroup: must be one of auto v2 v1 none, not \"v3\""},
		{"[run]\nroot_jobs = perhaps\n", "yes or no"},
		{"[run]\nprologue = hooks/pre\n", "absolute path"},
		{"[api]\nrate = -1\n", "whole number"},
		{"[api]\nrate = 9999999\n", "from 0 to 1000000"},
		{"[api]\nbody = 5kb\n", "bytes"},
		{"store = a\nstore = b\n", "shunt.conf:2: store is given twice, first in line 1"},
		{"[cluster]\nlisten = 70000\n", "[ADDRESS:]PORT"},
		{"[cluster]\nlisten = ::1:7722\n", "in brackets"},
		{"[cluster]\nlisten = :7722\n", "missing"},
		{"[cluster]\naddress = a b\n", "HOST or HOST:PORT"},
		{"[cluster]\naddress = pine:\n", "HOST or HOST:PORT"},
		{"[cluster]\naddress = [::1\n", "HOST or HOST:PORT"},
		{"[cluster]\naddress = pine:0\n", "HOST or HOST:PORT"},
		{"[cluster]\nheartbeat = 0\n", "from 1 to 3600 seconds"},
		{"[cluster]\nhealth = check\n", "absolute path"},
		{"nodes = none\nnodes = 4x8\n", "shunt.conf:2: nodes: none"},
		{"nodes = n1\n", "shunt.conf:1: nodes: n1: needs cpus=N"},
		{"nodes = 4x8\nnodes = n2:cpus=1\n", "the node n2 is named twice"},
		{"nodes = auto\nnodes = 4x8\n", "shunt.conf:2: nodes: auto"},
		{"nodes =\n", "no nodes"},
		{"name = a\x01"
		 "b\n",
		 "control character"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct conf c;
		struct err err = {.text = ""};
		conf_init(&c);
		assert_int_equal(read_text(&c, bad[i].text, &err), -EINVAL);
		if (!strstr(err.text, bad[i].says))
			fail_msg("%s: %s", bad[i].text, err.text);
		assert_string_equal(c.nodes, "auto"); /* unchanged */
		assert_string_equal(c.store, "");
		conf_fini(&c);
	}
}

/* The example explains every option, and is a configuration file that changes nothing; without
 * its '#' as well. */
/* What opens a port, and what it is called. */
static void test_cluster(void **state)
{
	static const char *const listen[] = {"", "none", "7722", "0", "10.0.0.1:7722", "[::1]:7722", "pine:1"},
				 *const address[] = {"",	 "pine",  "pine.site", "pine:7722",
						     "10.0.0.1", "[::1]", "[::1]:7722"};
	char host[64];
	struct conf c;
	struct err err = {.text = ""};
	int port;

	(void)state;
	conf_init(&c);
	assert_string_equal(c.listen, "");
	assert_int_equal(c.certificate_life, 30 * 86400);
	for (size_t i = 0; i < sizeof listen / sizeof *listen; i++)
		if (conf_set(&c, "cluster.listen", listen[i], &err) < 0)
			fail_msg("%s", err.text);
	for (size_t i = 0; i < sizeof address / sizeof *address; i++)
		if (conf_set(&c, "cluster.address", address[i], &err) < 0)
			fail_msg("%s", err.text);
	assert_int_equal(conf_listen_parse("[::1]:7722", host, sizeof host, &port, &err), 0);
	assert_string_equal(host, "::1");
	assert_int_equal(port, 7722);
	assert_int_equal(conf_listen_parse("80", host, sizeof host, &port, &err), 0);
	assert_string_equal(host, "");
	assert_int_equal(conf_set(&c, "nodes", "none", &err), 0);
	conf_fini(&c);
}

/* All mistakes of a file, with their lines; what is right counts. What stands under a wrong
 * heading is not judged. */
static void test_all_mistakes(void **state)
{
	char path[] = "/tmp/test_conf.XXXXXX";
	int fd = mkstemp(path);
	struct conf_report report;
	struct conf c;
	struct err err = {.text = ""};

	(void)state;
	assert_int_not_equal(fd, -1);
	dprintf(fd, "nodes = 4x\nname = pine\nnodes = 2x8\n[apy]\nrate = x\n[api]\nrate = x\nidle = 7\n");
	close(fd);
	conf_init(&c);
	assert_int_equal(conf_load_all(&c, path, &report, &err), 0);
	assert_int_equal(report.mistakes, 3);
	assert_non_null(strstr(report.text.text, ":1: nodes: "));
	assert_non_null(strstr(report.text.text, ":4: unknown section [apy]; did you mean [api]?"));
	assert_non_null(strstr(report.text.text, ":7: rate: "));
	assert_null(strstr(report.text.text, ":5: "));
	assert_string_equal(c.name, "pine");
	assert_string_equal(c.nodes, "2x8");
	assert_int_equal(c.api_idle, 7);
	strbuf_fini(&report.text);
	conf_fini(&c);
	unlink(path);
}

static void test_node_names(void **state)
{
	static const char *const good[] = {"n1", "a.b-c_d", "1"}, *const bad[] = {"",	 ".",	"..", "-x",
										  "a/b", "a b", "n\n"};
	char name[80];

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		assert_true(conf_node_name_good(good[i]));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(conf_node_name_good(bad[i]));
	memset(name, 'x', sizeof name);
	name[63] = '\0';
	assert_true(conf_node_name_good(name));
	name[63] = 'x';
	name[64] = '\0';
	assert_false(conf_node_name_good(name));
}

static void test_example(void **state)
{
	struct strbuf b = {0}, on = {0};
	struct conf c;
	struct err err = {.text = ""};

	(void)state;
	conf_write_example(&b);
	conf_init(&c);
	assert_int_equal(conf_read(&c, "example", b.text, b.n, &err), 0);
	for (const char *p = b.text; *p; p++)
		if (*p != '#' || p[1] == ' ')
			strbuf_add(&on, p, 1);
	if (conf_read(&c, "example", on.text, on.n, &err) != 0)
		fail_msg("%s", err.text);
	for (int i = 0; i < nconf; i++)
		assert_non_null(strstr(on.text, conf_table[i].name));
	assert_string_equal(c.nodes, "auto");
	assert_int_equal(c.api_rate, 5000);
	conf_fini(&c);
	strbuf_fini(&b);
	strbuf_fini(&on);
}

static void test_nodes(void **state)
{
	struct conf_nodes n;
	struct err err = {.text = ""};

	(void)state;
	assert_int_equal(conf_nodes_parse("auto", &n, &err), 0);
	assert_true(n.automatic);
	assert_int_equal(n.node.n, 0);
	assert_int_equal(
		conf_nodes_parse("2x8+1x64:mem=1tb  gpu[1-2]:cpus=4:mem=16gb:gpus=2:fast:ib,x:cpus=1", &n, &err),
		-EINVAL);
	assert_int_equal(conf_nodes_parse("2x8+1x64:mem=1tb  gpu[1-2],big:cpus=4:mem=16gb:gpus=2:fast:ib", &n, &err),
			 0);
	assert_false(n.automatic);
	assert_int_equal(n.node.n, 6);
	assert_string_equal(n.node.v[0].name, "n1");
	assert_int_equal(n.node.v[1].cpus, 8);
	assert_int_equal(n.node.v[1].memory, 0);
	assert_null(n.node.v[1].feature);
	assert_string_equal(n.node.v[2].name, "n3");
	assert_int_equal(n.node.v[2].cpus, 64);
	assert_int_equal(n.node.v[2].memory, INT64_C(1) << 30);
	assert_string_equal(n.node.v[4].name, "gpu2");
	assert_string_equal(n.node.v[5].name, "big");
	assert_int_equal(n.node.v[5].gpus, 2);
	assert_string_equal(n.node.v[5].feature[1], "ib");
	assert_null(n.node.v[5].feature[2]);
	conf_nodes_fini(&n);
	assert_int_equal(conf_nodes_parse("parts:2,1,3 4x2 m[1-2]:cpus=4:partition=big", &n, &err), 0);
	assert_int_equal(n.node.n, 12);
	assert_string_equal(n.node.v[1].partition, "A");
	assert_string_equal(n.node.v[2].partition, "B");
	assert_string_equal(n.node.v[5].partition, "C");
	assert_int_equal(n.node.v[5].cpus, 1);
	assert_string_equal(n.node.v[6].name, "n7");
	assert_null(n.node.v[6].partition);
	assert_string_equal(n.node.v[11].partition, "big");
	conf_nodes_fini(&n);

	static const struct {
		const char *text, *says;
	} bad[] = {
		{"parts:", "1 to"},
		{"parts", "1 to"},
		{"parts:8,,8", "1 to"},
		{"parts:8,0", "1 to"},
		{"parts:99999,2", "more than 100000 nodes"},
		{"n1:cpus=1:partition=any", "begins with a letter"},
		{"n1:cpus=1:partition=1a", "begins with a letter"},
		{"", "no nodes"},
		{"0x8", "needs cpus=N"},
		{"n1:cpus=0", "from 1 to"},
		{"n1:cpus=8:mem=lots", "mem=lots"},
		{"n1:cpus=8:speed=3", "cpus=, mem=, disk=, swap=, gpus="},
		{"n1:cpus=8:a b:cpus=2:c/d", "is not a feature"},
		{"n[1-:cpus=8", "n[1-"},
		{"n1:cpus=8 n1:cpus=8", "named twice"},
		{"100000x1 x:cpus=1", "more than 100000 nodes"},
		{"n1:cpus=8:", "is not a feature"},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(conf_nodes_parse(bad[i].text, &n, &err), -EINVAL);
		if (!strstr(err.text, bad[i].says))
			fail_msg("%s: %s", bad[i].text, err.text);
	}
}

static void test_file(void **state)
{
	char path[] = "/tmp/test_conf.XXXXXX";
	int fd = mkstemp(path);
	struct conf c;
	struct err err = {.text = ""};

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "nodes = 3x2\nnmae = x\n", 21), 21);
	close(fd);
	conf_init(&c);
	assert_int_equal(conf_load(&c, path, &err), -EINVAL);
	assert_non_null(strstr(err.text, path));
	assert_non_null(strstr(err.text, ":2: unknown option \"nmae\"; did you mean name?"));
	conf_fini(&c);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_values),	      cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_cluster),	 cmocka_unit_test(test_all_mistakes), cmocka_unit_test(test_node_names),
		cmocka_unit_test(test_example),	 cmocka_unit_test(test_nodes),	      cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
