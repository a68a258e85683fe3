/*
 * jobhosts.c - reads the node file of the job that this process belongs to. The environment names
 * the job. Some programs (GNU parallel, to count CPUs) call with an empty environment: then that of
 * an ancestor process is used, as far as they are readable.
 */
#include "cmd/launch/jobhosts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/lines.h"

/* The first two identify a job; the others exist in a job on several hosts. */
static const char *const job_names[] = {"PBS_JOBID",  "PBS_NODEFILE",	    "SHUNT_TAG",
					"SHUNT_HERE", "SHUNT_AGENT_SOCKET", "SHUNT_TMPDIR"};

/* Variables about a host, not passed on to another: the part of the job there has its own. A '*' at
 * the end matches any suffix. */
static const char *const host_names[] = {
	"SHUNT_HERE",
	"SHUNT_NODE",
	"SHUNT_TAG",
	"SHUNT_AGENT_SOCKET",
	"SHUNT_TMPDIR",
	"SHUNT_HOME",
	"TMPDIR",
	"PBS_NODENUM",
	"PBS_VNODENUM",
	"PBS_TASKNUM",
	"PBS_NODEFILE",
	"PBS_RSH",
	"PBS_JOBDIR",
	"OMPI_MCA_orte_default_hostfile",
	"OMPI_MCA_plm_rsh_agent",
	"PRTE_MCA_prte_default_hostfile",
	"PRTE_MCA_plm_ssh_agent",
	"HYDRA_LAUNCHER_EXEC",
	"PARALLEL_SSH",
	"CUDA_VISIBLE_DEVICES",
	"HOSTNAME",
	"XDG_RUNTIME_DIR",
	"PWD",
	"OLDPWD",
	"SHLVL",
	"_",
	"SSH_*",
	"PMIX_*",
};

static bool job_known(void)
{
	return getenv(job_names[0]) && getenv(job_names[1]);
}

/* Takes a job's variables from the initial environment of a process. */
static void job_take(pid_t pid)
{
	char path[64], *text = NULL;
	size_t size = 0;

	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	FILE *in = fopen(path, "r");
	while (in && getdelim(&text, &size, '\0', in) > 0)
		for (size_t i = 0; i < sizeof job_names / sizeof *job_names; i++) {
			size_t n = strlen(job_names[i]);
			if (strncmp(text, job_names[i], n) == 0 && text[n] == '=')
				setenv(job_names[i], text + n + 1, 1);
		}
	if (in)
		fclose(in);
	free(text);
}

/* Returns 0 if there is none, or it is not known. */
static pid_t parent_of(pid_t pid)
{
	char path[64], line[512];
	const char *end = NULL;
	int parent = 0;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	FILE *in = fopen(path, "r");
	if (in && fgets(line, sizeof line, in) && (end = strrchr(line, ')')) &&
	    sscanf(end + 1, " %*c %d", &parent) != 1)
		parent = 0;
	if (in)
		fclose(in);
	return parent;
}

int jobhosts_read(struct jobhosts *ret, struct err *err)
{
	struct jobhosts h = {0};
	const char *path;
	struct lines *in;
	char *line;
	int rc;

	for (pid_t p = getppid(); p > 1 && !job_known(); p = parent_of(p))
		job_take(p);
	if (!job_known())
		return err_set(err, -ENOENT,
			       "this is not inside a job: call it from a job's script, or within qsub -I");
	path = getenv("PBS_NODEFILE");
	rc = lines_open(path, &in, err);
	if (rc < 0)
		return rc;
	h.arena = arena_create();
	while ((rc = lines_next(in, &line, err)) == 1)
		if (line[0])
			vec_push(&h.line, arena_strndup(h.arena, line, strlen(line)));
	lines_close(in);
	if (rc == 0 && h.line.n == 0)
		rc = err_set(err, -EINVAL, "%.300s names no node: has the job ended?", path);
	if (rc < 0)
		jobhosts_fini(&h);
	else
		*ret = h;
	return rc;
}

void jobhosts_fini(struct jobhosts *h)
{
	vec_free(&h->line);
	if (h->arena)
		arena_destroy(h->arena);
	h->arena = NULL;
}

int jobhosts_find(const struct jobhosts *h, const char *host)
{
	for (size_t i = 0; i < h->line.n; i++)
		if (strcmp(h->line.v[i], host) == 0)
			return (int)i;
	return -1;
}

int jobhosts_number(const struct jobhosts *h, int line)
{
	int first = jobhosts_find(h, h->line.v[line]), n = 0;

	for (int i = 0; i < first; i++)
		n += jobhosts_find(h, h->line.v[i]) == i;
	return n;
}

bool jobhosts_here(const char *node)
{
	const char *here = getenv("SHUNT_HERE");
	size_t n = strlen(node);

	for (const char *p = here; p && *p; p += strcspn(p, " "), p += strspn(p, " "))
		if (strcspn(p, " ") == n && strncmp(p, node, n) == 0)
			return true;
	return !here || !*here;
}

static bool about_host(const char *entry)
{
	size_t length = strcspn(entry, "=");

	for (size_t i = 0; i < sizeof host_names / sizeof *host_names; i++) {
		size_t n = strlen(host_names[i]);
		bool all = host_names[i][n - 1] == '*';
		if (all ? strncmp(entry, host_names[i], n - 1) == 0
			: n == length && strncmp(entry, host_names[i], n) == 0)
			return true;
	}
	return false;
}

char **jobhosts_env(struct arena *a, size_t more, size_t *ret_n)
{
	size_t n = 0, kept = 0;

	while (environ[n])
		n++;
	char **env = arena_alloc(a, (n + more + 1) * sizeof *env);
	for (size_t i = 0; i < n; i++)
		if (!about_host(environ[i]))
			env[kept++] = environ[i];
	*ret_n = kept;
	return env;
}
