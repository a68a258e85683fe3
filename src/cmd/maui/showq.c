/*
 * showq.c - `showq`: shows the queue like Maui: running jobs, then waiting ones in the order in
 * which they are considered, then blocked ones.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "base/names.h"
#include "base/table.h"
#include "base/timetext.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/show.h"

struct arguments {
	bool json, running, idle, blocked, verbose;
	const char *user, *queue;
};

#define AT(field) offsetof(struct arguments, field)
#define FLAG(letter, name, field, about)                                                                               \
	{                                                                                                              \
		name, OPTION_FLAG, AT(field), NULL, NULL, NULL, 0, 0, about, letter                                    \
	}
static const struct option options[] = {
	FLAG('r', "running", running, "show only running jobs, with more columns"),
	FLAG('i', "idle", idle, "show only eligible waiting jobs, with more columns"),
	FLAG('b', "blocked", blocked, "show only blocked jobs, with what blocks them"),
	{"user", OPTION_TEXT, AT(user), "USER[,USER...]", NULL, NULL, 0, 0, "only these users' jobs", 'u'},
	{"class", OPTION_TEXT, AT(queue), "QUEUE", NULL, NULL, 0, 0, "only jobs of this queue", 'c'},
	FLAG('v', "verbose", verbose, "full job ids, and the names of queues and groups"),
	FLAG(0, "json", json, "print JSON instead of tables"),
	{0},
};

static const char *const examples[] = {
	"showq",    "Running, waiting and blocked jobs, with totals.",
	"showq -i", "Waiting jobs with their priorities, the next one first.",
	"showq -b", "Show blocked jobs and what blocks each of them.",
	NULL,
};

enum {
	C_ID,
	C_OWNER,
	C_GROUP,
	C_QUEUE,
	C_QOS,
	C_STATE,
	C_CPUS,
	C_WALLTIME,
	C_STARTED,
	C_QUEUED,
	C_CREATED,
	C_END,
	C_BLOCKS,
	C_WEIGHT,
	C_USED,
	C_CPUT,
	C_HOSTS,
	COLUMNS
};
enum section { ACTIVE, IDLE, BLOCKED, SECTIONS };

/* The lists that need a field: with a hundred thousand jobs each field costs both sides
 * milliseconds. */
enum need { FOR_ALL, FOR_ACTIVE, FOR_RUNNING, FOR_IDLE, FOR_MORE };
static const struct {
	const char *name;
	enum need need;
} fields[COLUMNS] = {
	[C_ID] = {"id", FOR_ALL},
	[C_OWNER] = {"owner", FOR_ALL},
	[C_GROUP] = {"group", FOR_MORE},
	[C_QUEUE] = {"queue", FOR_IDLE},
	[C_QOS] = {"qos", FOR_MORE},
	[C_STATE] = {"state", FOR_ALL},
	[C_CPUS] = {"cpus", FOR_ALL},
	[C_WALLTIME] = {"walltime", FOR_ALL},
	[C_STARTED] = {"started", FOR_ACTIVE},
	[C_QUEUED] = {"queued", FOR_ALL},
	[C_CREATED] = {"created", FOR_ALL},
	[C_END] = {"expected_end", FOR_ACTIVE},
	[C_BLOCKS] = {"blocks", FOR_ALL},
	[C_WEIGHT] = {"weight", FOR_IDLE},
	[C_USED] = {"used_walltime", FOR_RUNNING},
	[C_CPUT] = {"used_cput", FOR_RUNNING},
	[C_HOSTS] = {"exec_host", FOR_ACTIVE},
};

struct list {
	const struct arguments *a;
	bool shown[SECTIONS];
	struct table *table[SECTIONS];
	int64_t jobs[SECTIONS], cpus;
	struct names nodes; /* nodes of running jobs */
	int64_t now;
	int asked[COLUMNS], nasked; /* requested fields, in the order of a row */
};

static bool is_needed(const struct list *l, enum need need)
{
	switch (need) {
	case FOR_ALL:
		break;
	case FOR_ACTIVE:
		return l->shown[ACTIVE];
	case FOR_RUNNING:
		return l->a->running;
	case FOR_IDLE:
		return l->a->idle;
	case FOR_MORE:
		return l->a->running || l->a->idle;
	}
	return true;
}

