/*
 * test_parts.c - shunt-pmix (pmix/main.c), the part of a parallel program on one host, with the
 * launcher, the PMIx library, the ranks' programs and a clock that the test plays: every frame,
 * call of the library, line of a rank and end, compared with parts.txt (played.h).
 *
 * A rank is this program again: it does what comes line by line through a pipe of its number.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <pmix.h>
#include <pmix_server.h>

#include "base/frame.h"
#include "base/mem.h"
#include "golden/played.h"

#undef main
int pmix_main(void);

#define RECORDED SHUNT_ROOT "/tests/golden/parts.txt"
#define PATIENCE 20000 /* ms; what hangs fails */

enum { WORDS = 8, SYNC = 999, TEXT = 100000 };

static char dir[64];
static int voice = -1; /* where everything is printed */

/* ---- the library: its thread does what comes through a pipe ---- */

static struct {
	int orders[2], done[2];
	char fails[32]; /* the function that fails; "later": its answer says so */
	bool later;
	pmix_server_module_t module;
	pmix_dmodex_response_fn_t told;
	void *context;
} library = {.orders = {-1, -1}, .done = {-1, -1}};

static void heard(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void heard(const char *format, ...)
{
	char text[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	dprintf(voice, "%.2f library: %s\n", (double)played->now_us / 1e6, text);
}

static void answered(pmix_status_t status, const char *data, size_t n, void *context, pmix_release_cbfunc_t release,
		     void *release_context)
{
	heard("%s is answered: status %d, %zu bytes \"%.*s\"", (char *)context, status, n, (int)n, data);
	free(context);
	release(release_context == data ? release_context : NULL);
	heard("%s", release_context == data ? "it was its own" : "it was another's");
}

static int order_do(char *line)
{
	char *w[WORDS] = {0}, *end = line;
	pmix_server_module_t *m = &library.module;
	pmix_proc_t p[8] = {0};
	size_t n = 0;
	int rc = 0;

	for (int i = words_split(line, w, 4); i < WORDS; i++)
		w[i] = line + strlen(line);
	PMIX_LOAD_PROCID(&p[0], "run", (uint32_t)atoi(w[1]));
	if (strcmp(w[0], "connected") == 0) { /* RANK */
		rc = m->client_connected2(p, NULL, NULL, 0, NULL, NULL);
	} else if (strcmp(w[0], "finalized") == 0) { /* RANK */
		rc = m->client_finalized(p, NULL, NULL, NULL);
	} else if (strcmp(w[0], "abort") == 0) { /* RANK STATUS */
		rc = m->abort(p, NULL, atoi(w[2]), "bad", NULL, 0, NULL, NULL);
	} else if (strcmp(w[0], "spawn") == 0) { /* RANK */
		rc = m->spawn(p, NULL, 0, NULL, 0, NULL, NULL);
	} else if (strcmp(w[0], "fence") == 0) { /* RANK,...|*|- DATA */
		char *name = mem_strdup(w[1]), *data = *w[2] ? mem_strdup(w[2]) : NULL;
		for (end = strcmp(w[1], "-") == 0 ? NULL : w[1]; end; n++)
			PMIX_LOAD_PROCID(&p[n], "run",
					 *end == '*' ? (strsep(&end, ","), PMIX_RANK_WILDCARD)
						     : (uint32_t)atoi(strsep(&end, ",")));
		rc = m->fence_nb(p, n, NULL, 0, data, data ? strlen(data) : 0, answered, name);
	} else if (strcmp(w[0], "ask") == 0) { /* RANK */
		rc = m->direct_modex(p, NULL, 0, answered, mem_strdup(w[1]));
	} else if (strcmp(w[0], "tell") == 0) { /* STATUS DATA */
		library.told(atoi(w[1]), *w[2] ? w[2] : NULL, strlen(w[2]), library.context);
	} else if (strcmp(w[0], "noise") == 0) { /* what it prints where programs do */
		dprintf(STDOUT_FILENO, "noise on standard output\n");
		dprintf(STDERR_FILENO, "noise on standard error\n");
		rc = (int)read(STDIN_FILENO, w[1], 1);
	}
	return rc;
}

static void *orders_do(void *nothing)
{
	FILE *f = fdopen(library.orders[0], "r");
	char line[256];

	while (fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = '\0';
		int rc = order_do(line);
		if (write(library.done[1], &rc, sizeof rc) != sizeof rc)
			break;
	}
	return NULL;
}

static bool fails(const char *function)
{
	return strcmp(library.fails, function) == 0;
}

static void infos_show(const pmix_info_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		heard("  %s %s", v[i].key, v[i].value.data.string);
}

pmix_status_t PMIx_server_init(pmix_server_module_t *module, pmix_info_t info[], size_t n)
{
	pthread_t thread;

	heard("starts, gds %s", getenv("PMIX_MCA_gds"));
	infos_show(info, n);
	library.module = *module;
	pthread_create(&thread, NULL, orders_do, NULL);
	return fails("init") ? PMIX_ERR_INIT : PMIX_SUCCESS;
}

struct later {
	pmix_op_cbfunc_t done;
	void *context;
};

static void *later_answer(void *data)
{
	struct later *l = data;

	l->done(library.later ? PMIX_ERR_INIT : PMIX_SUCCESS, l->context);
	free(l);
	return NULL;
}

/* Answers a call at once, or on another thread. */
static pmix_status_t result_of(const char *function, pmix_op_cbfunc_t done, void *context)
{
	struct later *l;
	pthread_t thread;

	if (fails(function) && !library.later)
		return PMIX_ERR_NOT_SUPPORTED;
	if (fails("nothing"))
		return PMIX_OPERATION_SUCCEEDED;
	l = mem_alloc(sizeof *l);
	*l = (struct later){done, context};
	if (library.later && !fails(function))
		library.later = false;
	pthread_create(&thread, NULL, later_answer, l);
	pthread_detach(thread);
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_server_register_nspace(const pmix_nspace_t space, int local, pmix_info_t info[], size_t n,
					  pmix_op_cbfunc_t done, void *context)
{
	heard("program %s, %d ranks here", space, local);
	infos_show(info, n);
	return result_of("program", done, context);
}

pmix_status_t PMIx_server_register_client(const pmix_proc_t *p, uid_t uid, gid_t gid, void *object,
					  pmix_op_cbfunc_t done, void *context)
{
	heard("rank %u of %s, %s", p->rank, p->nspace, uid == getuid() && gid == getgid() ? "ours" : "another's");
	return result_of("rank", done, context);
}

pmix_status_t PMIx_server_setup_fork(const pmix_proc_t *p, char ***env)
{
	char text[64];

	if (fails("fork"))
		return PMIX_ERR_NOT_SUPPORTED;
	snprintf(text, sizeof text, "PMIX_RANK=%u", p->rank);
	*env = mem_zalloc(3 * sizeof **env);
	(*env)[0] = mem_strdup(text);
	(*env)[1] = mem_strdup("TMPDIR=of the library");
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_server_dmodex_request(const pmix_proc_t *p, pmix_dmodex_response_fn_t told, void *context)
{
	if (p->rank == SYNC) {
		told(0, NULL, 0, context);
		return PMIX_SUCCESS;
	}
	heard("data of rank %u of %s are requested", p->rank, p->nspace);
	library.told = told;
	library.context = context;
	return p->rank == 77 ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
}

const char *PMIx_Error_string(pmix_status_t status)
{
	return status == PMIX_ERR_INIT ? "INIT" : status == PMIX_ERR_NOT_SUPPORTED ? "NOT SUPPORTED" : "ANOTHER";
}

static pmix_status_t regex_make(const char *how, const char *input, char **ret)
{
	size_t n = strlen(how) + strlen(input) + 3;

	if (fails(how))
		return PMIX_ERR_NOT_SUPPORTED;
	*ret = mem_alloc(n);
	snprintf(*ret, n, "%s[%s]", how, input);
	return PMIX_SUCCESS;
}

pmix_status_t PMIx_generate_regex(const char *input, char **ret)
{
	return regex_make("nodes", input, ret);
}

pmix_status_t PMIx_generate_ppn(const char *input, char **ret)
{
	return regex_make("ranks", input, ret);
}

/* Keeps a value as the text that is printed. */
pmix_status_t PMIx_Info_load(pmix_info_t *info, const char *key, const void *data, pmix_data_type_t type)
{
	char number[32];
	const char *text = data;

	if (type == PMIX_UINT32 || type == PMIX_PROC_RANK) {
		snprintf(number, sizeof number, "%s%u", type == PMIX_UINT32 ? "" : "rank ", *(const uint32_t *)data);
		text = number;
	}
	PMIX_LOAD_KEY(info->key, key);
	info->value.type = PMIX_STRING;
	info->value.data.string = mem_strdup(text);
	return PMIX_SUCCESS;
}

/* ---- the machine: four CPUs ---- */

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *ret);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *ret)
{
	CPU_ZERO_S(size, ret);
	for (int cpu = 1; cpu < 8; cpu += 2)
		CPU_SET_S((size_t)cpu, size, ret);
	return 0;
}

int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *cpus);
int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *cpus)
{
	dprintf(STDOUT_FILENO, "on");
	for (size_t cpu = 0; cpu < 16; cpu++)
		if (CPU_ISSET_S(cpu, size, cpus))
			dprintf(STDOUT_FILENO, " %zu", cpu);
	dprintf(STDOUT_FILENO, "\n");
	return 0;
}

