/*
 * ranks.c - the processes of a program on this host.
 *
 * Each rank leads a process group, so that its children end with it, and gets SIGKILL if we die. It
 * gets CPUs of its own where the job has exclusive CPUs here, and enough of them.
 *
 * PMIx has a thread, so only lock-free calls are safe between fork and exec; the environment is
 * built before.
 */
#include "pmix/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/tree.h"

/* ---- CPUs ---- */

/* Computes the CPUs of a rank: an even share. Returns false if it may use all that the job has
 * on this host. If we see more CPUs than the job has here they are not exclusive: ranks of other
 * jobs would choose the same. */
static bool share_of(const struct layout *l, size_t local, cpu_set_t *ret)
{
	const struct layout_host *h = &l->host.v[l->here];
	cpu_set_t all;

	if (!l->bind || sched_getaffinity(0, sizeof all, &all) < 0)
		return false;
	size_t n = (size_t)CPU_COUNT(&all), first, last, seen = 0;
	if (n != h->cpus || n < h->rank.n)
		return false;
	first = local * n / h->rank.n;
	last = (local + 1) * n / h->rank.n;
	CPU_ZERO(ret);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all)) {
			if (seen >= first && seen < last)
				CPU_SET(cpu, ret);
			seen++;
		}
	return true;
}

/* ---- the environment ---- */

static void env_put(name_list *env, const char *name, const char *value)
{
	struct strbuf text = {0};

	strbuf_printf(&text, "%s=%s", name, value);
	vec_push(env, text.text);
}

static void env_number(name_list *env, const char *name, uint32_t n)
{
	char text[16];

	snprintf(text, sizeof text, "%u", n);
	env_put(env, name, text);
}

/* Adds the rank's number and place, by our names and by Open MPI's, which scripts know. */
static void env_place(name_list *env, const struct layout *l, uint32_t rank)
{
	const struct layout_rank *r = &l->rank[rank];
	uint32_t local_size = (uint32_t)l->host.v[l->here].rank.n;

	env_number(env, "SHUNT_RANK", rank);
	env_number(env, "SHUNT_SIZE", l->size);
	env_number(env, "SHUNT_LOCAL_RANK", r->local);
	env_number(env, "SHUNT_LOCAL_SIZE", local_size);
	env_put(env, "SHUNT_NODE", l->node.v[r->node]);
	env_number(env, "PBS_NODENUM", r->node);
	env_number(env, "OMPI_COMM_WORLD_RANK", rank);
	env_number(env, "OMPI_COMM_WORLD_SIZE", l->size);
	env_number(env, "OMPI_COMM_WORLD_LOCAL_RANK", r->local);
	env_number(env, "OMPI_COMM_WORLD_LOCAL_SIZE", local_size);
	env_number(env, "OMPI_COMM_WORLD_NODE_RANK", r->local);
}

static bool env_has(const name_list *env, const char *entry)
{
	size_t n = strcspn(entry, "=") + 1;

	for (size_t i = 0; i < env->n; i++)
		if (strncmp(env->v[i], entry, n) == 0)
			return true;
	return false;
}

/* Adds the variables for MPICH and its relatives. Open MPI prefers PMIx, which it also has. */
static void env_pmi1(name_list *env, const struct layout *l, uint32_t rank, int fd)
{
	env_number(env, "PMI_FD", (uint32_t)fd);
	env_number(env, "PMI_RANK", rank);
	env_number(env, "PMI_SIZE", l->size);
	env_number(env, "MPI_LOCALRANKID", l->rank[rank].local);
	env_number(env, "MPI_LOCALNRANKS", (uint32_t)l->host.v[l->here].rank.n);
}

/* Builds the environment: the rank's own entries first, then the common ones. NULL-terminated. */
static int env_make(const struct layout *l, uint32_t rank, int pmi1, name_list *env, struct err *err)
{
	env_place(env, l, rank);
	env_pmi1(env, l, rank, pmi1);
	int rc = meet_prepare(l, rank, env, err);
	size_t own = env->n;
	for (char **e = environ; rc == 0 && *e; e++) {
		name_list mine = {.v = env->v, .n = own};
		if (!env_has(&mine, *e))
			vec_push(env, mem_strdup(*e));
	}
	vec_push(env, NULL);
	return rc;
}

