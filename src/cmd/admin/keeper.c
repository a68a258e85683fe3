/*
 * keeper.c - `shunt keeper`: requests nodes for overlays from other clusters. It is a process
 * beside the server, whose loop must not wait for sbatch and squeue.
 *
 * It keeps little state: the server records the requests and their nodes, so that another keeper
 * can continue where this one ended. Every second it reports the state of the requests and learns
 * what is wanted. Before a request is sent, the server gives a token for each of its nodes, which
 * their agents find in a file of this user's. The end of a request is reported before anything else
 * is requested, and its nodes are then removed.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bag/credential.h"
#include "bag/provider.h"
#include "base/logline.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "client/client.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/instance.h"
#include "cmd/lib/show.h"

enum {
	REST_MS = 200, /* between two checks of the providers, ms */
	LOOKS = 5,     /* checks between two requests to the server */
	FAILURES = 10, /* consecutive requests without a node after which it pauses */
	CLEAR_AGAIN = 60,
};

struct keep {
	struct keeper *k;
	char *name, *place, *words, *tag, *trouble;
	int64_t cpus, seconds;
	struct provider_user user;
	struct provider *provider;
	VEC(int) alive;	 /* requests with a connected node */
	int forgiven;	 /* failures of requests up to this one no longer count */
	int64_t resumed; /* number of resumes, as last reported by the server */
	int64_t clear;	 /* when to clean up its remains again */
};

struct keeper {
	struct client *home;
	char *server, *dir; /* address that agents call; directory of files */
	struct strbuf agent;
	VEC(struct keep *) list;
	int rc; /* < 0: the server does not answer */
};

/* ---- callbacks of the providers ---- */

static json_t *keep_tell(struct keep *o, json_t *body, struct err *err)
{
	struct reply r = {0};
	json_t *answer = NULL;

	int rc = client_ask_json(o->k->home, "POST", api_path("/v1/keeper/%s", o->name), body, &r, err);
	if (rc == 0)
		answer = json_incref(r.json);
	else if (!*client_code(o->k->home))
		o->k->rc = rc;
	json_decref(body);
	reply_fini(&r);
	return answer;
}

/* The agent's home on its node. It contains a file that stays locked while this shell or the agent
 * lives: once both were killed, a process beside them removes the home, or if that was killed as
 * well, the next agent of the same user there (as in bag/workdir.h). The lock is held before it can
 * be found: agents that start at the same time leave each other alone. */
static const char home_script[] =
	"umask 077; tmp=${TMPDIR:-/tmp}\n"
	"if command -v flock > /dev/null; then for old in \"$tmp\"/shunt-agent-??????; do\n"
	"[ ! -d \"$old\" ] || [ -L \"$old\" ] || [ ! -O \"$old\" ] || [ ! -f \"$old/lock\" ] || flock -n \"$old/lock\" rm -rf \"$old\"\n"
	"done; fi\n"
	"home=$(mktemp -d \"$tmp/shunt-agent-XXXXXX\") || exit 1\n"
	"if command -v flock > /dev/null; then\n"
	"exec 9> \"$home/lock.new\" && flock 9 && mv \"$home/lock.new\" \"$home/lock\" || exit 1\n"
	"(setsid sh -c 'flock \"$1/lock\" rm -rf \"$1\"' sh \"$home\" 9>&- < /dev/null > /dev/null 2>&1 &)\n"
	"fi\n";

/* Writes one token per line into the file, and the command with which each agent joins. */
static int prepare(void *arg, const struct provider_request *r, int64_t nodes, const char *key, struct strbuf *command,
		   struct err *err)
{
	struct keep *o = arg;
	struct strbuf text = {0};
	json_t *v, *answer = keep_tell(o, json_pack("{s:i, s:I}", "request", r->id, "nodes", (json_int_t)nodes), err);
	size_t i;

