/*
 * test_printed.c - what the commands print for the small site (small.h) and which changes they
 * request, compared with what was recorded.
 *
 * A file is both the list of commands and the record:
 *	$ qstat 3	a command of the user of most jobs, whose standard input is a script
 *	$ sudo qmgr	a command of root
 *	$ qsub <<< ...	a command with this standard input
 *	$ shunt-top <<< ...	its keys (keys.c)
 *	$ A=b qstat	a command with a variable of its environment
 *	$ tty 80 qstat	a command on a terminal of that width, where \e is an escape
 *	@ /v1/site 200 ...	what it gets for that path: status, members or a text (door.h);
 *			200*2: the first two times; "@ again": what the last such line says
 *	& SOCKET CUE ...	what a daemon there answers to a line or frame CUE (actor.h)
 *	% FILE ...	a file with this text, where \n is a newline; in bin/ a program
 *	? FILE		shows a file
 *	~		the home "off" is that of a server that was killed now
 *	| ...		its standard output
 *	! ...		its standard error
 *	> ...		its requests that change something, with their bodies; what it told daemons
 *	= 1		its exit status, if that is not 0
 *	+ 60		that many seconds pass
 *	# ...		a remark
 * $ROOT is the source tree, $HERE the directory of the site, in which they run.
 * After a change of it, or if a change of what is printed is intended, run
 *	SHUNT_GOLDEN=write meson test -C build-test printed
 * and look at the difference.
 */
#include <ctype.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wordexp.h>

#include <cmocka.h>

#include "base/fdio.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/unixsock.h"
#include "base/vec.h"
#include "client/tray.h"
#include "golden/recorded.h"
#include "golden/small.h"
#include "server/offline/view.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/realm.h"
#include "support/door.h"

#define FOLDER SHUNT_ROOT "/tests/golden/"
#define SCRIPT "#!/bin/sh\n#PBS -l walltime=90\necho hello\n"

static char *program, *top; /* shunt and shunt-top, whose clocks stand still (still.c) */
static struct strbuf printed;

#define DIGITS "0123456789"

/* Returns true if a line is but a number in a list of JSON. */
static bool is_item(const char *line, size_t n)
{
	size_t indent = strspn(line, " "), sign = line[indent] == '-';

	return indent > 1 && isdigit((unsigned char)line[indent + sign]) &&
	       indent + sign + strspn(line + indent + sign, DIGITS ".,") == n;
}

#define TOUR "shunt-tutorial-" /* directory of the tour, followed by six letters */
#define NONCE "\"nonce\":\""   /* before 32 digits */
#define SIZE "\"size\":"       /* before a number that depends on the directory */

/* Appends a line with escapes to be seen, without the seconds that a task of a bag took, and with
 * the digits that all machines agree on: the last ones of a quotient differ. */
static void line_put(struct strbuf *out, const char *line, size_t n)
{
	bool task = memmem(line, n, "local-", 6), sized = memmem(line, n, "workdir", 7);

	for (size_t i = 0, m; i < n; i += m) {
		if (n - i >= strlen(NONCE) + 32 && strncmp(line + i, NONCE, strlen(NONCE)) == 0) {
			strbuf_puts(out, NONCE "...");
			m = strlen(NONCE) + strspn(line + i + strlen(NONCE), "0123456789abcdef");
			continue;
		}
		if (sized && n - i > strlen(SIZE) && strncmp(line + i, SIZE, strlen(SIZE)) == 0) {
			strbuf_puts(out, SIZE "...");
			m = strlen(SIZE) + strspn(line + i + strlen(SIZE), DIGITS);
			continue;
		}
		if (n - i >= strlen(TOUR) + 6 && strncmp(line + i, TOUR, strlen(TOUR)) == 0) {
			strbuf_puts(out, TOUR "...");
			m = strlen(TOUR) + 6;
			continue;
		}
		m = strspn(line + i, DIGITS);
		size_t more = m && line[i + m] == '.' ? 1 + strspn(line + i + m + 1, DIGITS) : 0;
		m += m ? more : 1;
		if (task && more)
			strbuf_puts(out, "SECONDS");
		else if (more > 9)
			strbuf_printf(out, "%.9g", strtod(line + i, NULL));
		else if (line[i] == '\033')
			strbuf_puts(out, "\\e");
		else
			strbuf_add(out, line + i, m);
	}
}

