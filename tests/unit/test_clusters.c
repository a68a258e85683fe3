/*
 * test_clusters.c - commands on other clusters: the files of logins, which server is asked, and
 * asking it over TLS through the real shunt-connect, with servers that are dead, wait, lead, break
 * off, or are somebody else's.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "client/client.h"
#include "client/clusters.h"
#include "support/serve.h"
#include "support/skip.h"
#include "support/tlsserve.h"

static struct authority home_ca, other_ca;
static struct identity head_id, node_id;
static struct tlsserve one, two;
static char home[64], token[TOKEN_SIZE];

/* ---- the stage ---- */

static int setup_all(void **state)
{
	struct token t = {.id = "u7", .secret = "SECRET"};

	signal(SIGPIPE, SIG_IGN);
	authority_make("home", &home_ca);
	authority_make("home", &other_ca);
	identity_make(&home_ca, CERT_SERVER, "head", 0, 86400, &head_id);
	identity_make(&home_ca, CERT_NODE, "n1", 1, 86400, &node_id);
	strcpy(t.fingerprint, home_ca.fingerprint);
	token_write(&t, token);
	return 0;
}

static int teardown_all(void **state)
{
	authority_fini(&home_ca);
	authority_fini(&other_ca);
	identity_fini(&head_id);
	identity_fini(&node_id);
	return 0;
}

/* A home of its own, and nothing in the environment. */
static int setup(void **state)
{
	const char *names[] = {"SHUNT_CLUSTER",	 "SHUNT_HOME",	    "SHUNT_TOKEN",    "SHUNT_SERVERS",
			       "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		unsetenv(names[i]);
	strcpy(home, "/tmp/shunt-clusters-XXXXXX");
	assert_non_null(mkdtemp(home));
	setenv("HOME", home, 1);
	tlsserve_start(&home_ca, &head_id, &one);
	tlsserve_start(&home_ca, &head_id, &two);
	return 0;
}

static int teardown(void **state)
{
	const char *left[] = {"/.config/shunt/clusters",
			      "/.config/shunt",
			      "/.config",
			      "/.local/state/shunt/run/shuntd.sock",
			      "/.local/state/shunt/run",
			      "/.local/state/shunt",
			      "/.local/state",
			      "/.local",
			      "/run/shuntd.sock",
			      "/run",
			      ""};
	struct login_names all;
	char path[256];

	tlsserve_stop(&one);
	tlsserve_stop(&two);
	setenv("HOME", home, 1);
	unsetenv("XDG_CONFIG_HOME");
	if (login_list(&all, NULL) == 0)
		for (size_t i = 0; i < all.list.n; i++)
			login_remove(all.list.v[i], NULL);
	login_names_fini(&all);
	for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
		snprintf(path, sizeof path, "%s%s", home, left[i]);
		if (rmdir(path) < 0)
			unlink(path);
	}
	/* Nothing is left behind: no file, and no process. */
	return access(home, F_OK) == 0 || waitpid(-1, NULL, WNOHANG) != -1;
}

static void log_in(const char *name, const char *servers)
{
	struct login l = {(char *)name, (char *)servers, home_ca.cert.text, token};
	struct err err;

	if (login_write(&l, &err) < 0)
		fail_msg("%s", err.text);
}

static void file_path(const char *name, char ret[256])
{
	snprintf(ret, 256, "%s/.config/shunt/clusters/%s", home, name);
}

static void says(const struct err *err, const char *words)
{
	if (!strstr(err->text, words))
		fail_msg("\"%s\" does not say \"%s\"", err->text, words);
}

/* The server that answers has this token. */
static void asks_with(struct client *c, const char *method, const char *proof)
{
	char wanted[TOKEN_SIZE + 16];
	struct reply r;
	struct err err;

	if (client_ask(c, method, "/who", NULL, 0, &r, &err) < 0)
		fail_msg("%s", err.text);
	snprintf(wanted, sizeof wanted, "Bearer %s", proof);
	assert_string_equal(json_string_value(json_object_get(r.json, "authorization")), wanted);
	reply_fini(&r);
}

/* ---- files ---- */

