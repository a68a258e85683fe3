/*
 * up.c - `shunt up`: can be run at any time. Leaves running programs alone, and starts those that
 * died.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/instance.h"

#define UP_SECONDS 60

struct up_arguments {
	const char *nodes, *conf;
	bool system;
};

static const struct option up_options[] = {
	OPTION_ROW(
		TEXT, 0, "nodes", offsetof(struct up_arguments, nodes), "NODES",
		"nodes that this machine is divided into: 4x8 is four of 8 CPUs, parts:8,8,16 partitions A, B and C with 8, 8 and 16 nodes of one CPU; if not given: as last time, at first one with the CPUs it has (auto)"),
	OPTION_ROW(FILE, 0, "conf", offsetof(struct up_arguments, conf), "FILE",
		   "another configuration file than the instance's own"),
	OPTION_ROW(FLAG, 0, "system", offsetof(struct up_arguments, system), NULL,
		   "the system's server instead of your own (needs root)"),
	{0},
};

/* Returns the last value of --nodes, so that a restarted instance has the same nodes; NULL: none.
 * The caller frees it. */
static char *nodes_recall(const struct where *w)
{
	char text[4096] = "", path[PATH_MAX];

	snprintf(path, sizeof path, "%s/up.nodes", w->state);
	FILE *f = fopen(path, "r");
	bool good = f && fgets(text, sizeof text, f);
	if (f)
		fclose(f);
	text[strcspn(text, "\n")] = '\0';
	return good && text[0] ? mem_strdup(text) : NULL;
}

static void nodes_remember(const struct where *w, const char *nodes)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/up.nodes", w->state);
	FILE *f = fopen(path, "w");
	if (f) {
		fprintf(f, "%s\n", nodes);
		fclose(f);
	}
}

/* Starts the server and waits until it is in the background or has failed; it prints the reason
 * itself. */
static int program_start(const struct command *c, const char *path, const struct up_arguments *a, const char *nodes)
{
	const char *word[8] = {path};
	int n = 1, status;

	if (nodes) {
		word[n++] = "--nodes";
		word[n++] = nodes;
	}
	if (a->conf) {
		word[n++] = "--conf";
		word[n++] = a->conf;
	}
	if (a->system)
		word[n++] = "--system";
	fflush(stdout);
	pid_t pid = fork();
	if (pid < 0)
		return command_fail(c, "no process can be started: %s", strerror(errno));
	if (pid == 0) {
		execv(path, (char *const *)word);
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? EXIT_OK : EXIT_FAILED;
}

static int program_run(const struct command *c, const struct up_arguments *a, const struct where *w)
{
	char *before = a->system || a->nodes ? NULL : nodes_recall(w);
	struct strbuf path = {0};
	int code;

	if (!program_find("shuntd", &path))
		code = command_fail(
			c, "shuntd is not found beside this program nor in $PATH: install it ('make install')");
	else
		code = program_start(c, path.text, a, a->nodes ? a->nodes : before);
	if (code == EXIT_OK && a->nodes && !a->system)
		nodes_remember(w, a->nodes);
	strbuf_fini(&path);
	free(before);
	return code;
}

/* Waits for an answer, and starts the server once nobody holds its lock: one that was just started
 * may not listen yet, and one that was just killed may not be gone yet. */
static int server_start(const struct command *c, const struct up_arguments *a, const struct where *w, struct reply *ret)
{
	bool started = false;
	struct err err;
	int code;

	for (int i = 0; i < UP_SECONDS * 1000 / LOOK_MS; i++) {
		if (!started && !server_lives(w)) {
			if ((code = program_run(c, a, w)) != EXIT_OK)
				return code;
			started = true;
		}
		if (server_ask(w, ret, &err))
			return EXIT_OK;
		reply_fini(ret);
		poll(NULL, 0, LOOK_MS);
	}
	return command_fail(c, "%s but does not answer: %s; its log is %s",
			    started ? "the server was started" : "a server is there", err.text, w->log);
}

static int up(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct up_arguments *a = arguments;
	struct reply r = {0};
	struct where w;
	struct err err;
	int code = EXIT_OK;

	if (where_get(a->system, &w, &err) < 0)
		return command_fail(c, "%s", err.text);
	if (server_ask(&w, &r, &err)) {
		printf("It runs already.\n");
		if (a->nodes)
			printf("(--nodes counts when it starts: 'shunt down', then 'shunt up --nodes %s'.)\n",
			       a->nodes);
	} else {
		code = server_start(c, a, &w, &r);
	}
	if (code == EXIT_OK) {
		server_print(r.json);
		printf("\nSubmit a job with 'qsub script.sh' or 'shunt submit -- hostname', see it with 'shunt queue',\n"
		       "stop the server with 'shunt down'.\n");
		if (!a->system)
			page_print(&w);
	}
	reply_fini(&r);
	return code;
}

const struct command command_up = {
	.name = "up",
	.about = "Start this user's server, unless it is running.",
	.details =
		"Needs no root and no configuration. State is kept under $XDG_STATE_HOME (~/.local/state/shunt), or all under "
		"$SHUNT_HOME if that is set. A server that died is started again, with all its jobs.",
	.examples = EXAMPLES({"shunt up", "This machine as one node."},
			     {"shunt up --nodes 4x8", "As four nodes of 8 CPUs."},
			     {"SHUNT_HOME=/tmp/try shunt up", "Another instance, with everything under /tmp/try."}),
	OPTIONS(struct up_arguments, up_options),
	.run = up,
	.alone = true,
};