/* Appends each line of a text after a mark; the numbers of a list are one line. */
static void put(const struct site *site, const char *mark, const char *text)
{
	struct strbuf line = {0};

	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		size_t n = strcspn(at, "\n"), indent = strspn(at, " ");
		strbuf_clear(&line);
		if (at > text && is_item(at, n))
			printed.text[--printed.n] = '\0';
		else
			strbuf_puts(&line, mark), indent = 0;
		strbuf_puts(&line, n ? " " : "");
		line_put(&line, at + indent, n - indent);
		strbuf_puts(&line, "\n");
		recorded_put(&printed, site, line.text);
	}
	strbuf_fini(&line);
}

/* Appends a text, in which \n stands for a newline. */
static void escaped_put(struct strbuf *out, const char *at)
{
	for (; *at; at++) {
		bool escape = strncmp(at, "\\n", 2) == 0;
		strbuf_add(out, escape ? "\n" : at, 1);
		at += escape;
	}
	strbuf_puts(out, "\n");
}

/* Cuts the command's standard input from a line, and returns it; without one, the script. */
static void input_take(char *line, struct strbuf *ret)
{
	char *at = strstr(line, " <<< ");

	if (!at) {
		strbuf_puts(ret, SCRIPT);
		return;
	}
	*at = '\0';
	escaped_put(ret, at + 5);
}

/* Returns true if the variable is one of those. */
static bool is_given(char *const *env, size_t n, const char *variable)
{
	for (size_t i = 0; i < n && variable; i++)
		if (strncmp(env[i], variable, strcspn(variable, "=") + 1) == 0)
			return true;
	return false;
}

/* Runs a command as the user of most jobs; after "sudo" as root, after "A=b" with that in its
 * environment, after "tty 80" on a terminal. */
static void command_run(struct door *d, const struct site *site, char *line)
{
	char still[64], home[96];
	bool root = strncmp(line, "sudo ", 5) == 0;
	VEC(char *) env = {0};
	struct strbuf input = {0};
	struct visit v;
	wordexp_t words;

	input_take(line, &input);
	if (wordexp(line + 5 * root, &words, WRDE_NOCMD) != 0)
		fail_msg("%s: not a command", line);
	snprintf(still, sizeof still, "SHUNT_STILL=%lld", (long long)site->now);
	snprintf(home, sizeof home, "SHUNT_HOME=%s", site->dir);
	char *const usual[] =
		{still,	   home, "PATH=/usr/bin:/bin", "HOME=/home/ann", "LOGNAME=ann", "SHELL=/bin/sh", "LANG=C.UTF-8",
		 "TZ=UTC", NULL},
		    **argv = words.we_wordv;
	for (; *argv && strchr(*argv, '='); argv++)
		vec_push(&env, *argv);
	for (size_t i = 0, given = env.n; i < sizeof usual / sizeof *usual; i++)
		if (!is_given(env.v, given, usual[i]))
			vec_push(&env, usual[i]);
	if (strcmp(*argv, "tty") == 0) {
		door_terminal(d, atoi(argv[1]));
		argv += 2;
	}
	door_run(d, root ? 0 : SMALL_DAEMON, strcmp(*argv, "shunt-top") == 0 ? top : program, argv, env.v, input.text,
		 &v);
	if (strstr(strbuf_text(&v.err), "Sanitizer") || strstr(strbuf_text(&v.err), "runtime error:"))
		fail_msg("%s: %s", line, strbuf_text(&v.err));
	put(site, "|", strbuf_text(&v.out));
	put(site, "!", strbuf_text(&v.err));
	put(site, ">", strbuf_text(&v.changes));
	if (v.status)
		strbuf_printf(&printed, "= %d\n", v.status);
	visit_fini(&v);
	strbuf_fini(&input);
	vec_free(&env);
	wordfree(&words);
}

