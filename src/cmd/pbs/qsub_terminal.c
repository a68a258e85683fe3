/*
 * qsub_terminal.c - `qsub -I`: submits a job, waits until it runs, and acts as its terminal
 * (run/pty.h).
 *
 * The connection to the job's terminal is a request to the server that leaves HTTP. If it breaks,
 * for example because the server was restarted, it is made again: our own key lets the server
 * recognize us.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/base64.h"
#include "cmd/lib/show.h"
#include "cmd/pbs/qsub.h"
#include "run/pty.h"

#define LOOK_FIRST_MS 10
/* interval at first, e.g. while others make room: someone is waiting at the terminal */
#define LOOK_SOON_MS 100
#define LOOK_LATER_MS 1000 /* interval after SOON_MS */
#define SOON_MS 60000
#define ATTACH_SECONDS 10 /* time limit of one attempt, s: the server waits for the job's side */
#define LAST_LOOKS 100	  /* checks of a job that should have ended by now */
#define LAST_LOOK_MS 100  /* interval between them */

struct seat {
	const struct command *c;
	struct client *client;
	const char *id;
	char key[33];
	int patience; /* seconds */
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
	interrupted = signal;
}

/* ---- requests ---- */

static int seat_ask(const struct seat *seat, const char *method, struct reply *ret, struct err *err)
{
	int rc;

	rc = client_ask(seat->client, method, api_path("/v1/jobs/%s", seat->id), NULL, 0, ret, err);
	return rc;
}

/* Returns the job's state letter; for 'C' *ret_code is set. 0: the server does not answer; -1: it
 * refused the request, which was reported. */
static int seat_state(const struct seat *seat, int *ret_code)
{
	struct reply r = {0};
	struct err err;
	int rc = seat_ask(seat, "GET", &r, &err), state = rc < 0 ? 0 : object_text(r.json, "state")[0];

	if (client_absent(seat->client)) { /* no server: the answer is an old copy of the queue */
		state = 0;
	} else if (rc < 0 && *client_code(seat->client)) {
		command_fail(seat->c, "%s", err.text);
		*ret_code = show_code(seat->client);
		state = -1;
	}
	if (state == 'C')
		*ret_code = job_exit_code(seat->c, r.json, seat->id);
	reply_fini(&r);
	return state;
}

/* Deletes a job whose user has left: nobody would be at its terminal. */
static void job_withdraw(const struct seat *seat)
{
	struct err err;

	if (seat_ask(seat, "DELETE", NULL, &err) < 0)
		command_fail(seat->c, "job %s could not be deleted: %s", seat->id, err.text);
	else
		printf("\nqsub: job %s deleted\n", seat->id);
}

/* Connects to the job's terminal, which speaks run/pty.h. Returns -EAGAIN if it is not ready. */
static int way_make(void *context, struct pty_way *w, struct err *err)
{
	static const char *const passing[] = {"", "unavailable", "not_leader", "too_many", "bad_state"};
	const struct seat *seat = context;

	strbuf_clear(&w->rest);
	int rc = client_upgrade(seat->client, api_path("/v1/jobs/%s/terminal?key=%s", seat->id, seat->key),
				PTY_PROTOCOL, ATTACH_SECONDS, &w->fd, &w->rest, err);
	for (size_t i = 0; rc < 0 && i < sizeof passing / sizeof *passing; i++)
		if (strcmp(client_code(seat->client), passing[i]) == 0)
			return -EAGAIN;
	return rc;
}

/* ---- waiting and serving ---- */

/* Waits for the job's terminal. Returns false if the job ended without one, or the user left;
 * *ret_code is then set. */
static bool terminal_await(const struct seat *seat, struct pty_way *w, int *ret_code)
{
	int pause = LOOK_FIRST_MS, waited = 0, unreachable = 0;
	struct err err = {.text = ""};

	for (;;) {
		int state = interrupted ? 'C' : seat_state(seat, ret_code);
		if (interrupted) { /* perhaps while it asked */
			state = 'C';
			job_withdraw(seat);
			*ret_code = 128 + interrupted;
		}
		if (state == 'C' || state < 0)
			return false;
		if (strchr("RSE", state) && state && way_make((void *)seat, w, &err) == 0)
			return true;
		unreachable = state ? 0 : unreachable + pause;
		if (unreachable > seat->patience * 1000) {
			*ret_code = command_fail(seat->c,
						 "job %s waits, but the server is gone: start it again, and 'qdel %s'",
						 seat->id, seat->id);
			return false;
		}
		poll(NULL, 0, interrupted ? 0 : pause);
		waited = waited < SOON_MS ? waited + pause : waited;
		int most = waited < SOON_MS ? LOOK_SOON_MS : LOOK_LATER_MS;
		pause = pause * 3 / 2 < most ? pause * 3 / 2 : most;
	}
}

/* Asks the server how the job ended after the terminal closed without a result. */
static int end_find(const struct seat *seat, const struct err *why)
{
	int code = EXIT_FAILED;

	for (int i = 0; i < LAST_LOOKS; i++) {
		int state = seat_state(seat, &code);
		if (state == 'C' || state < 0)
			return code;
		if (strcmp(client_code(seat->client), "") == 0 && state == 0)
			break;
		poll(NULL, 0, LAST_LOOK_MS);
	}
	return command_fail(seat->c, "job %s: %s", seat->id, why->text);
}

