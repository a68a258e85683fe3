/*
 * test_keepers.c - `shunt keeper`, which requests nodes for overlays, with a server, clusters and a
 * clock that the test plays: what it asks, requests, writes and warns of, compared with keepers.txt
 * (played.h).
 *
 *	$ begin			a keeper is started; the commands after it happen while it runs
 *	$ answer {JSON}		what the server answers to its reports from now on
 *	$ tokens {JSON}		what it answers to a request's nodes
 *	$ refuse PATH CODE|-	it refuses requests below that path; -: it does not answer
 *	$ obey			it refuses nothing any more
 *	$ limits PENDING PROCESSORS SECONDS	of each cluster
 *	$ state NAME ID pending|running|ended|failed [WHY]
 *	$ prepare NAME ID NODES	the cluster is about to get the request; prints what nodes run
 *	$ over|alive NAME ID	the request is over; is something of it connected?
 *	$ warn NAME TEXT	the cluster's commands have trouble
 *	$ stuck yes|no		what is left at the clusters can't be cancelled
 *	$ missing		the agent's program is missing
 *	$ wait MS
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "bag/provider.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "client/client.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/instance.h"
#include "golden/played.h"

#define RECORDED SHUNT_ROOT "/tests/golden/keepers.txt"

enum { WORDS = 5 };

struct fake {
	struct provider base;
	struct provider_user user;
	char name[32]; /* its tag */
	VEC(struct provider_request) all;
	int polled;
	struct fake *next;
};

static struct {
	char dir[128];
	json_t *answer, *tokens;
	char *report;		    /* the last one */
	char refused[64], code[32]; /* path below which the server refuses; "": nothing */
	char last[32];		    /* code of the last answer */
	struct provider_limits limits;
	struct fake *fakes;
	bool stuck, missing;
	int64_t until_us;
} run;

/* ---- the server ---- */

int __wrap_client_open_at(const char *socket, struct client **ret, struct err *err);
int __wrap_client_open_at(const char *socket, struct client **ret, struct err *err)
{
	say("open %s", socket);
	*ret = NULL;
	return strcmp(socket, "wrong") == 0 ? err_set(err, -EINVAL, "a wrong path") : 0;
}

void __wrap_client_close(struct client *c);
void __wrap_client_close(struct client *c)
{
	say("close");
}

void __wrap_client_patience(struct client *c, int seconds);
void __wrap_client_patience(struct client *c, int seconds)
{
	say("patience %d", seconds);
}

const char *__wrap_client_code(const struct client *c);
const char *__wrap_client_code(const struct client *c)
{
	return run.last;
}

int __wrap_client_ask_json(struct client *c, const char *method, const char *path, const json_t *body,
			   struct reply *ret, struct err *err);
int __wrap_client_ask_json(struct client *c, const char *method, const char *path, const json_t *body,
			   struct reply *ret, struct err *err)
{
	char *text = json_dumps(body, JSON_COMPACT);
	bool refused = *run.refused && strncmp(path, run.refused, strlen(run.refused)) == 0;

	/* the same report is printed once */
	if (refused || !run.report || strcmp(path, "/v1/keeper") != 0 || strcmp(run.report, text) != 0)
		say("%s %s %s%s", method, path, text, refused ? ": refused" : "");
	if (strcmp(path, "/v1/keeper") == 0) {
		free(run.report);
		run.report = mem_strdup(text);
	}
	free(text);
	snprintf(run.last, sizeof run.last, "%s", refused && strcmp(run.code, "-") != 0 ? run.code : "");
	if (refused)
		return err_set(err, -EIO, "the server says no");
	if (ret)
		*ret = (struct reply){.status = 200,
				      .json = json_incref(strcmp(path, "/v1/keeper") == 0 ? run.answer : run.tokens)};
	return 0;
}

bool program_find(const char *name, struct strbuf *ret_path)
{
	if (!run.missing)
		strbuf_printf(ret_path, "/usr/sbin/it's %s", name);
	return !run.missing;
}

/* ---- the clusters ---- */