char *__real_mkdtemp(char *path);
char *__wrap_mkdtemp(char *path);
char *__wrap_mkdtemp(char *path)
{
	char *random = strstr(path, "shunt-pmix-XXXXXX");

	if (!random)
		return __real_mkdtemp(path);
	strcpy(random + strlen("shunt-pmix-"), "random");
	return mkdir(path, 0700) == 0 ? path : NULL;
}

/* ---- a rank ---- */

static int notes = -1; /* a pipe to the test: for what no frame says */

static void on_signal(int number)
{
	char text[] = "heard 00\n";

	text[6] = (char)('0' + number / 10);
	text[7] = (char)('0' + number % 10);
	if (write(STDOUT_FILENO, text, 9) < 0 || write(notes, text, 9) < 0)
		_exit(9);
}

static int text_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void environment_show(void)
{
	size_t n = 0;

	while (environ[n])
		n++;
	qsort(environ, n, sizeof *environ, text_compare);
	for (size_t i = 0; i < n; i++)
		printf("%s\n", strncmp(environ[i], "PMI_FD=", 7) == 0 ? "PMI_FD" : environ[i]);
}

/* Prints the descriptors that are open beside the standard ones, apart from the socket of PMI-1 and
 * the rank's own pipe. */
static void descriptors_show(int own)
{
	DIR *d = opendir("/proc/self/fd");
	char path[300], to[100];
	struct dirent *e;

	while ((e = readdir(d))) {
		int fd = atoi(e->d_name);
		snprintf(path, sizeof path, "/proc/self/fd/%s", e->d_name);
		ssize_t n = readlink(path, to, sizeof to);
		if (*e->d_name != '.' && fd > 2 && fd != own && fd != notes && fd != dirfd(d) &&
		    fd != atoi(getenv("PMI_FD")))
			printf("open: %.*s\n", (int)(n < 0 ? 0 : n), to);
	}
	closedir(d);
}