static void fields_choose(struct list *l, struct strbuf *path)
{
	struct strbuf names = {0};

	for (int i = 0; i < COLUMNS; i++) {
		if (!is_needed(l, fields[i].need))
			continue;
		strbuf_puts(&names, l->nasked ? "," : "");
		strbuf_puts(&names, fields[i].name);
		l->asked[l->nasked++] = i;
	}
	query_add(path, "fields", strbuf_text(&names));
	strbuf_fini(&names);
}

static enum section section_of(char *const *cell)
{
	char state = cell[C_STATE][0];

	if (state == 'R' || state == 'S' || state == 'E')
		return ACTIVE;
	return *cell[C_BLOCKS] ? BLOCKED : IDLE;
}

/* Returns Maui's word for a state. */
static const char *state_name(char *const *cell)
{
	const char *blocks = cell[C_BLOCKS];

	switch (cell[C_STATE][0]) {
	case 'R':
		return "Running";
	case 'S':
		return "Suspended";
	case 'E':
		return "Completing";
	}
	if (!*blocks)
		return "Idle";
	return strstr(blocks, "system") || strstr(blocks, "misfit") ? "SystemHold"
	       : strstr(blocks, "other")			    ? "BatchHold"
	       : strstr(blocks, "user")				    ? "UserHold"
	       : strstr(blocks, "time") || strstr(blocks, "depend") ? "Hold"
	       : strstr(blocks, "retry")			    ? "Deferred"
	       : strstr(blocks, "queue")			    ? "NotQueued"
								    : "Idle";
}

static void id_cell(struct list *l, struct table *t, char *const *cell)
{
	char id[64];

	table_cell(t, "%s", l->a->verbose ? cell[C_ID] : id_short(cell[C_ID], id, sizeof id));
}

/* Formats like %.1f, which takes longer than the rest of the row; only values halfway between two
 * tenths are left to it. */
static void tenths_cell(struct table *t, double x)
{
	double tenths = x * 10, part = tenths - floor(tenths);
	char buf[32] = "";

	if (!(x >= 0 && x < 1e9) || (part > 0.499 && part < 0.501)) {
		table_cell(t, "%.1f", x);
		return;
	}
	uint64_t n = (uint64_t)(tenths + 0.5);
	char *p = buf + sizeof buf - 1;
	*--p = (char)('0' + n % 10);
	*--p = '.';
	for (n /= 10; n >= 10; n /= 10)
		*--p = (char)('0' + n % 10);
	*--p = (char)('0' + n);
	table_cell(t, "%s", p);
}

/* Adds (time in the queue + walltime) / walltime. */
static void xfactor_cell(struct list *l, struct table *t, char *const *cell)
{
	int64_t wall = cell_number(cell[C_WALLTIME]),
		until = cell_number(cell[C_STARTED]) > 0 ? cell_number(cell[C_STARTED]) : l->now,
		waited = until - cell_number(*cell[C_QUEUED] ? cell[C_QUEUED] : cell[C_CREATED]);

	tenths_cell(t, wall > 0 ? (double)((waited > 0 ? waited : 0) + wall) / (double)wall : 1.0);
}

static void hosts_count(struct list *l, const char *hosts)
{
	struct strbuf name = {0};

	for (const char *p = hosts; *p; p += strcspn(p, "+"), p += *p == '+') {
		strbuf_clear(&name);
		strbuf_add(&name, p, strcspn(p, "/+"));
		names_add(&l->nodes, strbuf_text(&name));
	}
	strbuf_fini(&name);
}

