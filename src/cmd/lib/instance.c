/*
 * instance.c - the server of this instance seen from outside, and `shunt status`.
 */
#include "cmd/lib/instance.h"
#include "base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/timetext.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/object.h"
#include "cmd/lib/show.h"

static bool program_at(struct strbuf *path, const char *dir, const char *name)
{
	strbuf_clear(path);
	strbuf_printf(path, "%s/%s", dir, name);
	return access(path->text, X_OK) == 0;
}

bool program_find(const char *name, struct strbuf *ret_path)
{
	const char *list = getenv("PATH");
	char beside[PATH_MAX];

	if (program_beside(name, beside, sizeof beside, NULL) == 0) {
		strbuf_clear(ret_path);
		strbuf_puts(ret_path, beside);
		return true;
	}
	for (const char *p = list ? list : ""; *p; p += *p == ':') {
		char dir[PATH_MAX];
		size_t length = strcspn(p, ":");
		snprintf(dir, sizeof dir, "%.*s", (int)length, p);
		p += length;
		if (program_at(ret_path, dir[0] ? dir : ".", name))
			return true;
	}
	return false;
}

/* Adds an option to a command line, as it was given. */
static void option_pass(const struct option *o, const char *arguments, struct texts *line)
{
	const void *at = arguments + o->at;
	const char *text = NULL;
	char number[32];

	if (o->kind == OPTION_NUMBER || o->kind == OPTION_SECONDS) {
		snprintf(number, sizeof number, "%lld", (long long)*(const int64_t *)at);
		text = *number == '-' ? NULL : number;
	} else if (o->kind != OPTION_FLAG) {
		text = *(const char *const *)at;
	}
	if (!text && !(o->kind == OPTION_FLAG && *(const bool *)at))
		return;
	struct strbuf word = {0};
	strbuf_printf(&word, "--%s%s%s", o->name, text ? "=" : "", text ? text : "");
	texts_push(line, word.text);
}

int program_become(const struct command *c, const char *name, const char *const *words, const void *arguments)
{
	struct strbuf program = {0};
	struct texts line = {0};

	if (!program_find(name, &program))
		return command_fail(c, "%s is not found beside this program nor in $PATH: install it ('make install')",
				    name);
	texts_push(&line, program.text);
	for (; *words; words++)
		texts_push(&line, *words);
	for (const struct option *o = c->options; o && o->name && arguments; o++)
		option_pass(o, arguments, &line);
	texts_push(&line, NULL);
	fflush(stdout);
	execv(program.text, (char *const *)line.v);
	return command_fail(c, "%s: %s", program.text, strerror(errno));
}

int where_get(bool system, struct where *ret, struct err *err)
{
	return system ? where_system(ret, err) : where_personal(ret, err);
}

/* Marks an answer that another server gave to a request on this machine: programs that read it must
 * know. */
static void standby_note(const struct client *client, struct reply *r)
{
	if (client_standby(client) && r->json)
		json_object_set_new(r->json, "here",
				    json_pack("{s:s,s:s}", "address", client_standby(client), "role", "standby"));
}

int server_open(const struct where *w, struct client **ret, struct err *err)
{
	struct strbuf path = {0};

	strbuf_printf(&path, "%s/shuntd.sock", w->run);
	int rc = client_open_at(path.text, ret, err);
	strbuf_fini(&path);
	return rc;
}

bool server_ask(const struct where *w, struct reply *ret, struct err *err)
{
	struct client *client;

	*ret = (struct reply){0};
	bool good = server_open(w, &client, err) == 0;
	if (good) {
		client_patience(client, 0); /* do not wait: the question is whether it runs */
		good = client_ask(client, "GET", "/v1/server", NULL, 0, ret, err) == 0;
		standby_note(client, ret);
		client_close(client);
	}
	return good;
}

/* The lock on the file decides: the process id alone may belong to another process by now. */
bool server_lives(const struct where *w)
{
	struct strbuf path = {0};

	strbuf_printf(&path, "%s/shuntd.pid", w->run);
	int fd = open(path.text, O_RDONLY | O_CLOEXEC);
	bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	if (fd >= 0)
		close(fd);
	strbuf_fini(&path);
	return held;
}

