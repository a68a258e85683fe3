/*
 * test_launch.c - parallel programs before and around their run: who runs where, what is
 * sent to a host, what comes of what ranks write, frames in pieces.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/frame.h"
#include "cmd/launch/launch.h"
#include "pmix/cable.h"

static char dir[] = "/tmp/shunt-test-XXXXXX";

static struct jobhosts hosts_of(const char *names)
{
	struct jobhosts h = {.arena = arena_create()};

	for (const char *p = names; *p; p += strcspn(p, " "), p += strspn(p, " "))
		vec_push(&h.line, arena_strndup(h.arena, p, strcspn(p, " ")));
	return h;
}

static struct layout map(const char *names, int64_t ranks, int64_t per_node, const char *how)
{
	struct launch_arguments a = {.ranks = ranks, .per_node = per_node, .map = how};
	struct jobhosts h = hosts_of(names);
	struct layout l = {.arena = arena_create()};
	struct err err;

	assert_int_equal(launch_map(&h, &a, &l, &err), 0);
	jobhosts_fini(&h);
	return l;
}

/* "n1 n1 n2 / 2+1": the nodes of the ranks, and how many ranks each host has. */
static void assert_map(const char *names, int64_t ranks, int64_t per_node, const char *how, const char *expected)
{
	struct layout l = map(names, ranks, per_node, how);
	struct strbuf text = {0};

	for (uint32_t r = 0; r < l.size; r++)
		strbuf_printf(&text, "%s ", l.node.v[l.rank[r].node]);
	strbuf_puts(&text, "/ ");
	for (size_t i = 0; i < l.host.n; i++)
		strbuf_printf(&text, "%s%zu", i ? "+" : "", l.host.v[i].rank.n);
	assert_string_equal(text.text, expected);
	strbuf_fini(&text);
	layout_fini(&l);
}

static void test_places(void **state)
{
	unsetenv("SHUNT_HERE");
	assert_map("n1 n1 n2 n2", -1, -1, "block", "n1 n1 n2 n2 / 4");
	assert_map("n1 n1 n2 n2", 3, -1, "cyclic", "n1 n2 n1 / 3");
	assert_map("n1 n2 n1", -1, -1, "block", "n1 n1 n2 / 3");
	assert_map("n1 n1 n1 n2", -1, -1, "cyclic", "n1 n2 n1 n1 / 4");
	assert_map("n1 n1 n2", 5, -1, "block", "n1 n1 n2 n1 n1 / 5");
	assert_map("n1 n1 n2 n2", -1, 1, "block", "n1 n2 / 2");
	assert_map("n1 n2", 3, 2, "block", "n1 n1 n2 / 3");
}

static void test_hosts(void **state)
{
	setenv("SHUNT_HERE", "v1 v2", 1);
	assert_map("v1 v2 n3 n3", -1, -1, "block", "v1 v2 n3 n3 / 2+2");
	assert_map("n3 v1 n4 v2", -1, -1, "block", "n3 v1 n4 v2 / 1+2+1");
	assert_map("n3 v1", 1, -1, "block", "n3 / 1");
	struct layout l = map("v1 v1 v2 n3", 1, -1, "block");
	assert_int_equal(l.host.v[0].cpus, 3); /* the host's other node also has one */
	layout_fini(&l);
	unsetenv("SHUNT_HERE");
}

static void test_too_many(void **state)
{
	struct launch_arguments a = {.ranks = 5, .per_node = 2, .map = "block"};
	struct jobhosts h = hosts_of("n1 n2");
	struct layout l = {.arena = arena_create()};
	struct err err;

	assert_int_equal(launch_map(&h, &a, &l, &err), -EINVAL);
	assert_string_equal(err.text, "5 ranks are too many for 2 nodes with 2 each");
	layout_fini(&l);
	jobhosts_fini(&h);
}

/* ---- the setup of a host ---- */

static void test_setup_there_and_back(void **state)
{
	struct layout l = map("n1 n1 n2", -1, -1, "block"), r;
	char *argv[] = {"./solver", "a b", "\xff\xfe", NULL}, *env[] = {"X=\xff", "Y=", NULL};
	struct strbuf data = {0};
	struct err err;

	l.name = "run";
	l.workdir = "/tmp";
	l.argv = argv;
	l.env = env;
	l.bind = true;
	json_t *head = layout_head(&l);
	layout_data(&l, &data);
	assert_int_equal(layout_read(head, data.text, data.n, &r, &err), 0);
	assert_string_equal(r.name, "run");
	assert_string_equal(r.workdir, "/tmp");
	assert_string_equal(r.argv[2], "\xff\xfe");
	assert_null(r.argv[3]);
	assert_string_equal(r.env[0], "X=\xff");
	assert_null(r.env[2]);
	assert_int_equal(r.size, 3);
	assert_true(r.bind);
	assert_string_equal(r.node.v[r.rank[2].node], "n2");
	layout_fini(&r);
	/* Whatever is cut off, it is refused. */
	assert_int_equal(layout_read(head, data.text, data.n - 1, &r, &err), -EINVAL);
	assert_int_equal(layout_read(head, data.text, 0, &r, &err), -EINVAL);
	json_object_set_new(head, "here", json_integer(9));
	assert_int_equal(layout_read(head, data.text, data.n, &r, &err), -EINVAL);
	json_object_set_new(head, "here", json_integer(0));
	json_object_set_new(head, "ranks", json_pack("[[i,i]]", 0, 7));
	assert_int_equal(layout_read(head, data.text, data.n, &r, &err), -EINVAL);
	json_object_set_new(head, "ranks", json_array());
	assert_int_equal(layout_read(head, data.text, data.n, &r, &err), -EINVAL);
	json_decref(head);
	strbuf_fini(&data);
	layout_fini(&l);
}