/* The keeper leaves what it holds to the end of its process. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:admin/keeper.c\n";
}

const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}

static void fake_limits(struct provider *p, struct provider_limits *ret)
{
	*ret = run.limits;
}

static int fake_request(struct provider *p, int64_t processors, int64_t seconds, struct err *err)
{
	struct fake *f = (struct fake *)p;
	struct provider_request r = {
		.id = (int)f->all.n + 1, .processors = processors, .seconds = seconds, .name = "?"};

	if (processors >= 1000)
		return err_set(err, -EINVAL, "too large");
	say("%s: request %d: %lld processors for %lld s", f->name, r.id, (long long)processors, (long long)seconds);
	vec_push(&f->all, r);
	return r.id;
}

static bool fake_look(struct provider *p, int id, struct provider_request *ret)
{
	struct fake *f = (struct fake *)p;

	if (id < 1 || id > (int)f->all.n)
		return false;
	*ret = f->all.v[id - 1];
	return true;
}

static void fake_poll(struct provider *p, int64_t now)
{
	((struct fake *)p)->polled++;
}

static void fake_joined(struct provider *p, int id)
{
	struct fake *f = (struct fake *)p;

	say("%s: request %d has joined", f->name, id);
	f->all.v[id - 1].joined = true;
}

static void fake_resume(struct provider *p)
{
	say("%s: resume", ((struct fake *)p)->name);
}

static void fake_free(struct fake *f)
{
	struct fake **at = &run.fakes;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	vec_free(&f->all);
	free(f);
}

static void fake_destroy(struct provider *p)
{
	struct fake *f = (struct fake *)p;

	say("%s: destroy after %d looks", f->name, f->polled);
	fake_free(f);
}

struct provider *__wrap_provider_create(const char *place, const struct provider_user *user,
					const struct provider_options *o, struct err *err);
struct provider *__wrap_provider_create(const char *place, const struct provider_user *user,
					const struct provider_options *o, struct err *err)
{
	static const struct provider_kind kind = {.name = "fake",
						  .limits = fake_limits,
						  .request = fake_request,
						  .look = fake_look,
						  .poll = fake_poll,
						  .joined = fake_joined,
						  .resume = fake_resume,
						  .destroy = fake_destroy};
	struct strbuf live = {0};

	for (size_t i = 0; i < o->nlive; i++)
		strbuf_printf(&live, " %d", o->live[i]);
	say("create %s: tag %s, words %s, pace %lld, %lld requests of %lld processors, %lld each, for %lld s, last %d,"
	    " live%s; once %d, in %s",
	    place, user->tag, o->words, (long long)user->pace, (long long)o->requests, (long long)o->processors,
	    (long long)o->shape.each, (long long)o->seconds, o->last, strbuf_text(&live), user->once, user->dir);
	strbuf_fini(&live);
	if (strcmp(place, "nowhere") == 0) {
		err_set(err, -EINVAL, "nowhere is not a place");
		return NULL;
	}
	struct fake *f = mem_zalloc(sizeof *f);
	*f = (struct fake){.base.kind = &kind, .user = *user, .next = run.fakes};
	snprintf(f->name, sizeof f->name, "%s", user->tag);
	for (int i = 1; i <= o->last; i++) {
		struct provider_request r = {.id = i, .state = REQUEST_ENDED, .name = "?"};
		for (size_t k = 0; k < o->nlive; k++)
			if (o->live[k] == i)
				r.state = REQUEST_RUNNING;
		vec_push(&f->all, r);
	}
	run.fakes = f;
	return &f->base;
}

int __wrap_provider_clear(const char *tag, struct err *err);
int __wrap_provider_clear(const char *tag, struct err *err)
{
	say("clear %s%s", tag, run.stuck ? ": stuck" : "");
	return run.stuck ? err_set(err, -EIO, "its jobs may still be there") : 0;
}

static struct fake *fake_find(const char *name)
{
	for (struct fake *f = run.fakes; f; f = f->next)
		if (name && strcmp(f->name, name) == 0)
			return f;
	die("no such cluster", name ? name : "?");
}

static void prepare(struct fake *f, int id, int nodes)
{
	struct strbuf command = {0}, text = {0};
	char path[200];
	struct stat s;
	struct err err;

	snprintf(path, sizeof path, "%s/key", run.dir);
	int rc = f->user.prepare(f->user.arg, &f->all.v[id - 1], nodes, path, &command, &err);
	if (rc < 0 || stat(path, &s) < 0) {
		say("not prepared: %s", err.text);
	} else {
		file_read(path, 0, 4096, &text);
		say("key, mode %o: %s", s.st_mode & 0777, strbuf_text(&text));
		say("command: %s", strbuf_text(&command));
		unlink(path);
	}
	strbuf_fini(&text);
	strbuf_fini(&command);
}

static void state_set(struct fake *f, char *const *w)
{
	static const char *const states[] = {"pending", "running", "ended", "failed"};
	struct provider_request *r = &f->all.v[atoi(w[2]) - 1];

	for (int i = 0; i < 4; i++)
		if (strcmp(w[3], states[i]) == 0)
			r->state = (enum request_state)i;
	snprintf(r->failure, sizeof r->failure, "%s", w[4] ? w[4] : "");
	if (r->state == REQUEST_RUNNING) {
		snprintf(r->name, sizeof r->name, "job-%d", r->id);
		r->planned = 0;
	} else if (r->state == REQUEST_PENDING) {
		r->planned = PLAYED_BEGIN + 60;
	}
}

/* ---- the text ---- */

