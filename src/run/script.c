/*
 * script.c - finds the program that runs a script.
 *
 * The "#!" line is read here rather than by the kernel: so a script can run from a file system
 * mounted noexec and without the execute bit, and errors can be explained.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/hostlist.h"
#include "base/map.h"
#include "base/sha256.h"
#include "base/vec.h"
#include "run/launch.h"
#include "run/rights.h"
#include "run/script.h"

/* ---- checking the text ---- */

void script_print_make(struct script_print *ret, const void *text, size_t n)
{
	unsigned char digest[SHA256_SIZE];
	struct sha256 sum;

	sha256_init(&sum);
	sha256_add(&sum, text, n);
	sha256_finish(&sum, digest);
	hex_encode(digest, sizeof digest, ret->sha256);
	/* fits the range of an order's numbers */
	ret->hash = (int64_t)(hash_bytes(text, n) >> 3 | 1);
}

void order_print_set(struct order *o, const struct script_print *p, struct arena *a)
{
	o->print = (struct order_print){.script_sha256 = arena_printf(a, "%s", p->sha256), .script_hash = p->hash};
}

bool order_print_matches(const struct order *o, const void *text, size_t n)
{
	struct script_print p;

	script_print_make(&p, text, n);
	if (o->print.script_sha256)
		return !strcmp(o->print.script_sha256, p.sha256);
	return !o->print.script_hash || o->print.script_hash == p.hash;
}

#define SCRIPT_MAX (INT64_C(1) << 30)

static void head_set(struct script_head *ret, const char *text, size_t n)
{
	ret->n = n < sizeof ret->text ? n : sizeof ret->text - 1;
	memcpy(ret->text, text, ret->n);
	ret->text[ret->n] = '\0';
	ret->known = true;
}

static bool file_matches(const struct order *o, int fd, struct script_head *ret)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > SCRIPT_MAX)
		return false;
	size_t size = (size_t)st.st_size, n = 0;
	char *text = mem_alloc(size + 1);
	for (ssize_t got = 1; n < size && got > 0; n += got > 0 ? (size_t)got : 0)
		got = read(fd, text + n, size - n);
	bool same = n == size && order_print_matches(o, text, n);
	head_set(ret, text, n);
	free(text);
	return same;
}

/* Gives the script to the user. If it can't be read, the job itself will fail on it. */
static void script_give(const struct order *o, const struct identity *who)
{
	int fd = rights_open(who->server, o->script, O_RDONLY | O_NOFOLLOW, 0);

	if (fd < 0)
		return;
	rights_give(who, fd, 0400);
	close(fd);
}

static int script_open(const struct order *o, const struct identity *who)
{
	int fd = rights_open(who, o->script, O_RDONLY | O_NOFOLLOW, 0);

	if (fd != -EACCES || !who->change)
		return fd;
	script_give(o, who); /* the first element of an array does it for all */
	return rights_open(who, o->script, O_RDONLY | O_NOFOLLOW, 0);
}

int script_check(const struct order *o, const struct identity *who, struct script_head *ret, struct err *err)
{
	bool printed = o->print.script_sha256 || o->print.script_hash;

	ret->known = false;
	if (!o->script || (!printed && !who->change))
		return 0;
	int fd = script_open(o, who);
	if (!printed) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	if (fd < 0)
		return err_set(err, fd, "its script's file %s can't be read: %s", o->script, strerror(-fd));
	bool same = file_matches(o, fd, ret);
	close(fd);
	if (same)
		return 0;
	return err_set(err, -ESTALE,
		       "its script's file %s was changed on disk: it does not have the text that was submitted",
		       o->script);
}

/* ---- running it ---- */

/* Reads the beginning of a job's script, with its #! line. Returns 0, or the exit code. */
static int head_read(const char *path, struct script_head *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		int why = errno;
		job_say("the script %.500s can't be read: %s", path, strerror(why));
		return why == ENOENT ? 127 : 126;
	}
	char text[SCRIPT_HEAD];
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	head_set(ret, text, n > 0 ? (size_t)n : 0);
	return 0;
}

/* Splits "#! /bin/sh -e " into "/bin/sh" and "-e": one argument, like the kernel. */
static void line_split(char *text, char **ret_interpreter, char **ret_argument)
{
	char *line = text + 2, *end = line + strcspn(line, "\n");

	*end = '\0';
	if (end > line && end[-1] == '\r') {
		job_say("the script has line ends of Windows (CR LF); if it fails, convert it with dos2unix");
		*--end = '\0';
	}
	while (end > line && strchr(" \t", end[-1]))
		*--end = '\0';
	line += strspn(line, " \t");
	*ret_interpreter = *line ? line : NULL;
	line += strcspn(line, " \t");
	if (*line) {
		*line++ = '\0';
		*ret_argument = line + strspn(line, " \t");
	}
}