/* A file that goes along, of any bytes. */
static void test_setup_with_a_file(void **state)
{
	struct layout l = map("n1 n2", -1, -1, "block"), r;
	char *argv[] = {"/bin/sh", "/s/1.SC", NULL}, *env[] = {"A=b", NULL};
	static const char text[] = "#!/bin/sh\n\0more";
	struct strbuf data = {0};
	struct err err;

	l.name = "run";
	l.workdir = "/tmp";
	l.argv = argv;
	l.env = env;
	l.file = "/s/1.SC";
	for (size_t n = 0; n <= sizeof text; n += sizeof text) { /* also an empty one */
		l.text = text;
		l.ntext = n;
		strbuf_clear(&data);
		json_t *head = layout_head(&l);
		layout_data(&l, &data);
		assert_int_equal(layout_read(head, data.text, data.n, &r, &err), 0);
		assert_string_equal(r.file, "/s/1.SC");
		assert_int_equal(r.ntext, n);
		assert_memory_equal(r.text, text, n);
		assert_string_equal(r.argv[1], "/s/1.SC");
		assert_string_equal(r.env[0], "A=b");
		assert_null(r.env[1]);
		layout_fini(&r);
		for (int64_t wrong = -1; wrong < (int64_t)data.n + 9;
		     wrong++) { /* whatever it says, nothing else is read */
			json_object_set_new(head, "file", json_integer(wrong));
			if (layout_read(head, data.text, data.n, &r, &err) == 0)
				layout_fini(&r);
		}
		json_decref(head);
	}
	strbuf_fini(&data);
	layout_fini(&l);
}

/* ---- what ranks write ---- */

static void file_is(const char *name, const char *expected)
{
	char path[128], text[512];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	text[fread(text, 1, sizeof text - 1, f)] = '\0';
	fclose(f);
	unlink(path);
	assert_string_equal(text, expected);
}

static void test_labels_and_files(void **state)
{
	struct layout l = map("n1 n2", -1, -1, "block");
	char pattern[128];
	struct launch_arguments a = {.label = true, .output = pattern};
	struct launch_output o;
	struct err err;

	snprintf(pattern, sizeof pattern, "%s/out-%%r-%%n-%%%%-%%x", dir);
	assert_int_equal(output_init(&o, &l, &a, &err), 0);
	output_write(&o, 0, OUTPUT_OUT, "one\ntw", 6);
	output_write(&o, 1, OUTPUT_OUT, "other\n", 6);
	output_write(&o, 0, OUTPUT_ERR, "error\n", 6);
	output_write(&o, 0, OUTPUT_OUT, "o\n\nrest", 7);
	output_fini(&o);
	file_is("out-0-n1-%-%x", "[0] one\n[0] error\n[0] two\n[0] \n[0] rest\n");
	file_is("out-1-n2-%-%x", "[1] other\n");
	snprintf(pattern, sizeof pattern, "%s/none/%%r", dir);
	assert_int_equal(output_init(&o, &l, &a, &err), -ENOENT);
	output_fini(&o);
	layout_fini(&l);
}

/* ---- frames ---- */

static void test_frames_in_pieces(void **state)
{
	struct strbuf bytes = {0};
	const char *data;
	struct cable w;
	json_t *head;
	size_t n;
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	cable_init(&w, fd[0], fd[0]);
	frame_put(&bytes, "{\"t\":\"out\"}", 11, "data", 4);
	for (size_t i = 0; i < bytes.n; i++) {
		assert_int_equal(cable_next(&w, &head, &data, &n), 0);
		assert_int_equal(write(fd[1], bytes.text + i, 1), 1);
		assert_int_equal(cable_fill(&w), 1);
	}
	assert_int_equal(cable_next(&w, &head, &data, &n), 1);
	assert_string_equal(json_string_value(json_object_get(head, "t")), "out");
	assert_int_equal(n, 4);
	assert_memory_equal(data, "data", 4);
	json_decref(head);
	assert_int_equal(cable_fill(&w), 0);
	assert_int_equal(write(fd[1], "\xff\xff\xff\xff....", 8), 8);
	assert_int_equal(cable_fill(&w), 8);
	assert_int_equal(cable_next(&w, &head, &data, &n), -EBADMSG);
	close(fd[1]);
	assert_int_equal(cable_fill(&w), -EPIPE);
	cable_fini(&w);
	strbuf_fini(&bytes);
}

static void test_environment_for_other_hosts(void **state)
{
	struct arena *a = arena_create();
	bool mine = false, tmp = false, ssh = false;
	size_t n;

	setenv("MINE", "1", 1);
	setenv("TMPDIR", "/x", 1);
	setenv("SSH_TTY", "/dev/x", 1);
	char **env = jobhosts_env(a, 1, &n);
	assert_null(env[n]);
	for (char **e = env; *e; e++) {
		mine |= strcmp(*e, "MINE=1") == 0;
		tmp |= strncmp(*e, "TMPDIR=", 7) == 0;
		ssh |= strncmp(*e, "SSH_", 4) == 0;
	}
	assert_true(mine && !tmp && !ssh);
	unsetenv("TMPDIR");
	arena_destroy(a);
}

static int setup(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_setup_there_and_back),
		cmocka_unit_test(test_setup_with_a_file),
		cmocka_unit_test(test_labels_and_files),
		cmocka_unit_test(test_frames_in_pieces),
		cmocka_unit_test(test_environment_for_other_hosts),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