/* ---- the file ---- */

/* Creates the file in memory: nothing is left on disk, and noexec file systems do not matter.
 * Ranks inherit the descriptor and open it by number. */
static int file_make(struct ranks *r, struct err *err)
{
	const struct layout *l = r->l;
	size_t argc = 0, done = 0;
	ssize_t n = 0;

	while (l->argv[argc])
		argc++;
	r->argv = l->argv;
	if (!l->file)
		return 0;
	r->file = memfd_create("script", 0);
	for (; r->file >= 0 && done < l->ntext; done += (size_t)n)
		if ((n = write(r->file, l->text + done, l->ntext - done)) <= 0)
			break;
	if (r->file < 0 || done < l->ntext)
		return err_set(err, -errno, "%s can't be copied: %s", l->file, strerror(errno));
	const char *path = arena_printf(l->arena, "/proc/self/fd/%d", r->file);
	r->argv = arena_alloc(l->arena, (argc + 1) * sizeof *r->argv);
	for (size_t i = 0; i < argc; i++)
		r->argv[i] = strcmp(l->argv[i], l->file) == 0 ? (char *)path : l->argv[i];
	return 0;
}

/* ---- starting ---- */

struct birth {
	pid_t parent;
	int in, out, err, report;
	int pmi1;	       /* inherited descriptor */
	const cpu_set_t *cpus; /* NULL: all */
	char **argv, **env;
};

/* Runs in the child and does not return; if exec fails, the parent reads the error. */
static void rank_become(const struct birth *b)
{
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != b->parent)
		_exit(1);
	dup2(b->in, STDIN_FILENO);
	dup2(b->out, STDOUT_FILENO);
	dup2(b->err, STDERR_FILENO);
	fcntl(b->pmi1, F_SETFD, 0);
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (b->cpus)
		sched_setaffinity(0, sizeof *b->cpus, b->cpus);
	environ = b->env;
	execvp(b->argv[0], b->argv);
	int code = errno;
	if (write(b->report, &code, sizeof code) < 0)
		_exit(1);
	_exit(127);
}

static int pipes_make(struct birth *b, struct rank *r, int *ret_in)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1}, error[2] = {-1, -1};

	if ((ret_in ? pipe2(in, O_CLOEXEC) : (in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC))) < 0 ||
	    pipe2(out, O_CLOEXEC) < 0 || pipe2(error, O_CLOEXEC) < 0) {
		int code = -errno;
		for (int i = 0; i < 2; i++) {
			close(in[i]);
			close(out[i]);
			close(error[i]);
		}
		return code;
	}
	b->in = in[0];
	b->out = out[1];
	b->err = error[1];
	r->out = out[0];
	r->err = error[0];
	fcntl(r->out, F_SETFL, O_NONBLOCK);
	fcntl(r->err, F_SETFL, O_NONBLOCK);
	if (ret_in) {
		*ret_in = in[1];
		fcntl(in[1], F_SETFL, O_NONBLOCK);
	}
	return 0;
}

static int rank_start(struct ranks *all, size_t local, int report, struct err *err)
{
	struct rank *r = &all->rank.v[local];
	struct birth b = {.parent = getpid(), .report = report, .argv = all->argv};
	name_list env = {0};
	cpu_set_t cpus;

	b.pmi1 = pmi1_open(&all->pmi1, local);
	int rc = b.pmi1 < 0 ? err_set(err, b.pmi1, "no socket for rank %u: %s", r->rank, strerror(-b.pmi1))
			    : env_make(all->l, r->rank, b.pmi1, &env, err);
	b.env = env.v;
	if (share_of(all->l, local, &cpus))
		b.cpus = &cpus;
	if (rc == 0 && (rc = pipes_make(&b, r, r->rank == 0 ? &all->in : NULL)) < 0)
		err_set(err, rc, "no pipes for rank %u: %s", r->rank, strerror(-rc));
	if (rc == 0) {
		pid_t pid = fork();
		if (pid == 0)
			rank_become(&b);
		if (pid < 0)
			rc = err_set(err, -errno, "rank %u: %s", r->rank, strerror(errno));
		else
			setpgid(pid, pid); /* in parent and child: a signal must find the group */
		r->pid = pid > 0 ? pid : 0;
		all->alive += pid > 0;
		close(b.in);
		close(b.out);
		close(b.err);
	}
	if (b.pmi1 >= 0)
		close(b.pmi1);
	name_list_free(&env);
	return rc;
}