	if (!answer)
		return -EAGAIN;
	json_array_foreach(json_object_get(answer, "tokens"), i, v)
		strbuf_printf(&text, "%s\n", json_string_value(v) ? json_string_value(v) : "");
	json_decref(answer);
	int rc = credential_write(key, strbuf_text(&text), text.n, err);
	if (text.n)
		explicit_bzero(text.text, text.n);
	strbuf_fini(&text);
	strbuf_puts(command, home_script);
	strbuf_puts(command, "trap 'rm -rf \"$home\"' EXIT; trap 'exit 1' TERM INT; "
			     "sed -n \"$((SHUNT_NODE + 1))p\" \"$SHUNT_KEY\" | SHUNT_AGENT_HOME=\"$home\" ");
	text_quote(o->k->agent.text, command);
	strbuf_puts(command, " --join ");
	text_quote(o->k->server, command);
	strbuf_puts(command, " - --port 0 --guest --foreground ${SHUNT_CPUS:+--cpus \"$SHUNT_CPUS\"} "
			     "${SHUNT_MEMORY:+--memory \"$SHUNT_MEMORY\"} "
			     "${SHUNT_END:+--leaves \"$SHUNT_END\"}");
	return rc;
}

static void over(void *arg, int id)
{
	struct err err;

	json_decref(keep_tell(arg, json_pack("{s:i, s:b}", "request", id, "over", true), &err));
}

static bool alive(void *arg, int id)
{
	const struct keep *o = arg;

	for (size_t i = 0; i < o->alive.n; i++)
		if (o->alive.v[i] == id)
			return true;
	return false;
}

static void warn(void *arg, const char *text)
{
	struct keep *o = arg;

	free(o->trouble);
	o->trouble = mem_strdup(text);
	log_line(SEVERITY_WARNING, "overlay %s: %s", o->name, text);
}

/* ---- overlays ---- */

static struct keep *keep_find(const struct keeper *k, const char *name)
{
	for (size_t i = 0; i < k->list.n; i++)
		if (strcmp(k->list.v[i]->name, name) == 0)
			return k->list.v[i];
	return NULL;
}

static void keep_free(struct keep *o)
{
	if (o->provider)
		o->provider->kind->destroy(o->provider);
	free(o->name);
	free(o->place);
	free(o->words);
	free(o->tag);
	free(o->trouble);
	vec_free(&o->alive);
	free(o);
}

static void keep_drop(struct keeper *k, struct keep *o)
{
	for (size_t i = 0; i < k->list.n; i++)
		if (k->list.v[i] == o) {
			vec_remove(&k->list, i);
			break;
		}
	keep_free(o);
}

static struct keep *keep_open(struct keeper *k, const json_t *x)
{
	const char *pace = getenv("SHUNT_BAG_PACE");
	struct keep *o = mem_zalloc(sizeof *o);
	VEC(int) live = {0};
	struct err err;
	json_t *v;
	size_t i;

	*o = (struct keep){.k = k,
			   .name = mem_strdup(object_text(x, "name")),
			   .place = mem_strdup(object_text(x, "place")),
			   .words = mem_strdup(object_text(x, "words")),
			   .tag = mem_strdup(object_text(x, "tag")),
			   .cpus = object_number(x, "cpus", 1),
			   .seconds = object_number(x, "time", 3600),
			   .resumed = object_number(x, "resumed", 0),
			   .forgiven = (int)object_number(x, "last", 0)};
	o->user = (struct provider_user){.dir = k->dir,
					 .tag = o->tag,
					 .pace = pace && atoll(pace) > 0 ? atoll(pace) : 10,
					 .prepare = prepare,
					 .over = over,
					 .alive = alive,
					 .once = true,
					 .warn = warn,
					 .arg = o};
	json_array_foreach(json_object_get(x, "requests"), i, v) vec_push(&live, (int)object_number(v, "id", 0));
	struct provider_options options = {.words = o->words,
					   .requests = object_number(x, "max_nodes", 1),
					   .processors = o->cpus * object_number(x, "max_nodes", 1),
					   .seconds = o->seconds,
					   .shape.each = o->cpus,
					   .last = (int)object_number(x, "last", 0),
					   .live = live.v,
					   .nlive = live.n};
	o->provider = provider_create(o->place, &o->user, &options, &err);
	if (!o->provider)
		warn(o, err.text);
	vec_free(&live);
	vec_push(&k->list, o);
	return o;
}

