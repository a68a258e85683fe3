/*
 * qmgr.c - `qmgr`: changes and shows the server, its queues, nodes and named objects, in the
 * language of client/qmgr.h.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/lib/commands.h"
#include "cmd/lib/object.h"
#include "cmd/lib/query.h"
#include "cmd/pbs/qmgr.h"
#include "core/speed.h"

struct arguments {
	struct texts commands;
	bool abort, echo, check, silent, force;
};

#define AT(field) offsetof(struct arguments, field)
static const struct option options[] = {
	OPTION(TEXTS, 'c', "command", commands, "COMMANDS", "do this, instead of reading standard input"),
	FLAG('a', "abort", abort, "end at the first failure"),
	FLAG('e', "echo", echo, "print each command before its results"),
	FLAG('n', "check", check, "only check the commands: nothing is changed"),
	FLAG('z', "silent", silent, "print no errors; the exit code shows them"),
	FLAG(0, "force", force, "change it even if that breaks guaranteed deadlines"),
	{0},
};

static void language_print(void)
{
	printf("create|delete|set|unset|list|print  server|queue|node|partition|class|user|group|account|qos|reservation  [NAME,...]  [ATTRIBUTE [=|+=|-= VALUE], ...]\n"
	       "  create queue short queue_type = execution, enabled = true, started = true\n"
	       "  set queue short resources_max.walltime = 1:00:00\n"
	       "  set server managers += ann@*\n"
	       "  set node n1 state = offline\n"
	       "  create partition A nodes = n[1-8]; set partition A nodes -= n8\n"
	       "  create class mine preempt_signal = 15, exit_saves = true\n"
	       "  create account physics; create account atoms parent = physics\n"
	       "  unset queue short max_running\n"
	       "  list server; print server; list queue; print queue short\n"
	       "  help attributes; quit\n");
}

static const char *op_word(enum qmgr_op op)
{
	return op == QMGR_IS ? "set" : op == QMGR_PLUS ? "add" : op == QMGR_MINUS ? "remove" : "unset";
}

/* All changes of a command go in one request: all are made or none. */
static json_t *changes_body(const struct change *ch, const struct qmgr_command *m)
{
	json_t *list = json_array();

	for (int i = 0; i < m->nchanges; i++) {
		json_t *one = json_pack("{s:s, s:s}", "op", op_word(m->change[i].op), "name", m->change[i].name);
		if (one && m->change[i].op != QMGR_NAMED)
			json_object_set_new(one, "value", json_string(m->change[i].value));
		json_array_append_new(list, one);
	}
	return ch->force ? json_pack("{s:o,s:b}", "changes", list, "force", 1) : json_pack("{s:o}", "changes", list);
}

static bool attributes_change(struct change *ch, const char *path, const struct qmgr_command *m, const char *what)
{
	json_t *body = changes_body(ch, m);
	bool good = m->nchanges == 0 || change_ask(ch, "PATCH", path, body, what, NULL);

	json_decref(body);
	return good;
}

/* Runs a command on a queue or a named object. */
static void object_do(struct change *ch, const struct qmgr_command *m, const char *name)
{
	char *path = mem_strdup(api_path("/v1/%s/%s", qmgr_object_plural(m->object), name));
	bool good = true;

	if (m->verb == QMGR_DELETE)
		change_ask(ch, "DELETE", path, NULL, name, NULL);
	else if (m->verb == QMGR_CREATE)
		good = change_ask(ch, "PUT", path, NULL, name, NULL);
	if (m->verb != QMGR_DELETE && good && !attributes_change(ch, path, m, name) && m->verb == QMGR_CREATE)
		change_ask(ch, "DELETE", path, NULL, name, NULL); /* undo the creation */
	free(path);
}

/* Returns a node's speed as a new number; NULL after an error if it is not one. */
static json_t *speed_value(struct change *ch, const char *text)
{
	struct err err;
	uint32_t speed = SPEED_USUAL;

	if (*text && speed_parse(text, &speed, &err) < 0) {
		ch->code = command_fail(ch->c, "%s", err.text);
		return NULL;
	}
	return json_real((double)speed / SPEED_USUAL);
}