static void files_are_kept(void **state)
{
	struct login l = {0};
	struct login_names all;
	struct stat s;
	struct err err;
	char path[256];

	assert_int_equal(login_list(&all, &err), 0);
	assert_int_equal(all.list.n, 0);
	log_in("pine", "pine:7722  oak:7722");
	log_in("birch-2.example_x", "b");
	log_in("pine", "pine:7722 oak:7723");
	file_path("pine", path);
	assert_int_equal(stat(path, &s), 0);
	assert_int_equal(s.st_mode & 07777, 0600);
	assert_int_equal(login_read("pine", &l, &err), 0);
	assert_string_equal(l.name, "pine");
	assert_string_equal(l.servers, "pine:7722 oak:7723");
	assert_string_equal(l.ca, home_ca.cert.text);
	assert_string_equal(l.token, token);
	login_fini(&l);
	assert_int_equal(login_list(&all, &err), 0);
	assert_int_equal(all.list.n, 2);
	assert_string_equal(all.list.v[0], "birch-2.example_x");
	assert_string_equal(all.list.v[1], "pine");
	login_names_fini(&all);

	assert_int_equal(login_remove("pine", &err), 0);
	assert_int_equal(login_remove("pine", &err), -ENOENT);
	assert_int_equal(login_read("pine", &l, &err), -ENOENT);
	says(&err, "known: birch-2.example_x");
	assert_int_equal(login_remove("birch-2.example_x", &err), 0);
	assert_int_equal(login_read("pine", &l, &err), -ENOENT);
	says(&err, "shunt login");
}

static void secrets_stay_secret(void **state)
{
	const mode_t modes[] = {0640, 0604, 0620, 0666};
	struct login l = {0};
	struct err err;
	char path[256];

	log_in("pine", one.where);
	file_path("pine", path);
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		struct client *c = NULL;
		chmod(path, modes[i]);
		assert_int_equal(login_read("pine", &l, &err), -EACCES);
		says(&err, "chmod 600 /tmp/");
		assert_int_equal(client_open(&c, &err), -EACCES); /* it is the only one */
		assert_null(c);
	}
	chmod(path, 0400);
	assert_int_equal(login_read("pine", &l, &err), 0);
	login_fini(&l);
}

static void names_and_files_that_are_wrong(void **state)
{
	const char *names[] = {"",
			       ".",
			       "..",
			       "../x",
			       "a/b",
			       ".hidden",
			       "-x",
			       "a b",
			       "a\n",
			       "\xc3\xa4",
			       "0123456789012345678901234567890123456789012345678901234567890123456789"};
	const char *texts[] = {"",
			       "{",
			       "[]",
			       "null",
			       "{}",
			       "{\"servers\":[\"a\"],\"ca\":\"x\"}",
			       "{\"servers\":[],\"ca\":\"x\",\"token\":\"y\"}",
			       "{\"servers\":[\"a b\"],\"ca\":\"x\",\"token\":\"y\"}",
			       "{\"servers\":\"a\",\"ca\":\"x\",\"token\":\"y\"}",
			       "{\"servers\":[\"a\"],\"ca\":\"x\",\"token\":\"y\\r\\nX: z\"}",
			       "{\"servers\":[7],\"ca\":7,\"token\":7}"};
	struct login l = {0};
	struct err err;
	char path[256];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct login bad = {(char *)names[i], "a", "b", "c"};
		assert_int_equal(login_read(names[i], &l, &err), -EINVAL);
		assert_int_equal(login_write(&bad, &err), -EINVAL);
		assert_int_equal(login_remove(names[i], &err), -EINVAL);
	}
	log_in("x", "a");
	file_path("x", path);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		FILE *f = fopen(path, "w");
		assert_non_null(f);
		fputs(texts[i], f);
		fclose(f);
		assert_int_equal(login_read("x", &l, &err), -EINVAL);
		says(&err, "shunt login");
	}
	assert_null(l.name);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(login_read("x", &l, &err), -EINVAL);
	rmdir(path);
	struct login broken = {"x", "a", "\xff", "c"};
	assert_int_equal(login_write(&broken, &err), -EINVAL);
}