/* Cancels what is left of the overlay at its cluster; then the server forgets it. */
static void keep_remove(struct keeper *k, struct keep *o)
{
	struct err err;

	if (provider_now() < o->clear)
		return;
	o->clear = provider_now() + CLEAR_AGAIN;
	if (provider_clear(o->tag, &err) < 0) {
		warn(o, err.text);
		return;
	}
	if (o->provider)
		o->provider->kind->destroy(o->provider);
	o->provider = NULL;
	json_t *answer = keep_tell(o, json_pack("{s:b}", "gone", true), &err);
	if (answer)
		keep_drop(k, o);
	json_decref(answer);
}

static bool request_look(const struct keep *o, int id, struct provider_request *ret)
{
	return o->provider && o->provider->kind->look(o->provider, id, ret);
}

/* Pauses an overlay after many consecutive requests without a node: somebody has to look at it. */
static void failures_count(struct keep *o)
{
	struct provider_request r;
	struct err err;
	int n = 0, last = o->forgiven;

	for (int id = o->forgiven + 1; request_look(o, id, &r); id++) {
		bool failed = r.state == REQUEST_FAILED || (r.state == REQUEST_ENDED && !r.joined && *r.failure);
		n = r.joined ? 0 : n + failed;
		last = id;
	}
	if (n < FAILURES)
		return;
	struct strbuf why = {0};
	strbuf_printf(&why, "%d requests in a row brought no node; the last: %.300s", n, o->trouble ? o->trouble : "?");
	json_t *body = json_pack("{s:b, s:s}", "paused", true, "why", why.text);
	client_ask_json(o->k->home, "PATCH", api_path("/v1/overlays/%s", o->name), body, NULL, &err);
	o->forgiven = last;
	json_decref(body);
	strbuf_fini(&why);
}

/* Returns the nodes of requests that the server does not know yet. */
static int64_t unprepared(const struct keep *o, int last)
{
	struct provider_request r;
	int64_t n = 0;

	for (int id = last + 1; request_look(o, id, &r); id++)
		if (r.state == REQUEST_PENDING)
			n += (r.processors + o->cpus - 1) / o->cpus;
	return n;
}

static void keep_want(struct keep *o, const json_t *x)
{
	int64_t coming = unprepared(o, (int)object_number(x, "last", 0)), room = object_number(x, "room", 0) - coming;
	struct provider_limits limits;
	struct err err;
	json_t *v;
	size_t i;

	json_array_foreach(json_object_get(x, "requests"), i, v) coming += object_number(v, "expected", 0);
	json_array_foreach(json_object_get(x, "wants"), i, v)
	{
		int64_t nodes = json_integer_value(v) - coming;
		coming = nodes < 0 ? -nodes : 0;
		o->provider->kind->limits(o->provider, &limits);
		if (nodes > limits.processors / o->cpus)
			nodes = limits.processors / o->cpus;
		if (nodes <= 0)
			continue;
		if (nodes > room || limits.pending == 0)
			break;
		if (o->provider->kind->request(o->provider, nodes * o->cpus,
					       limits.seconds < o->seconds ? limits.seconds : o->seconds, &err) < 0) {
			warn(o, err.text);
			break;
		}
		room -= nodes;
	}
}

static void keep_serve(struct keeper *k, const json_t *x)
{
	struct keep *o = keep_find(k, object_text(x, "name"));
	bool paused = strcmp(object_text(x, "state"), "paused") == 0;
	struct provider_request r;
	json_t *v;
	size_t i;

	if (o && strcmp(o->tag, object_text(x, "tag")) != 0) { /* another overlay of that name */
		keep_drop(k, o);
		o = NULL;
	}
	if (!o)
		o = keep_open(k, x);
	if (strcmp(object_text(x, "state"), "removed") == 0) {
		keep_remove(k, o);
		return;
	}
	if (!o->provider)
		return;
	if (o->resumed != object_number(x, "resumed", 0)) {
		for (o->forgiven = 0; request_look(o, o->forgiven + 1, &r); o->forgiven++)
			;
		free(o->trouble);
		o->trouble = NULL;
		o->provider->kind->resume(o->provider);
	}
	o->resumed = object_number(x, "resumed", 0);
	vec_clear(&o->alive);
	json_array_foreach(json_object_get(x, "requests"), i, v) if (object_number(v, "joined", 0) > 0)
	{
		int id = (int)object_number(v, "id", 0);
		vec_push(&o->alive, id);
		if (request_look(o, id, &r) && !r.joined) {
			o->provider->kind->joined(o->provider, id);
			free(o->trouble);
			o->trouble = NULL;
		}
	}
	if (paused)
		return;
	keep_want(o, x);
	failures_count(o);
}