static void answer_set(json_t **at, const char *text)
{
	json_decref(*at);
	*at = json_loads(text, 0, NULL);
	if (!*at)
		die("not JSON", text);
	json_object_set_new(*at, "dir", json_string(run.dir));
}

static void happens(char *line)
{
	char *w[WORDS + 1] = {0}, *rest = strchr(line, ' ');

	rest = rest ? rest + 1 : line + strlen(line);
	if (strncmp(line, "answer ", 7) == 0) {
		answer_set(&run.answer, rest);
		return;
	}
	if (strncmp(line, "tokens ", 7) == 0) {
		answer_set(&run.tokens, rest);
		return;
	}
	int n = words_split(line, w, strncmp(line, "warn ", 5) == 0 ? 3 : WORDS);
	if (strcmp(w[0], "wait") == 0 && n == 2)
		run.until_us = played->now_us + atoll(w[1]) * 1000;
	else if (strcmp(w[0], "refuse") == 0 && n == 3)
		snprintf(run.refused, sizeof run.refused, "%s", w[1]), snprintf(run.code, sizeof run.code, "%s", w[2]);
	else if (strcmp(w[0], "obey") == 0)
		*run.refused = '\0';
	else if (strcmp(w[0], "limits") == 0 && n == 4)
		run.limits = (struct provider_limits){
			.pending = atoi(w[1]), .processors = atoi(w[2]), .seconds = atoi(w[3])};
	else if (strcmp(w[0], "state") == 0 && n >= 4)
		state_set(fake_find(w[1]), w);
	else if (strcmp(w[0], "prepare") == 0 && n == 4)
		prepare(fake_find(w[1]), atoi(w[2]), atoi(w[3]));
	else if (strcmp(w[0], "over") == 0 && n == 3)
		fake_find(w[1])->user.over(fake_find(w[1])->user.arg, atoi(w[2]));
	else if (strcmp(w[0], "alive") == 0 && n == 3)
		say("alive: %d", fake_find(w[1])->user.alive(fake_find(w[1])->user.arg, atoi(w[2])));
	else if (strcmp(w[0], "warn") == 0 && n >= 3)
		fake_find(w[1])->user.warn(fake_find(w[1])->user.arg, w[2]);
	else if (strcmp(w[0], "stuck") == 0 && n == 2)
		run.stuck = strcmp(w[1], "yes") == 0;
	else
		die("no such command", line);
}

int __real_poll(struct pollfd *p, nfds_t n, int ms);
int __wrap_poll(struct pollfd *p, nfds_t n, int ms);

/* Lets time pass while it watches its server, which ends after the last line. */
int __wrap_poll(struct pollfd *p, nfds_t n, int ms)
{
	static char line[8192];

	if (n != 1 || p->fd != STDIN_FILENO)
		return __real_poll(p, n, ms);
	while (played->now_us >= run.until_us) {
		if (!played_next(line, sizeof line)) {
			say("the server has ended");
			return 1;
		}
		happens(line);
	}
	played->now_us += (int64_t)ms * 1000;
	return 0;
}

static void command(char *line)
{
	char *w[WORDS + 1] = {0};

	words_split(line, w, WORDS);
	if (strcmp(w[0], "missing") == 0) {
		run.missing = true;
		return;
	}
	if (strcmp(w[0], "begin") != 0)
		die("no such command", line);
	struct operands o = {.v = (char *[]){w[1] ? w[1] : (char *)"socket"}, .n = 1};
	say("exit code %d", command_keeper.run(&command_keeper, NULL, &o));
}

static void run_begin(const char *base, int number)
{
	json_decref(run.answer);
	json_decref(run.tokens);
	free(run.report);
	while (run.fakes) /* those of overlays that there still were at the end */
		fake_free(run.fakes);
	memset(&run, 0, sizeof run);
	if (!base)
		return;
	snprintf(run.dir, sizeof run.dir, "%s/%d", base, number);
	answer_set(&run.answer, "{\"server\": \"head:7722\", \"overlays\": []}");
	answer_set(&run.tokens, "{\"tokens\": []}");
	run.limits = (struct provider_limits){.pending = 3, .processors = 64, .seconds = 3600};
}

static void keepers(void **state)
{
	played_record(RECORDED, run_begin, command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(keepers)};

	setenv("TZ", "UTC", 1);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("keepers", tests, NULL, NULL);
}
