/*
 * desk.c - see desk.h.
 */
#include "golden/desk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/unixsock.h"
#include "golden/played.h"
#include "run/hold.h"
#include "station/gpus.h"
#include "station/senses.h"

long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name)
{
	return name == _SC_NPROCESSORS_ONLN ? 4
	       : name == _SC_PHYS_PAGES	    ? 1000000
	       : name == _SC_PAGESIZE	    ? 4096
					    : __real_sysconf(name);
}

static struct {
	struct senses_listener listener;
	struct seen seen;
	int64_t input_at; /* ms since the run began; -1: none */
	uint64_t gpus;	  /* GPUs in use by him */
	int runs;	  /* running threads of each job */
	int64_t spent_ms; /* processor time of each job */
	bool ours;	  /* true: this process also is one of a job's */
	char spared[256]; /* processes whose GPUs are not counted, as they were said last */
} desk;

/* One process below each shepherd, and this one if it was said to be. */
void __wrap_tree_list(pid_t shepherd, pid_list *ret);
void __wrap_tree_list(pid_t shepherd, pid_list *ret)
{
	vec_clear(ret);
	vec_push(ret, shepherd + 1000);
	if (desk.ours)
		vec_push(ret, (pid_t)syscall(SYS_getpid));
}

struct senses *__wrap_senses_create(uv_loop_t *loop, const char *dev, const struct senses_listener *l);
struct senses *__wrap_senses_create(uv_loop_t *loop, const char *dev, const struct senses_listener *l)
{
	desk.listener = *l;
	return (struct senses *)&desk;
}

void __wrap_senses_destroy(struct senses *s);
void __wrap_senses_destroy(struct senses *s)
{
}

void __wrap_senses_look(struct senses *s);
void __wrap_senses_look(struct senses *s)
{
}

void __wrap_senses_get(const struct senses *s, struct seen *ret);
void __wrap_senses_get(const struct senses *s, struct seen *ret)
{
	*ret = desk.seen;
	ret->input = desk.input_at < 0 ? OWNER_NO_INPUT : 1000000 + desk.input_at;
}

int __wrap_senses_devices(const struct senses *s);
int __wrap_senses_devices(const struct senses *s)
{
	return 2;
}

void __wrap_senses_remember(struct senses *s, int64_t ago);
void __wrap_senses_remember(struct senses *s, int64_t ago)
{
	say("input %" PRId64 " s ago is remembered", ago / 1000);
}

uint64_t __wrap_owner_gpus(const char *dev, const pid_list *ours);
uint64_t __wrap_owner_gpus(const char *dev, const pid_list *ours)
{
	char text[sizeof desk.spared] = "";
	size_t n = 0;

	for (size_t i = 0; i < ours->n && n < sizeof text; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, " %d", ours->v[i]);
	if (strcmp(text, desk.spared) != 0)
		say("GPUs count that others than these use:%s", text);
	memcpy(desk.spared, text, sizeof text);
	return desk.gpus;
}

bool __wrap_hold_stop(pid_t shepherd, const char *tag);
bool __wrap_hold_stop(pid_t shepherd, const char *tag)
{
	say("%s: stop", tag);
	return true;
}

void __wrap_hold_continue(pid_t shepherd, const char *tag, bool stopped);
void __wrap_hold_continue(pid_t shepherd, const char *tag, bool stopped)
{
	say("%s: continue%s", tag, stopped ? ", stopped" : "");
}

void __wrap_hold_reclaim(pid_t shepherd, const char *tag);
void __wrap_hold_reclaim(pid_t shepherd, const char *tag)
{
	say("%s: reclaim", tag);
}

void __wrap_hold_memory(pid_t shepherd, const char *tag, int64_t spare);
void __wrap_hold_memory(pid_t shepherd, const char *tag, int64_t spare)
{
	say("%s: %" PRId64 " MB more for all", tag, spare / 1000000);
}

int __wrap_hold_running(pid_t shepherd, int64_t *ret_cpu_ms);
int __wrap_hold_running(pid_t shepherd, int64_t *ret_cpu_ms)
{
	*ret_cpu_ms = desk.spent_ms;
	return desk.runs;
}

void desk_begin(void)
{
	memset(&desk, 0, sizeof desk);
	desk.input_at = -1;
	desk.seen.memory_free = 90;
}

bool desk_command(char *const *w, const char *dir)
{
	if (strcmp(w[0], "seen") == 0) { /* memory|stalls|runnable VALUE */
		if (strcmp(w[1], "memory") == 0)
			desk.seen.memory_free = atof(w[2]);
		else if (strcmp(w[1], "stalls") == 0)
			desk.seen.memory_stalls = atof(w[2]);
		else if (strcmp(w[1], "runnable") == 0)
			desk.seen.runnable = atoi(w[2]);
	} else if (strcmp(w[0], "input") == 0) { /* he presses a key */
		desk.input_at = played->now_us / 1000;
		snprintf(desk.seen.where, sizeof desk.seen.where, "pts/3");
		snprintf(desk.seen.who, sizeof desk.seen.who, "ana");
		say("terminals of others count: %s", desk.listener.counts(desk.listener.context, 0, 7) ? "yes" : "no");
		desk.listener.input(desk.listener.context);
	} else if (strcmp(w[0], "tasks") == 0) { /* RUNNING MS: threads and processor time of each job */
		desk.runs = atoi(w[1]);
		desk.spent_ms = atoi(w[2]);
	} else if (strcmp(w[0], "ours") == 0) { /* yes|no: the client is one of a job's processes */
		desk.ours = *w[1] == 'y';
	} else if (strcmp(w[0], "gpus") == 0) { /* N BITS: GPUs, and those that he uses */
		for (int i = 0; i < atoi(w[1]); i++) {
			char path[128];
			snprintf(path, sizeof path, "%s/nvidia%d", dir, i);
			close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
		}
		desk.gpus = strtoul(w[2], NULL, 0);
	} else {
		return false;
	}
	return true;
}

void desk_ask(const char *path, const char *line, uv_loop_t *loop, void (*each)(void))
{
	char answer[2048];
	struct err err;
	int fd = unix_connect(path, 1000, &err);

	if (fd < 0)
		die(err.text, line);
	snprintf(answer, sizeof answer, "%s\n", line);
	if (write(fd, answer, strlen(answer)) < 0)
		die(strerror(errno), line);
	played_settle(loop, each);
	ssize_t n = recv(fd, answer, sizeof answer, MSG_DONTWAIT);
	say("owner: %.*s", (int)(n > 0 ? n : 0), answer);
	close(fd);
	played_settle(loop, each);
}