/* ---- the loop ---- */

static json_t *report_make(const struct keep *o)
{
	static const char *const states[] = {"pending", "running", "ended", "ended"};
	struct provider_limits limits = {.seconds = o->seconds};
	json_t *list = json_array();
	struct provider_request r;

	if (o->provider)
		o->provider->kind->limits(o->provider, &limits);
	for (int id = 1; request_look(o, id, &r); id++)
		if (r.state == REQUEST_PENDING || r.state == REQUEST_RUNNING)
			json_array_append_new(list,
					      json_pack("{s:i, s:s, s:s?, s:I}", "id", id, "state", states[r.state],
							"job", strcmp(r.name, "?") == 0 ? NULL : r.name, "planned",
							(json_int_t)r.planned));
	return json_pack("{s:s, s:s?, s:I, s:o}", "name", o->name, "trouble", o->trouble, "time",
			 (json_int_t)(limits.seconds < o->seconds ? limits.seconds : o->seconds), "requests", list);
}

static void text_set(char **at, const char *text)
{
	if (*at && strcmp(*at, text) == 0)
		return;
	free(*at); /* never while a provider uses it: a server's directory does not change */
	*at = mem_strdup(text);
}

/* Returns the number of overlays; -errno if the server does not answer. */
static int64_t round_go(struct keeper *k)
{
	json_t *list = json_array(), *body, *x;
	struct reply r = {0};
	struct err err;
	size_t i;

	for (i = 0; i < k->list.n; i++)
		json_array_append_new(list, report_make(k->list.v[i]));
	body = json_pack("{s:o}", "overlays", list);
	int rc = client_ask_json(k->home, "POST", "/v1/keeper", body, &r, &err);
	json_decref(body);
	if (rc == 0) {
		text_set(&k->server, object_text(r.json, "server"));
		text_set(&k->dir, object_text(r.json, "dir"));
		mkdir(k->dir, 0700);
	}
	int64_t n = rc < 0 ? rc : (int64_t)json_array_size(json_object_get(r.json, "overlays"));
	json_array_foreach(json_object_get(r.json, "overlays"), i, x) keep_serve(k, x);
	reply_fini(&r);
	return k->rc < 0 ? k->rc : n;
}

/* Ends without notifying the clusters: the next keeper continues. */
static int keeper(const struct command *c, const void *arguments, const struct operands *o)
{
	static struct keeper k; /* what it holds is left to the end of the process */
	struct pollfd server = {.fd = 0, .events = POLLIN};
	struct err err;
	int64_t n = 1;

	k = (struct keeper){0};
	signal(SIGPIPE, SIG_IGN);
	if (!program_find("shunt-agent", &k.agent))
		return command_fail(c, "shunt-agent is not found beside this program nor in $PATH");
	if (client_open_at(o->v[0], &k.home, &err) < 0)
		return command_fail(c, "%s", err.text);
	/* keeps commands for other clusters from asking that server */
	setenv("SHUNT_KEEPER", o->v[0], 1);
	client_patience(k.home, 0);
	for (int look = 0; n > 0 && poll(&server, 1, REST_MS) == 0; look++) {
		if (look % LOOKS == 0)
			n = round_go(&k);
		for (size_t i = 0; i < k.list.n && n > 0; i++)
			if (k.list.v[i]->provider)
				k.list.v[i]->provider->kind->poll(k.list.v[i]->provider, provider_now());
		if (k.rc < 0)
			break;
	}
	client_close(k.home);
	return EXIT_OK;
}

const struct command command_keeper = {
	.name = "keeper",
	.operands = "SOCKET",
	.about = "Request nodes for overlays from other clusters. The server starts it.",
	.run = keeper,
	.hidden = 1,
	.alone = true,
};
