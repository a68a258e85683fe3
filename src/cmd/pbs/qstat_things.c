/*
 * qstat_things.c - queues and the server: qstat -Q, -q and -B.
 */
#include <inttypes.h>
#include <string.h>

#include "cmd/pbs/pbsattr.h"
#include "cmd/pbs/qstat.h"

#define WRAP 78

static int64_t count(const json_t *thing, const char *letters)
{
	int64_t n = 0;

	for (; *letters; letters++)
		n += object_number(json_object_get(thing, "counts"), (char[]){*letters, '\0'}, 0);
	return n;
}

/* Returns the value that is set, or the default. */
static const json_t *attribute_value(const json_t *thing, const char *name)
{
	const json_t *value = json_object_get(json_object_get(thing, "attributes"), name);

	return value ? value : json_object_get(json_object_get(thing, "defaults"), name);
}

static const char *attribute(const json_t *thing, const char *name)
{
	const char *text = json_string_value(attribute_value(thing, name));

	return text ? text : "";
}

static bool is_true(const json_t *thing, const char *name)
{
	const json_t *value = attribute_value(thing, name);
	const char *text = json_string_value(value);

	return json_is_true(value) || (text && strchr("TtYy1", *text));
}

static bool wants_json(const struct qstat *q)
{
	return q->a->format && strcmp(q->a->format, "json") == 0;
}

/* Prints a queue or the server for -f. */
static void full_print(const struct qstat *q, const char *what, const json_t *thing, struct pbsattrs *attrs,
		       json_t *json)
{
	struct strbuf text = {0};

	if (wants_json(q)) {
		json_object_set_new(json, object_text(thing, "name"), pbsattr_json(attrs));
	} else if (q->a->format && strcmp(q->a->format, "dsv") == 0) {
		pbsattr_dsv(attrs, q->a->delimiter, &text);
		printf("%s: %s%s%s\n", what, object_text(thing, "name"), q->a->delimiter, strbuf_text(&text));
	} else {
		pbsattr_text(attrs, 4, q->a->one_line ? 0 : WRAP, &text);
		printf("%s: %s\n%s\n", what, object_text(thing, "name"), strbuf_text(&text));
	}
	strbuf_fini(&text);
	pbsattrs_clear(attrs);
}

static void queue_line(const json_t *queue, bool heading)
{
	const char *type = attribute(queue, "queue_type"), *max = attribute(queue, "max_running");

	if (heading)
		printf("Queue              Max    Tot   Ena   Str   Que   Run   Hld   Wat   Trn   Ext T   Cpt\n"
		       "----------------   ---   ----    --    --   ---   ---   ---   ---   ---   --- -   ---\n");
	printf("%-16.16s %5.5s %6" PRId64 " %5s %5s %5" PRId64 " %5" PRId64 " %5" PRId64 " %5" PRId64 " %5d %5" PRId64
	       " %.1s %5" PRId64 "\n",
	       object_text(queue, "name"), *max ? max : "0", count(queue, "QRBSHWEC"),
	       is_true(queue, "enabled") ? "yes" : "no", is_true(queue, "started") ? "yes" : "no", count(queue, "Q"),
	       count(queue, "RBS"), count(queue, "H"), count(queue, "W"), 0, count(queue, "E"), *type ? type : "E",
	       count(queue, "C"));
}

/* Returns the queues that the operands name, or all, as an array that the caller frees. */
static json_t *queues_read(struct qstat *q)
{
	json_t *all = json_array();
	struct err err;

	for (int i = 0; i < q->operands->n || i == 0; i++) {
		const char *operand = q->operands->n ? q->operands->v[i] : "";
		struct reply reply = {0};
		char name[256];
		snprintf(name, sizeof name, "%.*s", (int)strcspn(operand, "@"), operand);
		const char *path = name[0] ? api_path("/v1/queues/%s", name) : "/v1/queues";
		if (client_ask(q->client, "GET", path, NULL, 0, &reply, &err) < 0)
			qstat_failed(q, *operand ? operand : NULL, &err);
		else if (name[0])
			json_array_append(all, reply.json);
		else
			json_array_extend(all, json_is_array(reply.json) ? reply.json
									 : json_object_get(reply.json, "queues"));
		reply_fini(&reply);
	}
	return all;
}