/* Changes an answer for the next command: "@ PATH STATUS[*TIMES] MEMBERS"; "@ again" as the last
 * one did. */
static void answer_change(struct door *d, const char *line)
{
	static struct strbuf last;

	if (strcmp(line, "again") != 0) {
		strbuf_clear(&last);
		strbuf_puts(&last, line);
	}
	char *copy = mem_strdup(strbuf_text(&last)), *rest = copy;
	const char *path = strsep(&rest, " "), *status = rest ? strsep(&rest, " ") : NULL,
		   *times = status ? strchr(status, '*') : NULL;
	if (!rest || !door_alter(d, path, atoi(status), times ? atoi(times + 1) : -1, rest))
		fail_msg("%s: not a change of an answer", path);
	free(copy);
}

/* Splits off the first word of a line, and returns it with the directory before it. */
static char *path_take(const struct site *site, char **line)
{
	static char path[512];

	snprintf(path, sizeof path, "%s/%s", site->dir, strsep(line, " "));
	for (char *p = path + strlen(site->dir) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			fail_msg("%s: %s", path, strerror(errno));
	}
	return path;
}

/* Writes a file: "% FILE TEXT". */
static void file_make(const struct site *site, char *line)
{
	struct strbuf text = {0};
	const char *path = path_take(site, &line);

	escaped_put(&text, line ? line : "");
	assert_int_equal(file_replace(path, strstr(path, "/bin/") ? 0755 : 0600, text.text, text.n, 0), 0);
	strbuf_fini(&text);
}

/* Shows a file that commands have written: "? FILE". */
static void file_show(const struct site *site, char *line)
{
	struct strbuf text = {0};
	const char *path = path_take(site, &line);
	int rc = file_read(path, 0, 1 << 20, &text);

	put(site, "|", rc < 0 ? strerror(-rc) : strbuf_text(&text));
	strbuf_fini(&text);
}

/* Makes another home, "off", of a server that was killed now: a socket where nobody listens, its
 * last view of the queue, and a tray for changes. */