static void ranks_fini(struct ranks *r)
{
	for (size_t i = 0; i < r->rank.n; i++) {
		if (r->rank.v[i].out >= 0)
			close(r->rank.v[i].out);
		if (r->rank.v[i].err >= 0)
			close(r->rank.v[i].err);
	}
	if (r->in >= 0)
		close(r->in);
	if (r->file >= 0)
		close(r->file);
	r->file = -1;
	vec_free(&r->rank);
	pmi1_fini(&r->pmi1);
	r->in = -1;
}

int ranks_start(const struct layout *l, struct ranks *ret, int *ret_code, struct err *err)
{
	const struct layout_host *h = &l->host.v[l->here];
	struct ranks r = {.l = l, .in = -1, .file = -1};
	int report[2], code, rc = 0;

	*ret_code = 1;
	if (pipe2(report, O_CLOEXEC) < 0)
		return err_set(err, -errno, "no pipe: %s", strerror(errno));
	pmi1_init(&r.pmi1, l);
	rc = file_make(&r, err);
	for (size_t i = 0; i < h->rank.n; i++)
		vec_push(&r.rank, (struct rank){.rank = h->rank.v[i], .out = -1, .err = -1});
	for (size_t i = 0; i < h->rank.n && rc == 0; i++)
		rc = rank_start(&r, i, report[1], err);
	close(report[1]);
	/* EOF once all have called exec */
	while (rc == 0 && read(report[0], &code, sizeof code) == sizeof code) {
		*ret_code = code == ENOENT ? 127 : 126;
		rc = err_set(err, -code, "%s: %s", l->argv[0], strerror(code));
	}
	close(report[0]);
	if (rc < 0) {
		ranks_signal(&r, SIGKILL);
		for (size_t i = 0; i < r.rank.n; i++)
			if (r.rank.v[i].pid)
				waitpid(r.rank.v[i].pid, NULL, 0);
		ranks_fini(&r);
		return rc;
	}
	*ret = r;
	return 0;
}

/* ---- running and ending ---- */

void ranks_signal(struct ranks *r, int signal)
{
	for (size_t i = 0; i < r->rank.n; i++)
		if (r->rank.v[i].pid)
			kill(-r->rank.v[i].pid, signal);
}

bool ranks_retry(struct ranks *r)
{
	bool waits = false;

	for (size_t i = 0; i < r->rank.n; i++) {
		struct rank *k = &r->rank.v[i];
		if (!k->unheard || !k->pid)
			continue;
		if (process_signal_heard(k->pid, k->unheard) + tree_signal_heard(k->pid, 0, k->unheard) > 0)
			k->unheard = 0;
		else
			waits = true;
	}
	return waits;
}

void ranks_pass(struct ranks *r, int signal)
{
	for (size_t i = 0; i < r->rank.n; i++)
		r->rank.v[i].unheard = signal;
	ranks_retry(r);
}

struct rank *ranks_reap(struct ranks *r)
{
	int status;
	pid_t pid = waitpid(-1, &status, WNOHANG);

	for (size_t i = 0; pid > 0 && i < r->rank.n; i++) {
		struct rank *k = &r->rank.v[i];
		if (k->pid != pid)
			continue;
		k->pid = 0;
		k->code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
		k->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
		r->alive--;
		return k;
	}
	return NULL;
}

struct rank *rank_find(struct ranks *r, uint32_t rank)
{
	return rank < r->l->size && r->l->rank[rank].host == r->l->here ? &r->rank.v[r->l->rank[rank].local] : NULL;
}