/* Returns a node's `shared` as a new boolean; NULL after an error if it is not one. */
static json_t *shared_value(struct change *ch, const char *text)
{
	int shared = *text ? truth_of(text) : 0;

	if (shared < 0) {
		ch->code = command_fail(ch->c, "shared = %s: use true or false", text);
		return NULL;
	}
	return json_boolean(shared);
}

/* Builds the body of a change to a node: its state, note, speed and `shared`. "state += offline"
 * and "-= offline" mean "=" offline and free. */
static json_t *node_body(struct change *ch, const struct qmgr_command *m)
{
	json_t *body = json_object();

	for (int i = 0; i < m->nchanges; i++) {
		const struct qmgr_change *x = &m->change[i];
		bool state = strcasecmp(x->name, "state") == 0, note = strcasecmp(x->name, "note") == 0;
		const char *value = state && x->op == QMGR_MINUS ? "free" : x->value;
		bool speed = strcasecmp(x->name, "speed") == 0;
		if (speed || strcasecmp(x->name, "shared") == 0) {
			json_t *v = (speed ? speed_value : shared_value)(ch, m->verb == QMGR_UNSET ? "" : value);
			if (!v) {
				json_decref(body);
				return NULL;
			}
			json_object_set_new(body, speed ? "speed" : "shared", v);
			continue;
		}
		if (!state && !note && strcasecmp(x->name, "comment") != 0) {
			ch->code = command_fail(
				ch->c,
				"%s: of a node state, note, speed and shared can be set; the rest is what it has (the "
				"configuration file's \"nodes\")",
				x->name);
			json_decref(body);
			return NULL;
		}
		json_object_set_new(body, state ? "state" : "note", json_string(value));
	}
	return body;
}

static void node_do(struct change *ch, const struct qmgr_command *m, const char *name)
{
	if (m->verb == QMGR_CREATE || m->verb == QMGR_DELETE) {
		ch->code =
			command_fail(ch->c,
				     "%s node %s: which nodes there are is said in the configuration file (\"nodes\"), "
				     "or by 'shunt up --nodes'",
				     qmgr_verb_name(m->verb), name);
		return;
	}
	json_t *body = node_body(ch, m);
	if (body && ch->force)
		json_object_set_new(body, "force", json_true());
	if (body)
		change_ask(ch, "PATCH", api_path("/v1/nodes/%s", name), body, name, NULL);
	json_decref(body);
}

/* Prints the server's table of attributes ("help attributes"). */
static void attributes_print(struct change *ch)
{
	struct reply r = {0};
	json_t *row, *of;
	size_t i, k;

	if (!change_ask(ch, "GET", "/v1/attributes", NULL, NULL, &r))
		return;
	json_array_foreach(json_object_get(r.json, "attributes"), i, row)
	{
		const char *initial = json_string_value(json_object_get(row, "default"));
		printf("%s (", object_text(row, "name"));
		json_array_foreach(json_object_get(row, "of"), k, of) printf("%s%s", k ? ", " : "", value_text(of));
		printf("; %s%s%s)\n    ", object_text(row, "type"), initial ? ", " : "", initial ? initial : "");
		print_wrapped(stdout, object_text(row, "about"), 4, 4);
	}
	reply_fini(&r);
}

/* The names that later commands without names refer to. */
struct active {
	struct arena *arena;
	const char **name[QMGR_OBJECTS];
	int n[QMGR_OBJECTS];
};

static void active_set(struct active *active, const struct qmgr_command *m)
{
	for (int o = QMGR_QUEUE; m->object == QMGR_NONE && o < QMGR_OBJECTS; o++)
		for (int i = 0; i < active->n[o]; i++)
			printf("%s %s\n", qmgr_object_name((enum qmgr_object)o), active->name[o][i]);
	active->name[m->object] = m->name;
	active->n[m->object] = m->nnames;
}

static void execute(struct change *ch, struct active *active, struct qmgr_command *m)
{
	if (m->verb == QMGR_HELP) {
		if (strstr(m->text, "attr"))
			attributes_print(ch);
		else
			language_print();
		return;
	}
	if (m->verb == QMGR_ACTIVE) {
		active_set(active, m);
		return;
	}
	if (m->nnames == 0 && m->object >= QMGR_QUEUE) {
		m->name = active->name[m->object];
		m->nnames = active->n[m->object];
	}
	if (m->verb == QMGR_LIST || m->verb == QMGR_PRINT) {
		qmgr_show(ch, m);
		return;
	}
	if (m->object == QMGR_SERVER)
		attributes_change(ch, "/v1/server", m, NULL);
	else if (m->nnames == 0)
		ch->code = command_fail(ch->c, "%s %s: a name is missing", qmgr_verb_name(m->verb),
					qmgr_object_name(m->object));
	for (int i = 0; i < m->nnames; i++)
		if (m->object == QMGR_NODE)
			node_do(ch, m, m->name[i]);
		else
			object_do(ch, m, m->name[i]);
}