static void active_row(struct list *l, struct table *t, char *const *cell)
{
	int64_t end = cell_number(cell[C_END]), used = cell_number(cell[C_USED]), cpus = cell_number(cell[C_CPUS]);
	char left[40], when[40], host[64];

	l->cpus += cpus;
	hosts_count(l, cell[C_HOSTS]);
	id_cell(l, t, cell);
	if (l->a->running) {
		table_cell(t, "%c", cell[C_STATE][0]);
		table_cell(t, used > 0 ? "%.1f" : "-",
			   100.0 * (double)cell_number(cell[C_CPUT]) / (double)(used * (cpus > 0 ? cpus : 1)));
		xfactor_cell(l, t, cell);
		table_cell(t, "%s", *cell[C_QOS] ? cell[C_QOS] : "-");
	}
	table_cell(t, "%s", cell[C_OWNER]);
	if (l->a->running) {
		snprintf(host, sizeof host, "%.*s", (int)strcspn(cell[C_HOSTS], "/"), cell[C_HOSTS]);
		table_cell(t, "%s", cell[C_GROUP]);
		table_cell(t, "%s", *host ? host : "-");
	} else {
		table_cell(t, "%s", state_name(cell));
	}
	table_cell(t, "%s", cell[C_CPUS]);
	table_cell(t, "%s", end > 0 ? duration_format(end > l->now ? end - l->now : 0, left, sizeof left) : "-");
	table_cell(t, "%s", instant_near(cell_number(cell[C_STARTED]), l->now, when, sizeof when));
}

static void waiting_row(struct list *l, struct table *t, char *const *cell, enum section section)
{
	int64_t queued = cell_number(*cell[C_QUEUED] ? cell[C_QUEUED] : cell[C_CREATED]);
	bool more = section == IDLE && l->a->idle;
	char wall[40], when[40];

	id_cell(l, t, cell);
	if (more) {
		table_cell(t, "%s", *cell[C_WEIGHT] ? cell[C_WEIGHT] : "-");
		xfactor_cell(l, t, cell);
		table_cell(t, "%s", *cell[C_QOS] ? cell[C_QOS] : "-");
	}
	table_cell(t, "%s", cell[C_OWNER]);
	if (more)
		table_cell(t, "%s", cell[C_GROUP]);
	else
		table_cell(t, "%s", state_name(cell));
	table_cell(t, "%s", cell[C_CPUS]);
	table_cell(t, "%s", duration_format(cell_number(cell[C_WALLTIME]), wall, sizeof wall));
	if (more)
		table_cell(t, "%s", cell[C_QUEUE]);
	table_cell(t, "%s", instant_near(queued, l->now, when, sizeof when));
	if (section == BLOCKED)
		table_cell(t, "%s", cell[C_BLOCKS]);
}

static void row(void *context, char *const *given)
{
	static char none[1];
	struct list *l = context;
	char *cell[COLUMNS];

	for (int i = 0; i < COLUMNS; i++)
		cell[i] = none;
	for (int i = 0; i < l->nasked; i++)
		cell[l->asked[i]] = given[i];
	enum section section = section_of(cell);
	l->jobs[section]++;
	if (!l->shown[section])
		return;
	if (section == ACTIVE) /* also counts CPUs */
		active_row(l, l->table[section], cell);
	else
		waiting_row(l, l->table[section], cell, section);
}

static struct table *table_of(const struct arguments *a, enum section section)
{
	static const char *const active[] = {"JOBNAME", "USERNAME", "STATE", ">PROC", ">REMAINING", ">STARTTIME"};
	static const char *const active_more[] = {"JOBNAME", "S",      ">EFFIC", ">XFACTOR",   "~Q",	    "USER",
						  "~GROUP",  "~MHOST", ">PROC",	 ">REMAINING", ">STARTTIME"};
	static const char *const idle[] = {"JOBNAME", "USERNAME", "STATE", ">PROC", ">WCLIMIT", ">QUEUETIME"};
	static const char *const idle_more[] = {"JOBNAME", ">PRIORITY", ">XFACTOR", "~Q",     "USER",
						"~GROUP",  ">PROC",	">WCLIMIT", "~CLASS", ">SYSTEMQUEUETIME"};
	static const char *const blocked[] = {"JOBNAME",  "USERNAME",	"STATE",      ">PROC",
					      ">WCLIMIT", ">QUEUETIME", "!BLOCKED BY"};

	if (section == ACTIVE)
		return a->running ? table_create(active_more, 11) : table_create(active, 6);
	if (section == IDLE)
		return a->idle ? table_create(idle_more, 10) : table_create(idle, 6);
	return table_create(blocked, 7);
}

static double percent(int64_t part, int64_t all)
{
	return all > 0 ? 100.0 * (double)part / (double)all : 0;
}