void qstat_queues(struct qstat *q)
{
	json_t *all = queues_read(q), *queue;
	struct pbsattrs attrs = {0};
	json_t *json = json_object();
	size_t i;
	bool full = q->a->full || wants_json(q);

	json_array_foreach(all, i, queue)
	{
		if (!full) {
			queue_line(queue, i == 0);
			continue;
		}
		pbsattr_queue(&attrs, queue, PBS_BOTH);
		full_print(q, "Queue", queue, &attrs, json);
	}
	if (wants_json(q))
		qstat_json(q, "Queue", json);
	pbsattrs_fini(&attrs);
	json_decref(json);
	json_decref(all);
}

static const char *limit(const json_t *queue, const char *name, const char *none)
{
	const char *text = attribute(queue, name);

	return *text ? text : none;
}

void qstat_queue_limits(struct qstat *q)
{
	json_t *all = queues_read(q), *queue;
	int64_t running = 0, waiting = 0;
	size_t i;

	printf("\nserver: %s\n\n"
	       "Queue            Memory CPU Time Walltime Node  Run Que Lm  State\n"
	       "---------------- ------ -------- -------- ----  --- --- --  -----\n",
	       qstat_server(q));
	json_array_foreach(all, i, queue)
	{
		printf("%-16.16s %6.6s %8.8s %8.8s %5.5s %3" PRId64 " %3" PRId64 " %2.2s   %c %c\n",
		       object_text(queue, "name"), limit(queue, "resources_max.mem", "--  "),
		       limit(queue, "resources_max.cput", "--   "), limit(queue, "resources_max.walltime", "--   "),
		       limit(queue, "resources_max.nodect", "-- "), count(queue, "RBS"), count(queue, "QHW"),
		       limit(queue, "max_running", "--"), is_true(queue, "enabled") ? 'E' : 'D',
		       is_true(queue, "started") ? 'R' : 'S');
		running += count(queue, "RBS");
		waiting += count(queue, "QHW");
	}
	printf("                                               ----- -----\n"
	       "                                               %5" PRId64 " %5" PRId64 "\n",
	       running, waiting);
	json_decref(all);
}

static void server_line(const json_t *server)
{
	const char *max = attribute(server, "max_running"), *state = object_text(server, "state");

	printf("Server             Max   Tot   Que   Run   Hld   Wat   Trn   Ext   Com Status\n"
	       "----------------   ---   ---   ---   ---   ---   ---   ---   ---   --- ----------\n"
	       "%-16.16s %5.5s %5" PRId64 " %5" PRId64 " %5" PRId64 " %5" PRId64 " %5" PRId64 " %5d %5" PRId64
	       " %5" PRId64 " %s\n",
	       object_text(server, "name"), *max ? max : "0", count(server, "QRBSHWEC"), count(server, "Q"),
	       count(server, "RBS"), count(server, "H"), count(server, "W"), 0, count(server, "E"), count(server, "C"),
	       strcmp(state, "idle") == 0	   ? "Idle"
	       : strcmp(state, "terminating") == 0 ? "Terminatin"
						   : "Active");
}

void qstat_servers(struct qstat *q)
{
	struct pbsattrs attrs = {0};
	struct reply reply;
	int code = EXIT_OK;

	if (!show_get(q->command, q->client, "/v1/server", &reply, &code)) {
		qstat_keep(q, code);
		return;
	}
	if (q->a->full || wants_json(q)) {
		json_t *json = json_object();
		pbsattr_server(&attrs, reply.json, PBS_BOTH);
		full_print(q, "Server", reply.json, &attrs, json);
		if (wants_json(q))
			qstat_json(q, "Server", json);
		json_decref(json);
	} else {
		server_line(reply.json);
	}
	pbsattrs_fini(&attrs);
	reply_fini(&reply);
}
