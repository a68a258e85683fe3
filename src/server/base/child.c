/*
 * child.c - see child.h.
 *
 * The output goes into unnamed files, so that nothing has to be read while the program runs.
 */
#include "server/base/child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/program.h"
#include "base/vec.h"

#define ERRORS_MOST 2000

struct child {
	struct child_order o;
	uv_poll_t ended;
	uv_timer_t patience;
	int open; /* number of open handles */
	pid_t pid;
	int pidfd, out, errors;
	bool late;
};

static void files_close(const struct child *c)
{
	const int all[] = {c->out, c->errors, c->pidfd};

	for (int i = 0; i < 3; i++)
		if (all[i] >= 0)
			close(all[i]);
}

static void on_closed(uv_handle_t *h)
{
	struct child *c = h->data;

	if (--c->open > 0)
		return;
	files_close(c);
	free(c);
}

static void child_close(struct child *c)
{
	uv_close((uv_handle_t *)&c->ended, on_closed);
	uv_close((uv_handle_t *)&c->patience, on_closed);
}

/* Reads a file. The caller frees the text. */
static char *file_text(int fd, size_t most, size_t *ret_n)
{
	char *text = mem_alloc(most + 1);
	ssize_t n = pread(fd, text, most, 0);

	*ret_n = n < 0 ? 0 : (size_t)n;
	text[*ret_n] = '\0';
	return text;
}

static void child_tell(struct child *c, int how)
{
	struct child_end end = {.how = how, .late = c->late};
	size_t n;
	char *out = file_text(c->out, c->o.most + 1, &end.n), *errors = file_text(c->errors, ERRORS_MOST, &n);

	end.much = end.n > c->o.most;
	if (end.much)
		out[end.n = c->o.most] = '\0';
	end.out = out;
	end.errors = errors;
	c->o.done(c->o.context, &end);
	free(out);
	free(errors);
}

static void on_ended(uv_poll_t *poll, int status, int events)
{
	struct child *c = poll->data;
	int how = 0;

	if (waitpid(c->pid, &how, WNOHANG) == 0)
		return;
	if (!c->o.apart)
		kill(-c->pid, SIGKILL); /* kill the processes it left behind */
	child_close(c);
	child_tell(c, how);
}

static void on_late(uv_timer_t *timer)
{
	struct child *c = timer->data;

	c->late = true;
	kill(-c->pid, SIGKILL); /* kill its process group, of which it is the leader */
}

static int process_start(struct child *c)
{
	VEC(char *) env = {0};
	int rc;

	if (c->o.most &&
	    ((c->out = memfd_create("out", MFD_CLOEXEC)) < 0 || (c->errors = memfd_create("errors", MFD_CLOEXEC)) < 0))
		return -errno;
	for (char **e = environ; *e; e++)
		vec_push(&env, *e);
	vec_push(&env, c->o.also); /* NULL ends the list */
	vec_push(&env, NULL);
	rc = program_start(c->o.program, c->o.argv, env.v, (int[]){c->o.in ? c->o.in : PROGRAM_NULL, c->out, c->errors},
			   3, PROGRAM_GROUP, &c->pid);
	vec_free(&env);
	if (rc < 0)
		return rc;
	if (c->o.nice)
		setpriority(PRIO_PROCESS, (id_t)c->pid, c->o.nice);
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd >= 0)
		return 0;
	rc = -errno;
	kill(-c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	return rc;
}

int child_start(uv_loop_t *loop, const struct child_order *o, struct child **ret)
{
	struct child *c = mem_zalloc(sizeof *c);
	int rc;

	*c = (struct child){.o = *o, .open = 2, .out = -1, .errors = -1, .pidfd = -1};
	rc = process_start(c);
	if (rc < 0) {
		files_close(c);
		free(c);
		return rc;
	}
	uv_poll_init(loop, &c->ended, c->pidfd);
	uv_timer_init(loop, &c->patience);
	c->ended.data = c->patience.data = c;
	uv_poll_start(&c->ended, UV_READABLE, on_ended);
	uv_timer_start(&c->patience, on_late, (uint64_t)o->seconds * 1000, 0);
	*ret = c;
	return 0;
}

void child_stop(struct child *c)
{
	if (!c->o.apart) {
		kill(-c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0); /* it was killed, so this does not block */
	}
	child_close(c);
}

bool child_fault(const struct child_order *o, const struct child_end *end, char *ret, size_t size)
{
	if (end->late)
		snprintf(ret, size, "took longer than %lld s", (long long)o->seconds);
	else if (end->how != 0)
		snprintf(ret, size, "ended with %s %d", WIFSIGNALED(end->how) ? "signal" : "exit status",
			 WIFSIGNALED(end->how) ? WTERMSIG(end->how) : WEXITSTATUS(end->how));
	else if (end->much)
		snprintf(ret, size, "printed more than %zu bytes", o->most);
	else
		return false;
	return true;
}
