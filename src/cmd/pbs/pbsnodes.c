/*
 * pbsnodes.c - `pbsnodes`: shows nodes as PBS does, and takes them out of service and back.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"
#include "cmd/pbs/pbsattr.h"

#define INDENT 5

struct arguments {
	bool all, list, offline, force, clear, reset, notes, xml, vnodes, quiet, summary;
	const char *note, *format, *delimiter, *server;
};

#define AT(field) offsetof(struct arguments, field)
static const struct option options[] = {
	FLAG('a', "all", all, "all nodes, and everything about them; also without any option"),
	FLAG('l', "list", list,
	     "a line each of nodes that are down or offline; or of those in the state that is named first: free, offline, down, busy, up, active, all"),
	FLAG('n', "notes", notes, "with -l: show notes as well"),
	FLAG('o', "offline", offline, "take the nodes out of service: running jobs end, no others start"),
	FLAG(0, "force", force, "with -o: even if that breaks guaranteed deadlines"),
	FLAG('c', "clear", clear, "bring them back"),
	FLAG('r', "reset", reset, "bring them back"),
	OPTION(TEXT, 'N', "note", note, "TEXT", "set the nodes' note; n or an empty text removes it"),
	FLAG('x', "xml", xml, "XML, as TORQUE's"),
	OPTION(WORD, 'F', "format", format, "json|dsv|default", "JSON or one line each, as PBS Pro's",
	       .words = "json dsv default"),
	OPTION(TEXT, 'D', "delimiter", delimiter, "TEXT", "what separates the values of -F dsv", .initial = "|"),
	FLAG('S', "summary", summary, "a table, as PBS Pro's"),
	FLAG('v', "vnodes", vnodes, "accepted for PBS Pro's sake: nodes are what it calls vnodes"),
	FLAG('q', "quiet", quiet, "say nothing of failures"),
	OPTION(TEXT, 's', "-s", server, "SERVER", "accepted for TORQUE's sake"),
	{0},
};

struct nodes {
	const struct command *command;
	const struct arguments *a;
	struct client *client;
	int code;
};

static void failed(struct nodes *n, const struct err *err)
{
	if (!n->a->quiet)
		command_fail(n->command, "%s", err->text);
	n->code = EXIT_FAILED;
}

/* Returns the named nodes, or all, as a new array. */
static json_t *nodes_read(struct nodes *n, char *const *names, int count)
{
	json_t *all = json_array();
	struct err err;

	for (int i = 0; i < count || i == 0; i++) {
		struct reply reply = {0};
		const char *path = count ? api_path("/v1/nodes/%s", names[i]) : "/v1/nodes";
		if (client_ask(n->client, "GET", path, NULL, 0, &reply, &err) < 0)
			failed(n, &err);
		else if (count)
			json_array_append(all, reply.json);
		else
			json_array_extend(all, json_is_array(reply.json) ? reply.json
									 : json_object_get(reply.json, "nodes"));
		reply_fini(&reply);
	}
	return all;
}

static void nodes_change(struct nodes *n, char *const *names, int count)
{
	const struct arguments *a = n->a;
	json_t *change = json_object();
	struct err err;

	if (a->offline || a->clear || a->reset)
		json_object_set_new(change, "state", json_stringn(a->offline ? "offline" : "free", a->offline ? 7 : 4));
	if (a->force)
		json_object_set_new(change, "force", json_true());
	if (a->note) {
		const char *note = strcmp(a->note, "n") == 0 ? "" : a->note;
		json_object_set_new(change, "note", json_stringn(note, strlen(note)));
	}
	for (int i = 0; i < count; i++)
		if (client_ask_json(n->client, "PATCH", api_path("/v1/nodes/%s", names[i]), change, NULL, &err) < 0)
			failed(n, &err);
	json_decref(change);
}

static void text_print(const json_t *all, enum pbs_family family)
{
	struct pbsattrs attrs = {0};
	struct strbuf out = {0};
	const json_t *node;
	size_t i;

	json_array_foreach(all, i, node)
	{
		pbsattrs_clear(&attrs);
		pbsattr_node(&attrs, node, family);
		strbuf_printf(&out, "%s\n", object_text(node, "name"));
		pbsattr_text(&attrs, INDENT, 0, &out);
		strbuf_puts(&out, "\n");
	}
	fputs(strbuf_text(&out), stdout);
	strbuf_fini(&out);
	pbsattrs_fini(&attrs);
}

static void xml_print(const json_t *all)
{
	struct pbsattrs attrs = {0};
	struct strbuf out = {0};
	const json_t *node;
	size_t i;

	json_array_foreach(all, i, node)
	{
		pbsattrs_clear(&attrs);
		pbsattr_node(&attrs, node, PBS_TORQUE);
		strbuf_puts(&out, "<Node><name>");
		xml_quote(object_text(node, "name"), &out);
		strbuf_puts(&out, "</name>");
		pbsattr_xml(&attrs, &out);
		strbuf_puts(&out, "</Node>");
	}
	printf("<Data>%s</Data>\n", strbuf_text(&out));
	strbuf_fini(&out);
	pbsattrs_fini(&attrs);
}