static void pmi_speak(const char *line, bool answered)
{
	char answer[1000];
	int fd = atoi(getenv("PMI_FD"));

	dprintf(fd, "%s\n", line);
	ssize_t n = answered ? read(fd, answer, sizeof answer) : 0;
	printf("%.*s", (int)(n < 0 ? 0 : n), answer);
}

static void rank_do(int own, char *line)
{
	char *what = strsep(&line, " "), *rest = line ? line : what + strlen(what);

	if (strcmp(what, "say") == 0) {
		printf("%s\n", rest);
	} else if (strcmp(what, "complain") == 0) {
		dprintf(STDERR_FILENO, "%s\n", rest);
	} else if (strcmp(what, "write") == 0) { /* BYTES */
		for (int i = 0; i < atoi(rest); i++)
			putchar('a' + i % 26);
	} else if (strcmp(what, "read") == 0) { /* BYTES: of its input; fewer at its end */
		size_t most = strtoul(rest, NULL, 10), n = 0;
		char byte, last = '-';
		while (n < most && read(STDIN_FILENO, &byte, 1) == 1) {
			last = byte;
			n++;
		}
		printf("has read %zu bytes%s, last %c\n", n, n < most ? " to the end" : "", last);
	} else if (strcmp(what, "shut") == 0) { /* reads no more input */
		close(STDIN_FILENO);
	} else if (strcmp(what, "environment") == 0) {
		environment_show();
		descriptors_show(own);
	} else if (strcmp(what, "handle") == 0) { /* NUMBER */
		sigset_t all;
		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, NULL); /* it is said before the first comes */
		signal(atoi(rest), on_signal);
		printf("handles %s\n", rest);
		fflush(stdout);
		sigprocmask(SIG_UNBLOCK, &all, NULL);
	} else if (strcmp(what, "ignore") == 0) { /* NUMBER */
		signal(atoi(rest), SIG_IGN);
		printf("ignores %s\n", rest);
	} else if (strcmp(what, "child") == 0) { /* a process that ends with the rank */
		if (fork() == 0)
			for (;;)
				pause();
	} else if (strcmp(what, "pmi") == 0 || strcmp(what, "tell") == 0) { /* LINE: with or without an answer */
		pmi_speak(rest, *what == 'p');
	} else if (strcmp(what, "where") == 0) {
		char at[PATH_MAX];
		sigset_t set;
		sigprocmask(SIG_BLOCK, NULL, &set);
		printf("in %s, group %s, SIGTERM %s, SIGPIPE %s\n", getcwd(at, sizeof at),
		       getpgrp() == getpid() ? "its own" : "another", sigismember(&set, SIGTERM) ? "blocked" : "free",
		       signal(SIGPIPE, SIG_DFL) == SIG_DFL ? "kills" : "is ignored");
	} else if (strcmp(what, "exit") == 0) {
		fflush(stdout);
		_exit(atoi(rest));
	} else if (strcmp(what, "die") == 0) {
		fflush(stdout);
		kill(getpid(), atoi(rest));
	}
	fflush(stdout);
}