static void counts_print(const json_t *server)
{
	const json_t *counts = json_object_get(server, "counts");
	long long waiting = 0;

	for (const char *const *s = (const char *const[]){"Q", "H", "W", NULL}; *s; s++)
		waiting += object_number(counts, *s, 0);
	printf("Jobs:   %lld running, %lld waiting\n", (long long)object_number(counts, "R", 0), waiting);
}

/* Prints how accurate the expected starts were. */
static void forecast_print(const json_t *server)
{
	int64_t starts = object_number(server, "forecast.starts", 0), late = object_number(server, "forecast.late", 0);
	char off[40];

	if (starts > 0)
		printf("Starts: %lld forecast, %s off on average; %lld of them were later\n", (long long)starts,
		       duration_human(object_number(server, "forecast.error", 0), off, sizeof off), (long long)late);
}

/* Prints the servers of which one can take over from another. */
static void servers_print(const json_t *server)
{
	const json_t *list = json_object_get(server, "servers");
	int64_t now = object_number(server, "now", 0);

	if (json_array_size(list) < 2)
		return;
	printf("Leader: %s\n", object_text(json_array_get(list, 0), "address"));
	printf("Others: ");
	for (size_t i = 1; i < json_array_size(list); i++) {
		const json_t *x = json_array_get(list, i);
		const char *role = object_text(x, "role"), *address = object_text(x, "address");
		char span[40];
		duration_format(now - object_number(x, "seen", now), span, sizeof span);
		printf(i > 1 ? ", %s " : "%s ", address);
		if (strcmp(role, "silent") == 0)
			printf("not seen for %s", span);
		else
			printf("%s", strcmp(role, "standby") == 0 ? "stands by" : "is stopped");
	}
	putchar('\n');
}

void server_print(const json_t *server)
{
	int64_t started = object_number(server, "started", 0);
	const json_t *here = json_object_get(server, "here");
	char since[40];

	if (here)
		printf("The server of this machine, %s, stands by. What follows is the leader's.\n\n",
		       object_text(here, "address"));
	printf("Server: %s, since %s, process %lld\n", object_text(server, "name"),
	       instant_format(started, since, sizeof since), (long long)object_number(server, "pid", 0));
	printf("Nodes:  %lld, with %lld CPU%s, %lld in use\n", (long long)object_number(server, "nodes", 0),
	       (long long)object_number(server, "cpus", 0), object_number(server, "cpus", 0) == 1 ? "" : "s",
	       (long long)object_number(server, "cpus_used", 0));
	counts_print(server);
	forecast_print(server);
	servers_print(server);
	printf("State:  %s\n", object_text(server, "state_directory"));
	printf("Log:    %s\n", object_text(server, "log"));
}

struct status_arguments {
	bool json, system;
};

static const struct option status_options[] = {
	OPTION_ROW(FLAG, 0, "json", offsetof(struct status_arguments, json), NULL, "print JSON"),
	OPTION_ROW(FLAG, 0, "system", offsetof(struct status_arguments, system), NULL,
		   "the system's server, even if your own runs"),
	{0},
};

/* Asks the system's server, regardless of others. */
static int status_system(const struct command *c, struct reply *ret)
{
	struct where w;
	struct err err;

	if (where_system(&w, &err) < 0 || !server_ask(&w, ret, &err))
		return command_fail(c, "%s", err.text);
	return EXIT_OK;
}

static int status_chosen(const struct command *c, struct reply *ret)
{
	struct client *client;
	int code = EXIT_OK;

	if (!show_open(c, &client))
		return EXIT_FAILED;
	client_patience(client, 0); /* do not wait: the question is whether it runs */
	show_get(c, client, "/v1/server", ret, &code);
	standby_note(client, ret);
	client_close(client);
	return code;
}

static int status(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct status_arguments *a = arguments;
	struct reply r = {0};
	int code = a->system ? status_system(c, &r) : status_chosen(c, &r);

	if (code == EXIT_OK && a->json)
		show_json(r.json);
	else if (code == EXIT_OK)
		server_print(r.json);
	reply_fini(&r);
	return code;
}

const struct command command_status = {
	.name = "status",
	.about = "Show whether the server is running, with its nodes and jobs.",
	.details = "Exits with 0 if a server answers, else with 1.",
	OPTIONS(struct status_arguments, status_options),
	.run = status,
};