static void active_total(const struct list *l, const json_t *machine)
{
	int64_t cpus = object_number(machine, "cpus", 0), nodes = object_number(machine, "nodes", 0);

	printf("\n%6" PRId64 " Active Job%s   %" PRId64 " of %" PRId64 " Processors Active (%.2f%%)\n", l->jobs[ACTIVE],
	       l->jobs[ACTIVE] == 1 ? " " : "s", l->cpus, cpus, percent(l->cpus, cpus));
	printf("%19s%zu of %" PRId64 " Nodes Active (%.2f%%)\n\n", "", l->nodes.n, nodes,
	       percent((int64_t)l->nodes.n, nodes));
}

static void sections_print(const struct list *l, const json_t *machine)
{
	static const char *const titles[] = {"ACTIVE JOBS--------------------", "IDLE JOBS----------------------",
					     "BLOCKED JOBS-------------------"};
	static const char *const words[] = {"Active", "Idle", "Blocked"};

	for (int i = 0; i < SECTIONS; i++) {
		if (!l->shown[i])
			continue;
		printf("%s\n", titles[i]);
		table_print(l->table[i], stdout, 0);
		if (i == ACTIVE)
			active_total(l, machine);
		else
			printf("\n%" PRId64 " %s Job%s\n\n", l->jobs[i], words[i], l->jobs[i] == 1 ? "" : "s");
	}
	printf("Total Jobs: %" PRId64 "   Active Jobs: %" PRId64 "   Idle Jobs: %" PRId64 "   Blocked Jobs: %" PRId64
	       "\n",
	       l->jobs[ACTIVE] + l->jobs[IDLE] + l->jobs[BLOCKED], l->jobs[ACTIVE], l->jobs[IDLE], l->jobs[BLOCKED]);
	if (!json_is_true(json_object_get(machine, "scheduling")))
		printf("The server is not starting jobs (scheduling is False).\n");
}

static int tables_print(const struct command *c, struct client *client, const struct arguments *a, struct strbuf *path)
{
	bool all = !a->running && !a->idle && !a->blocked;
	struct list l = {
		.a = a, .shown = {all || a->running, all || a->idle, all || a->blocked}, .now = (int64_t)time(NULL)};
	struct reply machine;
	int code = EXIT_OK;
	struct err err;

	if (!show_get(c, client, "/v1/machine", &machine, &code))
		return code;
	for (int i = 0; i < SECTIONS; i++)
		l.table[i] = table_of(a, i);
	fields_choose(&l, path);
	if (tsv_read(client, path->text, l.nasked, row, &l, &err) < 0)
		code = command_fail(c, "%s", err.text);
	else
		sections_print(&l, machine.json);
	for (int i = 0; i < SECTIONS; i++)
		table_destroy(l.table[i]);
	names_fini(&l.nodes);
	reply_fini(&machine);
	return code;
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	struct strbuf path = {0};
	struct client *client;
	struct reply reply;
	int code = EXIT_OK;

	if (!show_open(c, &client))
		return EXIT_FAILED;
	strbuf_puts(&path, "/v1/jobs");
	query_add(&path, "order", "schedule");
	query_add(&path, "completed", "0");
	users_query(&path, a->user);
	query_add(&path, "queue", a->queue);
	if (!a->json) {
		code = tables_print(c, client, a, &path);
	} else if (show_get(c, client, path.text, &reply, &code)) {
		show_json(json_object_get(reply.json, "jobs"));
		reply_fini(&reply);
	}
	client_close(client);
	strbuf_fini(&path);
	return code;
}

const struct command command_showq = {
	.name = "showq",
	.operands = "",
	.about = "List running, waiting and blocked jobs as the scheduler sees them.",
	.details =
		"Running jobs are sorted by planned end, waiting jobs in the order in which the scheduler considers them; blocked jobs are not considered. "
		"The columns are Maui's: XFACTOR is (time in the queue + walltime) / walltime, EFFIC the CPU time used in percent of the CPUs' time. "
		"'checkjob JOB' shows every reason why a job does not start.",
	.examples = examples,
	.options = options,
	.size = sizeof(struct arguments),
	.run = run,
	.own = true,
};