static int terminal_serve(const struct seat *seat, struct pty_way *w)
{
	struct arena *arena = arena_create();
	struct result result = {0};
	struct err err;
	int code;

	printf("qsub: job %s ready\n\n", seat->id);
	fflush(stdout);
	int rc = pty_serve(w, STDIN_FILENO, STDOUT_FILENO, seat->patience, arena, &result, &err);
	if (rc == -ETIMEDOUT || rc == -EIO) {
		code = command_fail(seat->c, "job %s: %s", seat->id, err.text);
	} else if (rc < 0) {
		code = end_find(seat, &err);
	} else {
		printf("\nqsub: job %s completed\n", seat->id);
		code = result.how == RESULT_EXITED ? result.status
		       : result.how == RESULT_SIGNALED
			       ? 128 + result.status
			       : command_fail(seat->c, "job %s could not be started: %s", seat->id,
					      result.reason ? result.reason : "no reason given");
	}
	arena_destroy(arena);
	return code;
}

/* ---- submitting ---- */

static void key_make(char key[33])
{
	unsigned char bytes[16];

	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		memset(bytes, 0, sizeof bytes);
	hex_encode(bytes, sizeof bytes, key);
}

static void signals_set(void (*handler)(int))
{
	static const int leaving[] = {SIGINT, SIGTERM, SIGHUP};
	const struct sigaction how = {.sa_handler = handler, .sa_flags = SA_RESTART};

	/* poll() returns on all of them */
	for (size_t i = 0; i < sizeof leaving / sizeof *leaving; i++)
		sigaction(leaving[i], &how, NULL);
}

/* Asks the user to agree to displacing other jobs; the submission then says so. */
static bool displace_agree(struct client *client, struct jobspec *s, struct err *err)
{
	char *body = json_dumps(s->job, JSON_COMPACT), line[16] = "";
	struct reply r = {0};
	int rc = client_ask(client, "POST", "/v1/whatif", body, strlen(body), &r, err);
	const json_t *who = json_object_get(r.json, "displaces");
	int64_t delay = object_number(r.json, "delay", 0);
	bool agreed = rc == 0 && json_array_size(who) == 0; /* there is room, or the server says why not */

	free(body);
	if (rc == 0 && !agreed) {
		printf("No place is free. To make room, %s stopped:",
		       json_array_size(who) > 1 ? "these jobs are" : "this job is");
		for (size_t i = 0; i < json_array_size(who); i++)
			printf(" %s", value_text(json_array_get(who, i)));
		printf("\nThis takes up to %lld s. Start your job all the same? [y/N] ", (long long)delay);
		fflush(stdout);
		agreed = fgets(line, sizeof line, stdin) && (line[0] == 'y' || line[0] == 'Y');
		err_set(err, -ECANCELED, "nothing was submitted");
	}
	if (agreed)
		json_object_set_new(s->job, "displace", json_integer(delay));
	reply_fini(&r);
	return agreed;
}

/* Submits the job. While the user is being asked, ^C ends this process and leaves nothing
 * behind. */
static int seat_submit(const struct command *c, struct client *client, struct jobspec *s, struct reply *ret)
{
	int code = EXIT_FAILED, rc;
	struct err err;

	for (;;) {
		signals_set(on_interrupt);
		rc = client_submit(client, "/v1/jobs", s->job, ret, &err);
		signals_set(SIG_DFL);
		if (rc == 0 || s->answered || strcmp(client_code(client), "would_displace") != 0)
			break;
		reply_fini(ret);
		*ret = (struct reply){0};
		if (!displace_agree(client, s, &err))
			return command_fail(c, "%s", err.text);
	}
	signals_set(on_interrupt);
	if (!show_answered(c, client, rc, &err, ret, &code))
		return code;
	job_warn(c, s, ret);
	return EXIT_OK;
}

int job_interact(const struct command *c, struct client *client, struct jobspec *s)
{
	struct reply r = {0};
	struct pty_way way = {.fd = -1, .again = way_make};
	struct seat seat = {.c = c, .client = client};

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return command_fail(
			c,
			"an interactive job needs a terminal: leave out -I, or choose another type, to submit a script");
	json_object_set_new(s->job, "interactive", json_true());
	int code = seat_submit(c, client, s, &r);
	if (code == EXIT_OK) {
		seat.id = object_text(r.json, "id");
		seat.patience = (int)object_number(r.json, "patience", PTY_PATIENCE);
		key_make(seat.key);
		way.context = &seat;
		client_patience(client, 0); /* we wait ourselves, until ^C */
		printf("qsub: waiting for job %s to start\n", seat.id);
		fflush(stdout);
		bool there = terminal_await(&seat, &way, &code);
		signals_set(SIG_DFL);
		if (there)
			code = terminal_serve(&seat, &way);
	}
	strbuf_fini(&way.rest);
	reply_fini(&r);
	return code;
}
