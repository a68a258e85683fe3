/*
 * qsub_wait.c - jobs that the user waits for: until they end, or at their terminal.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/qsub.h"
#include "cmd/show.h"
#include "run/pty.h"

#define LOOK_FIRST_MS 10
#define LOOK_LATER_MS 1000

/* How a shell would say it: a signal is 128 and its number. */
static int exit_code(const struct command *c, const json_t *job, const char *id)
{
	int64_t status = object_number(job, "exit_status", -1);

	if (status >= 0)
		return status < 256 ? (int)status : 128 + (int)(status - 256);
	const char *comment = object_text(job, "comment");
	return command_fail(c, "job %s did not run to its end%s%s", id, comment[0] ? ": " : "", comment);
}

/* 1: it has ended, *ret_code is set; 0: not yet; < 0: failed, and said so. */
static int job_look(const struct command *c, struct client *client, const char *id, int *ret_code)
{
	struct strbuf path = {0};
	struct reply r = {0};
	int rc = 0;

	show_job_path(&path, id, "");
	if (!show_get(c, client, strbuf_text(&path), &r, ret_code)) {
		rc = -EIO;
	} else if (strcmp(object_text(r.json, "state"), "C") == 0) {
		*ret_code = exit_code(c, r.json, id);
		rc = 1;
	}
	reply_fini(&r);
	strbuf_fini(&path);
	return rc;
}

/* Asks now and then: simple, and a restart of the server in between does not matter. */
int job_wait(const struct command *c, struct client *client, const char *id)
{
	int code = EXIT_FAILED, pause = LOOK_FIRST_MS;

	while (job_look(c, client, id, &code) == 0) {
		poll(NULL, 0, pause);
		pause = pause * 3 / 2 < LOOK_LATER_MS ? pause * 3 / 2 : LOOK_LATER_MS;
	}
	return code;
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
	interrupted = signal;
}

/* Nobody will be at the terminal of a job whose user has left: it goes, too. */
static void job_withdraw(const struct command *c, struct client *client, const char *id)
{
	struct strbuf path = {0};
	struct err err;

	show_job_path(&path, id, "");
	if (client_ask(client, "DELETE", strbuf_text(&path), NULL, 0, NULL, &err) < 0)
		command_fail(c, "job %s could not be deleted: %s", id, err.text);
	else
		printf("\nqsub: job %s deleted\n", id);
	strbuf_fini(&path);
}

/* Until the job connects, or has ended without. 1: it is there. */
static int terminal_await(const struct command *c, struct client *client, const char *id, int fd, int *ret_code)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int pause = LOOK_FIRST_MS, n;

	while ((n = interrupted ? 0 : poll(&p, 1, pause)) <= 0) {
		if (n < 0 && errno != EINTR)
			return command_fail(c, "waiting for job %s: %s", id, strerror(errno)), -1;
		if (interrupted) {
			job_withdraw(c, client, id);
			*ret_code = 128 + interrupted;
			return -1;
		}
		int ended = job_look(c, client, id, ret_code);
		if (ended)
			return -1;
		pause = pause * 3 / 2 < LOOK_LATER_MS ? pause * 3 / 2 : LOOK_LATER_MS;
	}
	return 1;
}

static int terminal_serve(const struct command *c, struct pty_client *p, const char *id)
{
	struct arena *arena = arena_create();
	struct result result = {0};
	struct err err;
	int code;

	printf("qsub: job %s ready\n\n", id);
	fflush(stdout);
	if (pty_serve(p, STDIN_FILENO, STDOUT_FILENO, arena, &result, &err) < 0) {
		code = command_fail(c, "job %s: %s", id, err.text);
	} else {
		printf("\nqsub: job %s completed\n", id);
		code = result.how == RESULT_EXITED ? result.status
		       : result.how == RESULT_SIGNALED
			       ? 128 + result.status
			       : command_fail(c, "job %s could not be started: %s", id,
					      result.reason ? result.reason : "no reason given");
	}
	arena_destroy(arena);
	return code;
}

int job_interact(const struct command *c, struct client *client, struct jobspec *s)
{
	struct reply r = {0};
	struct pty_client p;
	struct err err;

	const struct sigaction leave = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART},
			       plain = {.sa_handler = SIG_DFL};
	static const int leaving[] = {SIGINT, SIGTERM, SIGHUP};

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return command_fail(c, "-I needs a terminal: leave it out to hand in a script");
	if (pty_listen(&p, &err) < 0)
		return command_fail(c, "%s", err.text);
	jobspec_text(s, "interactive", p.path);
	for (size_t i = 0; i < sizeof leaving / sizeof *leaving; i++) /* poll() ends by them all the same */
		sigaction(leaving[i], &leave, NULL);
	int code = job_submit(c, client, s, &r);
	if (code == EXIT_OK) {
		const char *id = object_text(r.json, "id");
		printf("qsub: waiting for job %s to start\n", id);
		fflush(stdout);
		bool there = terminal_await(c, client, id, p.fd, &code) > 0;
		for (size_t i = 0; i < sizeof leaving / sizeof *leaving; i++)
			sigaction(leaving[i], &plain, NULL);
		if (there)
			code = terminal_serve(c, &p, id);
	}
	reply_fini(&r);
	pty_close(&p);
	return code;
}