static _Noreturn void rank_main(int argc, char **argv)
{
	char path[200], line[4096];
	size_t n = 0;
	char byte;

	for (int i = 2; i < argc; i++)
		printf("argument %s\n", argv[i]);
	fflush(stdout);
	snprintf(path, sizeof path, "%s/rank-notes", getenv("PIPES"));
	notes = open(path, O_RDWR | O_CLOEXEC);
	snprintf(path, sizeof path, "%s/rank%s", getenv("PIPES"), getenv("SHUNT_RANK"));
	int own = open(path, O_RDWR | O_CLOEXEC);
	for (;;) {
		ssize_t got = read(own, &byte, 1);
		if (got < 0)
			continue; /* a signal */
		if (byte == '\n') {
			line[n] = '\0';
			n = 0;
			rank_do(own, line);
		} else if (n < sizeof line - 1) {
			line[n++] = byte;
		}
	}
}

/* ---- the launcher ---- */

static struct {
	pid_t pid;
	int to, from;
	struct strbuf in;
	bool synced;	  /* has answered part_sync() */
	bool over, waits; /* has closed; does not answer questions (yet) */
} part = {.to = -1, .from = -1};

/* A frame that has come; output of a rank is one, however many pieces it came in. */
struct said {
	char type[16];
	int rank; /* -1: not about a rank */
	char *head;
	struct strbuf data;
};
static VEC(struct said) said;

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void part_start(void)
{
	int to[2], from[2];

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	assert_int_equal(pipe2(library.orders, O_CLOEXEC), 0);
	assert_int_equal(pipe2(library.done, O_CLOEXEC), 0);
	fflush(stdout);
	part.pid = fork();
	if (part.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		voice = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 100);
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		for (int fd = 3; fd < 1000; fd++)
			if (fd != voice && fd != library.orders[0] && fd != library.done[1])
				close(fd);
		clearenv();
		setenv("TMPDIR", dir, 1);
		setenv("PIPES", dir, 1);
		setenv("PATH", "/usr/bin:/bin", 1);
		setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
		setenv("SHUNT_RANK", "of the job", 1);
		_exit(pmix_main()); /* it frees nothing at its end */
	}
	close(to[0]);
	close(from[1]);
	part.to = to[1];
	part.from = from[0];
	part.over = false;
	part.waits = true;
}

static bool is_output(const char *type)
{
	return strcmp(type, "out") == 0 || strcmp(type, "err") == 0;
}

