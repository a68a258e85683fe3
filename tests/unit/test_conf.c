/*
 * test_conf.c - the configuration file: values, defaults, mistakes and what is said of them, the
 * text of nodes.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
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

/* Appends a text in which F is a file and D its directory. */
static void names_put(const char *text, const char *dir, const char *path, struct strbuf *out)
{
	for (; *text; text++)
		if ((*text == 'F' || *text == 'D') && !isalnum((unsigned char)text[1]))
			strbuf_puts(out, *text == 'F' ? path : dir);
		else
			strbuf_add(out, text, 1);
}

/* Compares all that is reported of a file. F is its path, D its directory. */
static void test_check(void **state)
{
	static const struct {
		const char *text;
		bool system;
		int errors;
		const char *says;
	} rows[] = {
		{"", false, 0, "F: 0 options, all right\n"},
		{"nodes = 2x4\n[api]\nrate = 5\n", true, 0, "F: 2 options, all right\n"},
		{"nodes = 2x4\nnmae = x\n[api]\nrate = -1\n", false, 2, NULL},
		{"nodes = none\n", false, 0,
		 "F:1: warning: nodes = none, and no port for others to join (listen in [cluster]): no job can run\n"
		 "F: 1 option, which the server takes\n"},
		{"nodes = none\n", true, 0, "F: 1 option, all right\n"},
		{"nodes = none\n[cluster]\nlisten = none\n", true, 0,
		 "F:1: warning: nodes = none, and no port for others to join (listen in [cluster]): no job can run\n"
		 "F: 2 options, which the server takes\n"},
		{"nodes = none\n[cluster]\nlisten = 7722\n", false, 0, "F: 2 options, all right\n"},
		{"[cluster]\naddress = a.b\nmunge = yes\nhealth = /bin/true\n", false, 0,
		 "F:2: warning: address is given, but no port is open (listen in [cluster])\n"
		 "F:4: warning: health is for nodes that join, but no port is open (listen in [cluster])\n"
		 "F:3: warning: munge is for other machines, but no port is open (listen in [cluster])\n"
		 "F: 3 options, which the server takes\n"},
		{"[cluster]\naddress = a.b\nmunge = yes\nhealth = /bin/true\n", true, 0, "F: 3 options, all right\n"},
		{"[page]\nlisten = 443\n", false, 0,
		 "F:2: warning: the page is shown over TLS: listen in [page] needs certificate and key\n"
		 "F: 1 option, which the server takes\n"},
		{"[page]\nlisten = 443\ncertificate = /c\n", false, 0,
		 "F:2: warning: the page is shown over TLS: listen in [page] needs certificate and key\n"
		 "F: 2 options, which the server takes\n"},
		{"[page]\nlisten = 443\ncertificate = /c\nkey = /k\n", false, 0, "F: 3 options, all right\n"},
		{"[page]\nkey = /k\n", false, 0,
		 "F:2: warning: certificate and key in [page] mean nothing without listen\n"
		 "F: 1 option, which the server takes\n"},
		{"[page]\nkey = /k\ncertificate = /c\n", false, 0,
		 "F:3: warning: certificate and key in [page] mean nothing without listen\n"
		 "F: 2 options, which the server takes\n"},
		{"[cluster]\nhealth = /bin/true\nhealth_every = 60\nhealth_timeout = 61\n", true, 0,
		 "F:4: warning: health_timeout (61 s) is longer than health_every (60 s)\n"
		 "F: 3 options, which the server takes\n"},
		{"[cluster]\nhealth = /bin/true\nhealth_every = 60\nhealth_timeout = 60\n", true, 0,
		 "F: 3 options, all right\n"},
		{"[cluster]\nhealth_timeout = 50\nhealth_every = 60\n", true, 0,
		 "F:3: warning: health_every and health_timeout mean nothing without health\n"
		 "F: 2 options, which the server takes\n"},
		{"[cluster]\nhealth_timeout = 3\n", true, 0,
		 "F:2: warning: health_every and health_timeout mean nothing without health\n"
		 "F: 1 option, which the server takes\n"},
		{"[api]\nconnections = 5\nconnections_per_user = 6\n", false, 0,
		 "F:3: warning: connections_per_user is more than connections\nF: 2 options, which the server takes\n"},
		{"[api]\nconnections = 5\nconnections_per_user = 5\n", false, 0, "F: 2 options, all right\n"},
		{"nodes = 1x1\n[run]\nbind = yes\n", false, 0,
		 "F:3: warning: bind = yes needs nodes = auto: virtual nodes have no CPUs of their own\n"
		 "F: 2 options, which the server takes\n"},
		{"nodes = auto\n[run]\nbind = yes\n", false, 0, "F: 2 options, all right\n"},
		{"[run]\nprologue = D/none\nepilogue = D/plain\n", false, 0,
		 "F:2: warning: prologue: D/none: No such file or directory\n"
		 "F:3: warning: epilogue: D/plain is not executable (chmod +x)\n"
		 "F: 2 options, which the server takes\n"},
		{"[cluster]\nlisten = 7722\nhealth = D/none\n", false, 0,
		 "F:3: warning: health: D/none: No such file or directory (on this machine; each node needs its own)\n"
		 "F: 2 options, which the server takes\n"},
		{"[run]\nprologue = D/own\n", false, 0, "F: 1 option, all right\n"},
		{"[run]\nprologue = D\n", false, 0,
		 "F:2: warning: prologue: D is not executable (chmod +x)\nF: 1 option, which the server takes\n"},
		{"[run]\nprologue = D/any\nepilogue = D/open/own\n", false, 0,
		 "F:2: warning: prologue: others may write D/any or a directory of its path, and so run what they like as root\n"
		 "F:3: warning: epilogue: others may write D/open/own or a directory of its path, and so run what they like as root\n"
		 "F: 2 options, which the server takes\n"},
		{"[run]\nepilogue = D/sticky/own\n", false, 0, "F: 1 option, all right\n"},
		{"[cluster]\nlisten = 7722\ntopology = D/none\n", false, 1, NULL},
	};
	static const struct {
		const char *name;
		mode_t mode; /* with a script in it, if it is a directory */
	} files[] = {
		{"plain", 0644}, {"own", 0755}, {"any", 0757}, {"open", S_IFDIR | 0777}, {"sticky", S_IFDIR | 01777}};
	char dir[] = "/tmp/test_conf.XXXXXX", path[64], file[100];

	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		bool in = S_ISDIR(files[i].mode);
		snprintf(file, sizeof file, "%s/%s%s", dir, files[i].name, in ? "/own" : "");
		snprintf(path, sizeof path, "%s/%s", dir, files[i].name);
		if (in)
			assert_int_equal(mkdir(path, 0700), 0);
		close(open(file, O_WRONLY | O_CREAT, 0600));
		assert_int_equal(chmod(file, in ? 0755 : files[i].mode), 0);
		assert_int_equal(chmod(path, files[i].mode & 07777), 0);
	}
	snprintf(path, sizeof path, "%s/shunt.conf", dir);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct strbuf text = {0}, out = {0}, wanted = {0};
		struct err err = {.text = ""};
		names_put(rows[i].text, dir, path, &text);
		assert_int_equal(file_replace(path, 0600, strbuf_text(&text), text.n, 0), 0);
		assert_int_equal(conf_check(path, rows[i].system, &out, &err), rows[i].errors);
		if (rows[i].says) {
			names_put(rows[i].says, dir, path, &wanted);
			assert_string_equal(strbuf_text(&out), strbuf_text(&wanted));
		} else {
			snprintf(file, sizeof file, "%s:%d: ", path, rows[i].errors == 1 ? 3 : 2);
			assert_memory_equal(out.text, file, strlen(file));
			assert_null(strstr(out.text, "options,"));
		}
		strbuf_fini(&text);
		strbuf_fini(&out);
		strbuf_fini(&wanted);
	}
	/* the file itself */
	struct strbuf out = {0}, wanted = {0};
	struct err err = {.text = ""};
	assert_int_equal(file_replace(path, 0600, "name = x\n", 9, 0), 0);
	for (int mode = 0602; mode <= 0620; mode += 0620 - 0602) {
		assert_int_equal(chmod(path, (mode_t)mode), 0);
		strbuf_clear(&out);
		strbuf_clear(&wanted);
		assert_int_equal(conf_check(path, false, &out, &err), 0);
		names_put(
			"F: warning: others may write this file, and it names programs that root runs: chown root and chmod go-w it\n"
			"F: 1 option, which the server takes\n",
			dir, path, &wanted);
		assert_string_equal(strbuf_text(&out), strbuf_text(&wanted));
	}
	unlink(path);
	strbuf_clear(&out);
	assert_int_equal(conf_check(path, false, &out, &err), -ENOENT);
	assert_int_equal(out.n, 0);
	strbuf_fini(&out);
	strbuf_fini(&wanted);
	snprintf(file, sizeof file, "rm -r %s", dir);
	assert_int_equal(system(file), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_values),	      cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_cluster),	 cmocka_unit_test(test_all_mistakes), cmocka_unit_test(test_node_names),
		cmocka_unit_test(test_example),	 cmocka_unit_test(test_nodes),	      cmocka_unit_test(test_file),
		cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