/* Returns argv[0]: a '-' before the name makes a shell a login shell. */
static char *argv0(const char *program, bool login)
{
	const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;
	static char text[SCRIPT_HEAD];

	if (!login)
		return (char *)program;
	snprintf(text, sizeof text, "-%s", name);
	return text;
}

static bool is_shell(const char *program)
{
	static const char *const shells[] = {"sh", "bash", "dash", "ksh", "zsh", "csh", "tcsh", "fish"};
	const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;

	for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
		if (!strcmp(name, shells[i]))
			return true;
	return false;
}

/* Adds the words before a script that runs on every CPU of the job: its text is sent to all hosts,
 * and the signals of its checkpoints reach each rank. */
static void launcher_add(const struct order *o, char **before, name_list *argv)
{
	for (; before && *before; before++)
		vec_push(argv, *before);
	if (!o->launcher || !o->script)
		return;

	static char pass[64];
	const struct order_checkpoint *c = &o->checkpoint;
	int signal[] = {c->periodic_signal, c->preempt_signal};

	pass[0] = '\0';
	for (size_t i = 0; i < 2 && c->method == CHECKPOINT_SIGNAL; i++)
		if (signal[i] > 0)
			snprintf(pass + strlen(pass), 32, "%s%d", *pass ? "," : "", signal[i]);
	vec_push(argv, (char *)o->launcher);
	vec_push(argv, "launch");
	vec_push(argv, "--send");
	vec_push(argv, (char *)o->script);
	if (*pass) {
		vec_push(argv, "--pass");
		vec_push(argv, pass);
	}
	vec_push(argv, "--");
}

static int program_exec(const struct order *o, char **before, const char *program, char *argument, char **env)
{
	name_list argv = {0};

	bool launched = before || (o->script && o->launcher);
	if (launched)
		launcher_add(o, before, &argv);
	vec_push(&argv, argv0(program, o->manner.login && is_shell(program) && !launched));
	if (argument)
		vec_push(&argv, argument);
	if (o->script)
		vec_push(&argv, (char *)o->script);
	for (char **a = o->argv; o->script && a && *a; a++)
		vec_push(&argv, *a);
	vec_push(&argv, NULL);
	if (launched)
		program = argv.v[0];
	execve(program, argv.v, env);

	int why = errno;
	job_say("%s %.500s can't be run: %s", launched ? "the launcher" : "the interpreter", program, strerror(why));
	vec_free(&argv);
	return why == ENOENT || why == ENOTDIR ? 127 : 126;
}

/* Runs a program that was given instead of a script. */
static int binary_exec(const struct order *o, char **before, char **env)
{
	name_list argv = {0};

	launcher_add(o, before, &argv);
	vec_push(&argv, (char *)o->script);
	for (char **a = o->argv; a && *a; a++)
		vec_push(&argv, *a);
	vec_push(&argv, NULL);
	execve(argv.v[0], argv.v, env);
	job_say("%.500s can't be run: %s", argv.v[0], strerror(errno));
	vec_free(&argv);
	return 126;
}

int script_exec(const struct order *o, const struct script_head *head, char **before, char **env)
{
	char *shell = o->shell && *o->shell ? (char *)o->shell : "/bin/sh", *interpreter = NULL, *argument = NULL;

	if (!o->script)
		return program_exec(o, before, shell, NULL, env);
	struct script_head h = *head; /* the shepherd's may be shared, and is split here */
	int code = h.known ? 0 : head_read(o->script, &h);
	if (code)
		return code;
	if (h.n >= 4 && !memcmp(h.text, "\177ELF", 4) && !o->manner.shell_given)
		return binary_exec(o, before, env);
	size_t line = strcspn(h.text, "\n");
	if (line < h.n && !h.text[line]) { /* the text stops at a NUL before a newline */
		job_say("the script is a binary file (its first line holds a NUL byte), not a text that %s could run",
			shell);
		return 126;
	}
	if (!h.n)
		job_say("the script is empty: there is nothing to do");
	if (!strncmp(h.text, "#!", 2) && !o->manner.shell_given)
		line_split(h.text, &interpreter, &argument);
	return program_exec(o, before, interpreter ? interpreter : shell, argument, env);
}