/* Finds where output of a rank goes: after its last frame of another kind, what came on standard
 * output before the rest. */
static size_t output_place(const struct said *s)
{
	size_t at = said.n;

	for (size_t i = said.n; i--;) {
		if (said.v[i].rank != s->rank)
			continue;
		if (!is_output(said.v[i].type) || strcmp(said.v[i].type, s->type) > 0)
			break;
		at = i;
	}
	return at;
}

static void frame_keep(const char *head, size_t nhead, const char *data, size_t n)
{
	json_t *o = json_loadb(head, nhead, 0, NULL), *rank = json_object_get(o, "rank");
	struct said s = {.rank = rank ? (int)json_integer_value(rank) : -1};
	size_t at = said.n;

	snprintf(s.type, sizeof s.type, "%s", json_string_value(json_object_get(o, "t")) ?: "?");
	bool sync = strcmp(s.type, "told") == 0 && json_integer_value(json_object_get(o, "id")) == SYNC;
	part.synced |= sync;
	if (is_output(s.type))
		at = output_place(&s);
	json_decref(o);
	if (sync)
		return;
	if (at < said.n && strcmp(said.v[at].type, s.type) == 0) {
		strbuf_add(&said.v[at].data, data, n);
		return;
	}
	s.head = mem_alloc(nhead + 1);
	memcpy(s.head, head, nhead);
	s.head[nhead] = '\0';
	strbuf_add(&s.data, data, n);
	vec_push(&said, s);
	memmove(said.v + at + 1, said.v + at, (said.n - 1 - at) * sizeof s);
	said.v[at] = s;
}

/* Reads frames for as long as some are there. */
static bool part_read(int patience)
{
	static char bytes[TEXT];
	const char *head, *data;
	size_t nhead, n;
	ssize_t size;
	struct pollfd in = {.fd = part.from, .events = POLLIN};

	if (part.over || poll(&in, 1, patience) <= 0)
		return false;
	ssize_t got = read(part.from, bytes, sizeof bytes);
	if (got <= 0) {
		part.over = true;
		return true;
	}
	strbuf_add(&part.in, bytes, (size_t)got);
	while ((size = frame_next(part.in.text, part.in.n, 1 << 24, &head, &nhead, &data, &n)) > 0) {
		frame_keep(head, nhead, data, n);
		memmove(part.in.text, part.in.text + size, part.in.n - (size_t)size);
		part.in.n -= (size_t)size;
	}
	if (size < 0)
		die("not a frame", "shunt-pmix");
	return true;
}

static bool heard_of(const char *type, int rank, const char *text)
{
	for (size_t i = 0; i < said.n; i++)
		if (strcmp(said.v[i].type, type) == 0 && (rank < 0 || said.v[i].rank == rank) &&
		    (!text || strstr(strbuf_text(&said.v[i].data), text)))
			return true;
	return false;
}

/* Waits for "TYPE [RANK [TEXT]]": a frame of that type, of that rank and with that text; "note":
 * for what a rank says without one, "over": for the end. */
static void part_await(char *what)
{
	struct pollfd note = {.fd = notes, .events = POLLIN};
	char *w[4] = {0}, text[10] = "";

	words_split(what, w, 3);
	if (strcmp(w[0], "note") == 0) {
		if (poll(&note, 1, PATIENCE) <= 0 || read(notes, text, 9) != 9)
			say("nothing is noted");
		say("a rank has %.8s", text);
		return;
	}
	while (strcmp(w[0], "over") == 0 ? !part.over : !heard_of(w[0], w[1] ? atoi(w[1]) : -1, w[2]))
		if (part.over || !part_read(PATIENCE)) {
			say("%s of %s never comes", w[0], w[1] ? w[1] : "all");
			return;
		}
}

static void frame_send(const char *head, size_t nhead, const char *data, size_t n)
{
	struct strbuf frame = {0};
	struct pollfd out = {.fd = part.to, .events = POLLOUT};

	frame_put(&frame, head, nhead, data, n);
	for (size_t done = 0; done < frame.n;) {
		ssize_t sent = write(part.to, frame.text + done, frame.n - done);
		if (sent <= 0)
			break; /* it has ended */
		done += (size_t)sent;
		poll(&out, 1, PATIENCE);
	}
	strbuf_fini(&frame);
}