static void one_is_chosen(void **state)
{
	struct login l = {0};
	struct err err;

	assert_int_equal(login_choose(&l, &err), -ENOENT);
	log_in("pine", "a");
	assert_int_equal(login_choose(&l, &err), 0);
	assert_string_equal(l.name, "pine");
	login_fini(&l);
	log_in("oak", "b");
	assert_int_equal(login_choose(&l, &err), -EINVAL);
	says(&err, "(oak, pine): choose with --cluster");
	log_in("default", "c");
	assert_int_equal(login_choose(&l, &err), 0);
	assert_string_equal(l.name, "default");
	login_fini(&l);

	char elsewhere[128];
	snprintf(elsewhere, sizeof elsewhere, "%s/nowhere", home);
	setenv("XDG_CONFIG_HOME", elsewhere, 1);
	assert_int_equal(login_choose(&l, &err), -ENOENT);
}

/* ---- asking ---- */

static void asks_over_tls(void **state)
{
	struct client *c;
	struct reply r;
	struct err err;
	size_t n = 5 << 20;
	char *body = mem_alloc(n);

	log_in("pine", one.where);
	assert_int_equal(client_open_cluster("pine", &c, &err), 0);
	for (int i = 0; i < 50; i++)
		asks_with(c, "GET", token);
	assert_int_equal(one.shared->connections, 1);
	/* Much, both ways. */
	memset(body, 'x', n);
	assert_int_equal(client_ask(c, "POST", "/who", body, n, &r, &err), 0);
	assert_int_equal(json_integer_value(json_object_get(r.json, "bytes")), n);
	reply_fini(&r);
	assert_int_equal(client_ask(c, "GET", "/big?9000000", NULL, 0, &r, &err), 0);
	assert_int_equal(r.body.n, 9000000);
	reply_fini(&r);
	/* The server closes: it is connected again. */
	assert_int_equal(client_ask(c, "GET", "/close", NULL, 0, NULL, &err), 0);
	asks_with(c, "PUT", token);
	assert_int_equal(one.shared->connections, 2);
	client_close(c);
	free(body);
	assert_int_equal(client_open_cluster("oak", &c, &err), -ENOENT);
}

/* A command that is killed leaves no shunt-connect: it ends by itself when nobody holds its
 * socket. */