static void json_print(struct nodes *n, const json_t *all)
{
	json_t *nodes = json_object();
	struct pbsattrs attrs = {0};
	struct reply server = {0};
	const json_t *node;
	size_t i;

	json_array_foreach(all, i, node)
	{
		pbsattrs_clear(&attrs);
		pbsattr_node(&attrs, node, PBS_PRO);
		json_object_set_new(nodes, object_text(node, "name"), pbsattr_json(&attrs));
	}
	client_ask(n->client, "GET", "/v1/server", NULL, 0, &server, NULL);
	json_t *root = json_pack("{s:I, s:s, s:s, s:o}", "timestamp", (json_int_t)time(NULL), "pbs_version",
				 SHUNT_VERSION, "pbs_server", object_text(server.json, "name"), "nodes", nodes);
	json_dumpf(root, stdout, JSON_INDENT(4));
	putchar('\n');
	json_decref(root);
	reply_fini(&server);
	pbsattrs_fini(&attrs);
}

static void dsv_print(const json_t *all, const char *delimiter)
{
	struct pbsattrs attrs = {0};
	struct strbuf line = {0};
	const json_t *node;
	size_t i;

	json_array_foreach(all, i, node)
	{
		pbsattrs_clear(&attrs);
		strbuf_clear(&line);
		pbsattr_node(&attrs, node, PBS_PRO);
		pbsattr_dsv(&attrs, delimiter, &line);
		printf("Name=%s%s%s\n", object_text(node, "name"), delimiter, strbuf_text(&line));
	}
	strbuf_fini(&line);
	pbsattrs_fini(&attrs);
}

static void summary_print(const json_t *all)
{
	const json_t *node;
	size_t i;

	printf("vnode           state           njobs  ncpus f/t  comment\n"
	       "--------------- --------------- ------ ---------- ---------\n");
	json_array_foreach(all, i, node)
	{
		int64_t cpus = object_number(node, "cpus", 0), used = object_number(node, "cpus_used", 0);
		const char *note = object_text(node, "note");
		char share[40], state[64];
		snprintf(share, sizeof share, "%lld/%lld", (long long)(cpus - used), (long long)cpus);
		printf("%-15.15s %-15.15s %6zu %10s %s\n", object_text(node, "name"),
		       pbs_node_state(object_text(node, "state"), "job-busy", state, sizeof state),
		       json_array_size(json_object_get(node, "jobs")), share, *note ? note : "--");
	}
}

static const char state_words[] = " free offline down busy job-exclusive up active all ";

static bool is_state(const char *word)
{
	char padded[40];

	snprintf(padded, sizeof padded, " %.30s ", word);
	return strstr(state_words, padded);
}

static bool state_fits(const char *state, const char *wanted)
{
	bool out = strstr(state, "offline") || strstr(state, "down");

	if (!wanted)
		return out;
	if (strcmp(wanted, "all") == 0)
		return true;
	if (strcmp(wanted, "up") == 0)
		return !out;
	if (strcmp(wanted, "active") == 0 || strcmp(wanted, "busy") == 0)
		wanted = "job-exclusive";
	return strstr(state, wanted);
}

static void list_print(const json_t *all, const char *wanted, bool notes)
{
	const json_t *node;
	size_t i;

	json_array_foreach(all, i, node)
	{
		const char *note = object_text(node, "note");
		char state[64];
		pbs_node_state(object_text(node, "state"), "job-exclusive", state, sizeof state);
		if (!state_fits(state, wanted))
			continue;
		if (notes && *note)
			printf("%-20.20s %-26.26s %s\n", object_text(node, "name"), state, note);
		else
			printf("%-20.20s %s\n", object_text(node, "name"), state);
	}
}

static void nodes_show(struct nodes *n, char *const *names, int count)
{
	const struct arguments *a = n->a;
	const char *wanted = NULL;

	if (a->list && count > 0 && is_state(names[0])) {
		wanted = *names++;
		count--;
	}
	json_t *all = nodes_read(n, names, count);
	if (a->list)
		list_print(all, wanted, a->notes);
	else if (a->xml)
		xml_print(all);
	else if (a->format && strcmp(a->format, "json") == 0)
		json_print(n, all);
	else if (a->format && strcmp(a->format, "dsv") == 0)
		dsv_print(all, a->delimiter);
	else if (a->summary)
		summary_print(all);
	else
		text_print(all, PBS_BOTH);
	json_decref(all);
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	struct nodes n = {.command = c, .a = a};
	bool change = a->offline || a->clear || a->reset || a->note;

	if (a->offline && (a->clear || a->reset))
		return command_misused(c, "-o takes nodes out of service, -c and -r bring them back: give one of them");
	if (change && operands->n == 0)
		return command_misused(c, "which nodes? Name them after the options, as in pbsnodes -o n3");
	if (!show_open(c, &n.client))
		return EXIT_FAILED;
	if (change)
		nodes_change(&n, operands->v, operands->n);
	else
		nodes_show(&n, operands->v, operands->n);
	client_close(n.client);
	return n.code;
}

const struct command command_pbsnodes = {
	.name = "pbsnodes",
	.own = true,
	.operands = "[NODE]...",
	.about = "Show nodes, take them out of service and bring them back.",
	.examples = EXAMPLES({"pbsnodes -a", "Everything about all nodes."},
			     {"pbsnodes -l -n", "Nodes out of service, and why."},
			     {"pbsnodes -o -N 'new disk' n3", "Take n3 out of service, with a note."}),
	OPTIONS(struct arguments, options),
	.run = run,
};