/* Runs the commands of a text. Returns false after `quit`. */
static bool text_do(struct change *ch, const struct arguments *a, struct active *active, const char *text, size_t n)
{
	struct qmgr_command m;
	struct err err;
	int rc;

	for (size_t at = 0; (rc = qmgr_parse(text, n, &at, active->arena, &m, &err)) != 0;) {
		int before = ch->code;
		ch->code = EXIT_OK;
		if (rc > 0 && a->echo)
			printf("%s\n", m.text);
		if (rc > 0 && m.verb == QMGR_QUIT) {
			ch->code = before;
			return false;
		}
		if (rc < 0)
			ch->code = command_fail(ch->c, "%s", err.text);
		else if (!a->check)
			execute(ch, active, &m);
		fflush(stdout);
		if (ch->code != EXIT_OK && a->abort)
			return false;
		if (ch->code == EXIT_OK)
			ch->code = before;
	}
	return true;
}

/* Runs standard input line by line, so that a person sees answers; a backslash at the end joins the
 * next line. */
static void input_do(struct change *ch, const struct arguments *a, struct active *active)
{
	bool ask = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO), more = true;
	struct strbuf text = {0};
	char *line = NULL;
	size_t size = 0;
	ssize_t n;

	if (ask)
		printf("Qmgr: ");
	while (more && fflush(stdout) == 0 && (n = getline(&line, &size, stdin)) > 0) {
		strbuf_add(&text, line, (size_t)n);
		size_t end = text.n;
		while (end && strchr("\r\n", text.text[end - 1]))
			end--;
		if (end == text.n || end == 0 || text.text[end - 1] != '\\') {
			more = text_do(ch, a, active, text.text, text.n);
			strbuf_clear(&text);
		}
		if (ask && more)
			printf("Qmgr: ");
	}
	if (more && text.n)
		text_do(ch, a, active, text.text, text.n);
	free(line);
	strbuf_fini(&text);
}

/* Drops messages: at the descriptor, since the stream (screen.h) can't be opened again. */
static bool messages_drop(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && dup2(fd, STDERR_FILENO) >= 0;

	if (fd >= 0)
		close(fd);
	return done;
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	struct change ch;
	int code = EXIT_FAILED;

	if (a->silent && !messages_drop())
		return EXIT_FAILED;
	struct active active = {.arena = arena_create()};
	if (change_open(&ch, c)) {
		bool more = true;
		ch.force = a->force;
		for (int i = 0; i < a->commands.n && more; i++)
			more = text_do(&ch, a, &active, a->commands.v[i], strlen(a->commands.v[i]));
		if (a->commands.n == 0)
			input_do(&ch, a, &active);
		code = change_close(&ch);
	}
	arena_destroy(active.arena);
	return code;
}

const struct command command_qmgr = {
	.name = "qmgr",
	.operands = "[SERVER]",
	.about =
		"Change and show the server, its queues, nodes, partitions, program classes, users, groups, accounts and QoS.",
	.details =
		"Commands are 'create|delete|set|unset|list|print server|queue|node|partition|class|user|group|account|qos|reservation NAME,... ATTRIBUTE = VALUE, ...', "
		"separated by lines or ';'. += and -= add to a list and take away.",
	.examples =
		EXAMPLES({"qmgr -c 'create queue short queue_type=execution, enabled=true, started=true'", "A queue."},
			 {"qmgr -c 'set server default_queue = short'", "The queue for those who name none."},
			 {"qmgr -c 'create partition A nodes = n[1-8]'",
			  "A partition of eight nodes, which each job uses as a whole."},
			 {"qmgr -c 'print server' > saved; qmgr < saved", "Everything as commands, and back."}),
	OPTIONS(struct arguments, options),
	.run = run,
	.own = true,
};
