/*
 * test_guards.c - the guard of a workstation that is a node, with its owner, jobs and a clock that
 * the test plays: what it stops, continues, stores, sends and answers, compared with guards.txt
 * (played.h).
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/agent_internal.h"
#include "agent/guard.h"
#include "base/mem.h"
#include "golden/desk.h"
#include "golden/played.h"
#include "run/nursery.h"

#define RECORDED SHUNT_ROOT "/tests/golden/guards.txt"
#define SHEPHERD 5000000 /* number of the first job's shepherd, less 1: above all processes */

enum { WORDS = 16, PARTS = 8 };

static uv_loop_t loop;
static struct agent agent;
static char parts[PARTS][16]; /* tags; "": none */

/* ---- the agent around it ---- */

enum live_state __wrap_live_look(const char *live, const char *tag, struct arena *a, struct result *ret,
				 pid_t *ret_pid);
enum live_state __wrap_live_look(const char *live, const char *tag, struct arena *a, struct result *ret, pid_t *ret_pid)
{
	for (int i = 0; i < PARTS; i++)
		if (strcmp(parts[i], tag) == 0) {
			*ret_pid = SHEPHERD + i + 1;
			return LIVE_RUNNING;
		}
	return LIVE_ENDED;
}

int __wrap_live_list(const char *live, void (*one)(void *context, const char *tag), void *context, struct err *err);
int __wrap_live_list(const char *live, void (*one)(void *context, const char *tag), void *context, struct err *err)
{
	one(context, "99.1"); /* one that has ended */
	for (int i = 0; i < PARTS; i++)
		if (*parts[i])
			one(context, parts[i]);
	return 0;
}

void session_health(struct agent *a)
{
	json_t *o = guard_news(a);
	char *text = o ? json_dumps(o, JSON_COMPACT) : mem_strdup("none");

	/* the hours that are not known yet are left out */
	char *habit = strstr(text, "????????");
	if (habit)
		memmove(habit, habit + strspn(habit, "?"), strlen(habit + strspn(habit, "?")) + 1);
	say("news: %s", text);
	free(text);
	json_decref(o);
}

struct link *session_link(const struct agent *a)
{
	return NULL;
}

/* The client of the owner's socket is the agent's own user, on every machine. */
int __wrap_getsockopt(int fd, int level, int name, void *ret, socklen_t *n);
int __wrap_getsockopt(int fd, int level, int name, void *ret, socklen_t *n)
{
	*(struct ucred *)ret = (struct ucred){.pid = getpid(), .uid = 1000};
	return 0;
}

uid_t __wrap_geteuid(void);
uid_t __wrap_geteuid(void)
{
	return 1000;
}

/* ---- commands ---- */

static void agent_end(void)
{
	if (agent.guard)
		guard_stop(&agent);
	free(agent.member.workstation);
	agent.member.workstation = NULL;
	json_decref(agent.facts);
	agent.facts = NULL;
	played_settle(&loop, NULL);
}

static void agent_begin(const char *policy, int gpus)
{
	struct err err;

	agent.loop = &loop;
	agent.home.given = true;
	agent.facts = json_pack("{s:i}", "gpus", gpus);
	snprintf(agent.member.name, sizeof agent.member.name, "oak");
	snprintf(agent.member.cluster, sizeof agent.member.cluster, "lab");
	agent.member.workstation = strcmp(policy, "-") == 0 ? NULL : mem_strdup(policy);
	if (guard_start(&agent, &err) < 0)
		die(err.text, policy);
}

static void book_show(void)
{
	struct strbuf text = {0};

	if (home_read(&agent.home, "owner.json", &text, NULL) < 0)
		strbuf_puts(&text, "missing");
	say("book: %s", text.text);
	strbuf_fini(&text);
}

static void command(char *line)
{
	static char copy[4096];
	char *w[WORDS] = {0}, path[4200];

	snprintf(copy, sizeof copy, "%s", line);
	for (int i = words_split(copy, w, WORDS); i < WORDS; i++)
		w[i] = copy + strlen(line);
	const char *what = w[0];
	if (desk_command(w, agent.home.state)) {
	} else if (strcmp(what, "start") == 0) { /* POLICY|- [GPUS] */
		agent_begin(w[1], atoi(w[2]));
	} else if (strcmp(what, "stop") == 0) {
		agent_end();
	} else if (strcmp(what, "policy") == 0) { /* [POLICY] */
		guard_set(&agent, w[1]);
	} else if (strcmp(what, "part") == 0) { /* N TAG|-: a job runs here, or has ended */
		snprintf(parts[atoi(w[1])], sizeof parts[0], "%s", *w[2] == '-' ? "" : w[2]);
	} else if (strcmp(what, "leaves") == 0) { /* TAG */
		guard_leaves(&agent, w[1]);
	} else if (strcmp(what, "suspends") == 0) { /* TAG yes|no */
		guard_suspends(&agent, w[1], *w[2] == 'y');
	} else if (strcmp(what, "ended") == 0) { /* TAG CPU_MS RAN_MS COVERED_MS */
		guard_ended(&agent, &(struct result){.tag = w[1],
						     .cpu_ms = atoi(w[2]),
						     .ran_ms = atoi(w[3]),
						     .saves.covers_ms = atoi(w[4])});
	} else if (strcmp(what, "news") == 0) {
		say("background: %s", guard_background(&agent) ? "yes" : "no");
		session_health(&agent);
	} else if (strcmp(what, "owner") == 0) { /* LINE */
		snprintf(path, sizeof path, "%s/owner.sock", agent.home.run);
		desk_ask(path, line + 6, &loop, NULL);
	} else if (strcmp(what, "book") == 0) {
		book_show();
	} else if (strcmp(what, "wait") == 0) { /* MS */
		played_wait(&loop, atoi(w[1]), NULL);
	} else if (strcmp(what, "later") == 0) { /* SECONDS: the wall clock is set ahead */
		played->ahead += atoi(w[1]);
	} else {
		die("no such command", line);
	}
	played_settle(&loop, NULL);
}

static void run_begin(const char *base, int number)
{
	agent_end();
	memset(parts, 0, sizeof parts);
	desk_begin();
	if (!base)
		return;
	snprintf(agent.home.state, sizeof agent.home.state, "%s/%d", base, number);
	snprintf(agent.home.run, sizeof agent.home.run, "%s", agent.home.state);
	setenv("SHUNT_OWNER_DEV", agent.home.state, 1);
	assert_int_equal(mkdir(agent.home.state, 0700), 0);
}

static void guards(void **state)
{
	uv_loop_init(&loop);
	played_record(RECORDED, run_begin, command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(guards)};

	signal(SIGPIPE, SIG_IGN);
	setenv("TZ", "UTC", 1);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("guards", tests, NULL, NULL);
}