static void connect_ends_with_its_client(void **state)
{
	struct client *c;
	struct err err;
	char byte;
	int alive[2];

	log_in("pine", one.where);
	assert_int_equal(pipe(alive), 0); /* inherited by both, closed when both have ended */
	pid_t pid = fork();
	if (pid == 0) {
		close(alive[0]);
		if (client_open_cluster("pine", &c, &err) < 0 ||
		    client_ask(c, "GET", "/hello", NULL, 0, NULL, &err) < 0)
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	close(alive[1]);
	assert_int_equal(read(alive[0], &byte, 1), 0);
	close(alive[0]);
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

static void dead_servers_are_passed_over(void **state)
{
	char dead[64], servers[200];
	struct client *c;
	struct err err;

	address_unused(dead);
	snprintf(servers, sizeof servers, "%s no.such.host.invalid:7722 %s", dead, two.where);
	log_in("pine", servers);
	assert_int_equal(client_open(&c, &err), 0);
	asks_with(c, "POST", token);
	client_close(c);
	log_in("pine", dead);
	assert_int_equal(client_open(&c, &err), 0);
	client_patience(c, 1);
	assert_int_equal(client_ask(c, "POST", "/who", NULL, 0, NULL, &err), -ECONNREFUSED);
	says(&err, "no server of the cluster pine can be used");
	says(&err, "Connection refused");
	assert_string_equal(client_code(c), "");
	client_close(c);
}

static void the_leader_is_followed(void **state)
{
	char servers[200], dead[64];
	struct client *c;
	struct reply r;
	struct err err;

	snprintf(servers, sizeof servers, "%s %s", one.where, two.where);
	log_in("pine", servers);
	one.shared->standby = 1;
	strcpy(one.shared->leader, two.where);
	assert_int_equal(client_open(&c, &err), 0);
	asks_with(c, "POST", token);
	asks_with(c, "GET", token);
	assert_int_equal(one.shared->requests, 1);
	assert_int_equal(two.shared->requests, 2);
	client_close(c);

	/* The leader is not among those we know. */
	log_in("pine", one.where);
	assert_int_equal(client_open(&c, &err), 0);
	assert_int_equal(client_ask(c, "POST", "/who", "{}", 2, &r, &err), 0);
	assert_int_equal(json_integer_value(json_object_get(r.json, "bytes")), 2);
	reply_fini(&r);

	/* Now the other way round. */
	one.shared->standby = 0;
	two.shared->standby = 1;
	strcpy(two.shared->leader, one.where);
	asks_with(c, "POST", token);
	client_close(c);

	/* The one that is named is dead; then the one that waited takes over. */
	address_unused(dead);
	one.shared->standby = 1;
	strcpy(one.shared->leader, dead);
	pid_t pid = fork();
	if (pid == 0) {
		while (one.shared->requests < 6)
			usleep(20000);
		one.shared->standby = 0;
		_exit(0);
	}
	log_in("pine", one.where);
	assert_int_equal(client_open(&c, &err), 0);
	one.shared->requests = 0;
	asks_with(c, "POST", token);
	client_close(c);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A change that was sent may have been made; a GET does no harm. */
static void what_was_lost_is_not_repeated(void **state)
{
	char servers[200];
	struct client *c;
	struct err err;

	snprintf(servers, sizeof servers, "%s %s", one.where, two.where);
	log_in("pine", servers);
	assert_int_equal(client_open(&c, &err), 0);
	assert_int_equal(client_ask(c, "POST", "/drop", "x", 1, NULL, &err), -ECONNRESET);
	says(&err, "the request may or may not have been carried out");
	assert_int_equal(one.shared->drops + two.shared->drops, 1);
	client_patience(c, 0);
	assert_int_equal(client_ask(c, "GET", "/drop", NULL, 0, NULL, &err), -ECONNRESET);
	assert_int_equal(one.shared->drops + two.shared->drops, 3);
	asks_with(c, "POST", token);
	client_close(c);
}

/* ---- whom to trust ---- */

static void strangers_get_no_token(void **state)
{
	struct tlsserve stranger, node;
	struct identity id;
	struct client *c;
	struct err err;

	identity_make(&other_ca, CERT_SERVER, "head", 0, 86400, &id);
	tlsserve_start(&other_ca, &id, &stranger);
	tlsserve_start(&home_ca, &node_id, &node);
	const struct tlsserve *bad[] = {&stranger, &node};
	const char *words[] = {"not signed by this cluster's authority", "is a node's, not the server's"};
	for (int i = 0; i < 2; i++) {
		log_in("pine", bad[i]->where);
		assert_int_equal(client_open(&c, &err), 0);
		assert_int_equal(client_ask(c, "GET", "/who", NULL, 0, NULL, &err), -EHOSTUNREACH);
		says(&err, words[i]);
		client_close(c);
		assert_int_equal(client_open_token(bad[i]->where, token, &c, &err), 0);
		assert_int_equal(client_ask(c, "GET", "/who", NULL, 0, NULL, &err), -EHOSTUNREACH);
		client_close(c);
		assert_int_equal(bad[i]->shared->connections, 2);
		assert_int_equal(bad[i]->shared->requests, 0);
	}
	tlsserve_stop(&stranger);
	tlsserve_stop(&node);
	identity_fini(&id);
}

static void by_token(void **state)
{
	struct client *c;
	struct err err;

	assert_int_equal(client_open_token(one.where, token, &c, &err), 0);
	asks_with(c, "GET", token);
	client_close(c);
	assert_int_equal(client_open_token(one.where, "u7.SECRET", &c, &err), -EINVAL);
	assert_int_equal(client_open_token(" ", token, &c, &err), -EINVAL);
	assert_int_equal(client_open_token("a\nb", token, &c, &err), -EINVAL);
}

/* ---- which server ---- */

/* A server at a socket under the test's home, of which /v1/cluster knows nothing. */
static pid_t local_server(const char *directory)
{
	char path[200] = "";

	strcat(path, home);
	for (const char *p = directory; *p;) {
		size_t n = strcspn(p + 1, "/") + 1;
		strncat(path, p, n);
		mkdir(path, 0700);
		p += n;
	}
	strcat(path, "/shuntd.sock");
	return serve_fork(path, &serve_limits);
}

static void which_server_is_asked(void **state)
{
	struct client *c;
	struct err err;

	if (access("/run/shunt/shuntd.sock", F_OK) == 0)
		skip_because("a system's server runs here, and would be found first");
	log_in("pine", one.where);
	log_in("oak", two.where);
	setenv("SHUNT_CLUSTER", "oak", 1);
	assert_int_equal(client_open(&c, &err), 0);
	asks_with(c, "GET", token);
	assert_int_equal(two.shared->requests, 1);
	client_close(c);
	setenv("SHUNT_CLUSTER", "elm", 1);
	assert_int_equal(client_open(&c, &err), -ENOENT);
	says(&err, "oak, pine");

	/* SHUNT_HOME comes before what is logged in to, also when nothing runs there. */
	setenv("SHUNT_CLUSTER", "", 1);
	assert_int_equal(client_open(&c, &err), -EINVAL);
	says(&err, "several clusters");
	setenv("SHUNT_HOME", home, 1);
	assert_int_equal(client_open(&c, &err), 0);
	assert_int_equal(client_ask(c, "GET", "/hello", NULL, 0, NULL, &err), -ENOENT);
	says(&err, "shunt up");
	client_close(c);

	/* So does the personal instance whose socket is there. */
	unsetenv("SHUNT_HOME");
	pid_t pid = local_server("/.local/state/shunt/run");
	assert_int_equal(client_open(&c, &err), 0);
	assert_int_equal(client_ask(c, "GET", "/stats", NULL, 0, NULL, &err), 0);
	client_close(c);
	assert_int_equal(serve_end(pid), 0);
}

static void inside_a_job(void **state)
{
	char servers[200], dead[64], job_token[TOKEN_SIZE];
	struct token t = {.id = "a12-3.1", .secret = "JOBS"};
	struct client *c;
	struct err err;

	address_unused(dead);
	snprintf(servers, sizeof servers, "%s %s", dead, one.where);
	strcpy(t.fingerprint, home_ca.fingerprint);
	token_write(&t, job_token);
	setenv("SHUNT_TOKEN", job_token, 1);
	setenv("SHUNT_SERVERS", servers, 1);
	assert_int_equal(client_open(&c, &err), 0);
	asks_with(c, "POST", job_token);
	client_close(c);

	/* SHUNT_CLUSTER came with the job from elsewhere; here nobody has logged in to it. Where
	 * somebody has, it counts. */
	setenv("SHUNT_CLUSTER", "pine", 1);
	assert_int_equal(client_open(&c, &err), 0);
	asks_with(c, "POST", job_token);
	client_close(c);
	log_in("pine", two.where);
	assert_int_equal(client_open(&c, &err), 0);
	asks_with(c, "POST", token);
	client_close(c);
	unsetenv("SHUNT_CLUSTER");

	/* A personal instance of the user's on this host is not the job's server ... */
	pid_t pid = local_server("/.local/state/shunt/run");
	assert_int_equal(client_open(&c, &err), 0);
	asks_with(c, "POST", job_token);
	client_close(c);
	assert_int_equal(serve_end(pid), 0);

	/* The one at SHUNT_HOME is, which the server has set, as long as it can be reached. */
	setenv("SHUNT_HOME", home, 1);
	pid = local_server("/run");
	assert_int_equal(client_open(&c, &err), 0);
	assert_int_equal(client_ask(c, "GET", "/stats", NULL, 0, NULL, &err), 0);
	client_close(c);
	assert_int_equal(serve_end(pid), 0);
	assert_int_equal(client_open(&c, &err), 0);
	asks_with(c, "POST", job_token);
	client_close(c);

	setenv("SHUNT_TOKEN", "nonsense", 1);
	assert_int_equal(client_open(&c, &err), -EINVAL);
	says(&err, "SHUNT_TOKEN");
	assert_null(strstr(err.text, "nonsense"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_are_kept),
		TEST(secrets_stay_secret),
		TEST(names_and_files_that_are_wrong),
		TEST(one_is_chosen),
		TEST(asks_over_tls),
		TEST(connect_ends_with_its_client),
		TEST(dead_servers_are_passed_over),
		TEST(the_leader_is_followed),
		TEST(what_was_lost_is_not_repeated),
		TEST(strangers_get_no_token),
		TEST(by_token),
		TEST(which_server_is_asked),
		TEST(inside_a_job),
	};

	setenv("ASAN_OPTIONS", "detect_leaks=0",
	       1); /* no leak check of shunt-connect, which takes seconds; this process is checked */
	return cmocka_run_group_tests(tests, setup_all, teardown_all);
}