static void absent_make(const struct site *site)
{
	struct offer l = {.next = 100, .server = "bare"};
	char path[256];
	struct err err;

	snprintf(path, sizeof path, "%s/off", site->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/off/run", site->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/off/state", site->dir);
	assert_int_equal(symlink(site->dir, path), 0);
	snprintf(path, sizeof path, "%s/off/run/shuntd.sock", site->dir);
	close(unix_listen(path, 0600, &err));
	snprintf(path, sizeof path, "%s/offline", site->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	view_begin(site->s);
	view_end(site->s);
	snprintf(l.tray, sizeof l.tray, "g1");
	assert_int_equal(offer_write(path, &l, &err), 0);
	snprintf(path, sizeof path, "%s/offline/g1", site->dir);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* Lets a daemon answer: "& SOCKET CUE ANSWER". */
static void daemon_cue(struct door *d, const struct site *site, char *line)
{
	const char *path = path_take(site, &line), *cue = strsep(&line, " ");

	if (!line)
		fail_msg("%s: not an answer of a daemon", path);
	door_cue(d, path, cue, line);
}

/* Does what a line of the file asks for; other lines are the record. */
static void line_run(struct door *d, struct site *site, char *line)
{
	if (*line && strchr("#+$@&%?~", *line))
		strbuf_printf(&printed, "%s%s\n", printed.n ? "\n" : "", line);
	if (*line == '+')
		small_pass(site, atoll(line + 1));
	else if (*line == '$')
		command_run(d, site, line + 2);
	else if (*line == '@')
		answer_change(d, line + 2);
	else if (*line == '&')
		daemon_cue(d, site, line + 2);
	else if (*line == '~')
		absent_make(site);
	else if (*line == '%')
		file_make(site, line + 2);
	else if (*line == '?')
		file_show(site, line + 2);
}

/* Job 1 has left output, the others have not. */
static int output_open(const char *path, int flags, int mode)
{
	static const char text[] = "one\ntwo\nthree\nfour";
	int fd = strstr(path, "ends.o1") ? memfd_create("output", MFD_CLOEXEC) : -1;

	if (fd < 0)
		errno = ENOENT;
	else if (fd_write(fd, text, sizeof text - 1) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		abort();
	return fd;
}

/* Gives the server an address for other machines, and a token of each kind. */
static void realm_open(struct site *site)
{
	static const char *const tokens[] = {"{\"kind\":\"join\",\"uses\":3,\"name\":\"n7\"}",
					     "{\"kind\":\"login\",\"label\":\"laptop\"}",
					     "{\"kind\":\"site\",\"name\":\"east\"}"};
	struct err err;

	assert_int_equal(conf_set(site->s->conf, "cluster.listen", "7722", &err), 0);
	assert_int_equal(conf_set(site->s->conf, "cluster.address", "head.example.org:7722", &err), 0);
	assert_int_equal(realm_begin(site->s, &err), 0);
	realm_locate(site->s);
	for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
		assert_int_equal(site_ask(site, i == 1 ? SMALL_DAEMON : 0, "POST", "/v1/tokens", tokens[i]), 201);
}

static void test_printed(void **state)
{
	struct strbuf recorded = {0};
	const char *path = *state;
	char *rest, *line;

	small_open(state);
	small_live(*state);
	realm_open(*state);
	strbuf_clear(&printed);
	umask(022);
	setenv("ROOT", SHUNT_ROOT, 1);
	bare_opens = output_open;
	struct door *d = door_open(*state);
	assert_int_equal(chdir(((struct site *)*state)->dir), 0);
	setenv("HERE", ((struct site *)*state)->dir, 1);
	assert_int_equal(file_read(path, 0, 4 << 20, &recorded), 0);
	for (rest = recorded.text; (line = strsep(&rest, "\n"));)
		line_run(d, *state, line);
	strbuf_fini(&recorded);
	door_close(d);
	assert_int_equal(chdir("/"), 0);
	site_teardown(state);
	recorded_compare(path, "$ ", &printed);
	strbuf_fini(&printed);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		{"show", test_printed, NULL, NULL, FOLDER "commands_show.txt"},
		{"submit", test_printed, NULL, NULL, FOLDER "commands_submit.txt"},
		{"change", test_printed, NULL, NULL, FOLDER "commands_change.txt"},
		{"alone", test_printed, NULL, NULL, FOLDER "commands_alone.txt"},
		{"doctor", test_printed, NULL, NULL, FOLDER "commands_doctor.txt"},
		{"pbs", test_printed, NULL, NULL, FOLDER "commands_pbs.txt"},
		{"rare", test_printed, NULL, NULL, FOLDER "commands_rare.txt"},
		{"daemons", test_printed, NULL, NULL, FOLDER "commands_daemons.txt"},
		{"waits", test_printed, NULL, NULL, FOLDER "commands_waits.txt"},
		{"lists", test_printed, NULL, NULL, FOLDER "commands_lists.txt"},
		{"jobs", test_printed, NULL, NULL, FOLDER "commands_jobs.txt"},
		{"far", test_printed, NULL, NULL, FOLDER "commands_far.txt"},
		{"models", test_printed, NULL, NULL, FOLDER "commands_models.txt"},
		{"bags", test_printed, NULL, NULL, FOLDER "commands_bags.txt"},
		{"absent", test_printed, NULL, NULL, FOLDER "commands_absent.txt"},
		{"top", test_printed, NULL, NULL, FOLDER "commands_top.txt"},
		{"tables", test_printed, NULL, NULL, FOLDER "commands_tables.txt"},
		{"past", test_printed, NULL, NULL, FOLDER "commands_past.txt"},
	};

	program = argc >= 3 ? realpath(argv[1], NULL) : NULL;
	top = argc >= 3 ? realpath(argv[2], NULL) : NULL;
	if (!program || !top) {
		fprintf(stderr, "usage: test_printed SHUNT SHUNT-TOP [LIST]\n");
		return 2;
	}
	if (argc == 4)
		cmocka_set_test_filter(argv[3]);
	int failed = cmocka_run_group_tests_name("printed", tests, NULL, NULL);
	free(program);
	free(top);
	return failed;
}