static void said_clear(void)
{
	for (size_t i = 0; i < said.n; i++) {
		free(said.v[i].head);
		strbuf_fini(&said.v[i].data);
	}
	vec_clear(&said);
}

/* Lets shunt-pmix do what it knows of: a question that the library answers at once. */
static void part_sync(void)
{
	char head[64];

	if (part.over || part.to < 0 || part.waits)
		return;
	snprintf(head, sizeof head, "{\"t\":\"ask\",\"id\":%d,\"rank\":%d}", SYNC, SYNC);
	frame_send(head, strlen(head), NULL, 0);
	while (!part.synced && !part.over)
		if (!part_read(PATIENCE)) {
			say("shunt-pmix hangs");
			return;
		}
	part.synced = false;
}

/* Prints what has come: what is about no rank first, then rank by rank. */
static void said_show(void)
{
	static char text[TEXT];

	for (int rank = -1; rank < 8; rank++)
		for (size_t i = 0; i < said.n; i++) {
			const struct strbuf *d = &said.v[i].data;
			size_t n = 0;
			if (said.v[i].rank != rank)
				continue;
			for (size_t k = 0; k < d->n && n < sizeof text - 2; k++) {
				if (d->text[k] == '\n' || d->text[k] == '\0')
					text[n++] = '\\';
				text[n++] = d->text[k] == '\n' ? 'n' : d->text[k] == '\0' ? '0' : d->text[k];
			}
			if (d->n > 2000)
				say("> %s %zu bytes, the last are %.20s", said.v[i].head, d->n, d->text + d->n - 20);
			else
				say("> %s%s%.*s", said.v[i].head, n ? " " : "", (int)n, text);
		}
	said_clear();
}

/* Waits for the end of shunt-pmix, and shows what it left. */
static void part_end(void)
{
	int status;
	DIR *d;

	if (!part.pid)
		return;
	while (!part.over)
		if (!part_read(PATIENCE)) {
			say("shunt-pmix hangs");
			kill(part.pid, SIGKILL);
			break;
		}
	waitpid(part.pid, &status, 0);
	said_show();
	if (WIFSIGNALED(status))
		say("killed by %d", WTERMSIG(status));
	else
		say("exit %d", WEXITSTATUS(status));
	if ((d = opendir(dir))) {
		for (struct dirent *e; (e = readdir(d));)
			if (*e->d_name != '.' && strncmp(e->d_name, "rank", 4) != 0)
				say("left %s", e->d_name);
		closedir(d);
	}
	part.pid = 0;
	shut(&part.to);
	shut(&part.from);
	for (int i = 0; i < 2; i++) {
		shut(&library.orders[i]);
		shut(&library.done[i]);
	}
	strbuf_clear(&part.in);
	snprintf(library.fails, sizeof library.fails, "none");
	library.later = false;
}

/* ---- commands ---- */

/* Returns the line with HERE and SELF replaced. */
static char *places_put(const char *line)
{
	static char text[8192], self[PATH_MAX];
	size_t n = 0;
	ssize_t most = readlink("/proc/self/exe", self, sizeof self - 1);

	self[most < 0 ? 0 : most] = '\0';
	for (; *line && n < sizeof text - PATH_MAX; line++) {
		bool d = strncmp(line, "HERE", 4) == 0, s = strncmp(line, "SELF", 4) == 0;
		if (d || s) {
			n += (size_t)snprintf(text + n, sizeof text - n, "%s", d ? dir : self);
			line += 3;
		} else {
			text[n++] = *line;
		}
	}
	text[n] = '\0';
	return text;
}

static void frame_command(const char *line)
{
	char *text = places_put(line), *bulk = NULL;
	json_error_t e;
	json_t *o = json_loads(text, JSON_DISABLE_EOF_CHECK, &e);
	size_t nhead = o ? (size_t)e.position : strlen(text), n;
	char *data = text + nhead;

	data += *data == ' ';
	if (*data == '*') {
		n = strtoul(data + 1, NULL, 10);
		data = bulk = mem_alloc(n);
		memset(bulk, 'x', n);
	} else {
		n = unescape(data);
	}
	frame_send(text, nhead, data, n);
	free(bulk);
	json_decref(o);
}

static void library_command(const char *line)
{
	int rc;

	if (dprintf(library.orders[1], "%s\n", line) < 0 || read(library.done[0], &rc, sizeof rc) != sizeof rc)
		die("it does not listen", line);
	part_sync();
	if (rc)
		say("library: it gets %d", rc);
}

static void rank_command(const char *rank, const char *line)
{
	char path[100];

	snprintf(path, sizeof path, "%s/rank%s", dir, rank);
	int fd = open(path, O_RDWR | O_CLOEXEC); /* the rank may not have opened it yet */
	if (dprintf(fd, "%s\n", line) < 0)
		die("it does not listen", line);
	/* the pipe's contents are lost if nobody has it open: kept until the part ends */
	fcntl(fd, F_DUPFD_CLOEXEC, 200);
	close(fd);
}

/* Returns false if nothing comes of it at once. */
static bool command_do(char *line)
{
	char copy[4096], *w[WORDS] = {0};

	snprintf(copy, sizeof copy, "%s", line);
	for (int i = words_split(copy, w, 3); i < WORDS; i++)
		w[i] = copy + strlen(line);
	if (strcmp(w[0], "start") == 0) {
		part_start();
		return false;
	} else if (strcmp(w[0], "fails") == 0) { /* FUNCTION [later] */
		snprintf(library.fails, sizeof library.fails, "%s", w[1]);
		library.later = *w[2];
		return false;
	} else if (strcmp(w[0], "end") == 0) {
		part_end();
		return false;
	} else if (strcmp(w[0], "rank") == 0) { /* RANK WHAT ... */
		rank_command(w[1], w[2]);
		return false;
	} else if (strcmp(w[0], ">") == 0) { /* {HEAD} [DATA] */
		frame_command(line + 2);
		return !part.waits;
	} else if (strcmp(w[0], "bytes") == 0) { /* TEXT */
		char *text = places_put(line + 6);
		size_t n = unescape(text);
		if (write(part.to, text, n) != (ssize_t)n)
			die("it can't be sent", text);
		part.waits = true;
	} else if (strcmp(w[0], "library") == 0) { /* WHAT ... */
		library_command(line + 8);
	} else if (strcmp(w[0], "signal") == 0) { /* NUMBER */
		kill(part.pid, atoi(w[1]));
	} else if (strcmp(w[0], "hangup") == 0) { /* the launcher ends */
		shut(&part.to);
	} else if (strcmp(w[0], "deaf") == 0) { /* the launcher reads no more */
		shut(&part.from);
		part.over = true;
	} else if (strcmp(w[0], "wait") == 0) { /* MS */
		played->now_us += atoi(w[1]) * 1000;
	} else {
		die("what is that?", line);
	}
	return true;
}

/* "COMMAND [=> AWAITED, ...]" */
static void command(char *line)
{
	char *next = strstr(line, " => ");

	if (next) {
		*next = '\0';
		next += 4;
	}
	if (!command_do(line) && !next)
		return;
	while (next) {
		char *what = next;
		next = strstr(what, ", ");
		if (next) {
			*next = '\0';
			next += 2;
		}
		part_await(what);
	}
	part.waits = part.waits && !heard_of("started", -1, NULL);
	part_sync();
	said_show();
}

static void run_begin(const char *base, int number)
{
	char path[100];

	part_end();
	shut(&notes);
	for (int fd = 200; close(fd) == 0; fd++)
		;
	if (!base)
		return;
	snprintf(dir, sizeof dir, "%s/%d", base, number);
	assert_int_equal(mkdir(dir, 0700), 0);
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof path, "%s/rank%d", dir, i);
		assert_int_equal(mkfifo(path, 0600), 0);
	}
	snprintf(path, sizeof path, "%s/rank-notes", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	notes = open(path, O_RDWR | O_CLOEXEC);
}

static void parts(void **state)
{
	voice = STDOUT_FILENO;
	played_record(RECORDED, run_begin, command);
	vec_free(&said);
	strbuf_fini(&part.in);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(parts)};

	if (argc > 1 && strcmp(argv[1], "rank") == 0)
		rank_main(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("parts", tests, NULL, NULL);
}
