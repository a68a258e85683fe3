/*
 * showq.c - `showq`: shows the queue like Maui: running jobs, then waiting ones in the order in
 * which they are considered, then blocked ones.
 */
#include <inttypes.h>
#include <string.h>

#include "base/names.h"
#include "base/table.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/joblist.h"
#include "cmd/lib/show.h"

struct arguments {
	bool json, running, idle, blocked, verbose;
	const char *user, *queue;
};

#define AT(field) offsetof(struct arguments, field)
static const struct option options[] = {
	FLAG('r', "running", running, "show only running jobs, with more columns"),
	FLAG('i', "idle", idle, "show only eligible waiting jobs, with more columns"),
	FLAG('b', "blocked", blocked, "show only blocked jobs, with what blocks them"),
	OPTION(TEXT, 'u', "user", user, "USER[,USER...]", "only these users' jobs"),
	OPTION(TEXT, 'c', "class", queue, "QUEUE", "only jobs of this queue"),
	FLAG('v', "verbose", verbose, "full job ids, and the names of queues and groups"),
	FLAG(0, "json", json, "print JSON instead of tables"),
	{0},
};

enum section { ACTIVE, IDLE, BLOCKED, SECTIONS };

static const char active[] = "JOBNAME:short_id USERNAME:owner STATE:maui_state >PROC:cpus >REMAINING:remaining?- "
			     ">STARTTIME:started_near";
static const char active_more[] =
	"JOBNAME:short_id S:state >EFFIC:efficiency?- >XFACTOR:xfactor ~Q:qos?- USER:owner ~GROUP:group "
	"~MHOST:first_host?- >PROC:cpus >REMAINING:remaining?- >STARTTIME:started_near";
static const char idle[] = "JOBNAME:short_id USERNAME:owner STATE:maui_state >PROC:cpus >WCLIMIT:limit?00:00:00 "
			   ">QUEUETIME:queued_near";
static const char idle_more[] =
	"JOBNAME:short_id >PRIORITY:weight?- >XFACTOR:xfactor ~Q:qos?- USER:owner ~GROUP:group >PROC:cpus "
	">WCLIMIT:limit?00:00:00 ~CLASS:queue >SYSTEMQUEUETIME:queued_near";
static const char blocked[] = "JOBNAME:short_id USERNAME:owner STATE:maui_state >PROC:cpus >WCLIMIT:limit?00:00:00 "
			      ">QUEUETIME:queued_near !BLOCKED_BY:blocks";

struct list {
	bool shown[SECTIONS];
	struct joblist request;
	int state, blocks, cpus, hosts; /* cells */
	int first[SECTIONS];		/* columns */
	struct table *table[SECTIONS];
	int64_t jobs[SECTIONS], cpus_used;
	struct names nodes; /* nodes of running jobs */
};

static enum section section_of(const struct list *l, char *const *cell)
{
	if (*cell[l->state] && strchr("RSE", *cell[l->state]))
		return ACTIVE;
	return *cell[l->blocks] ? BLOCKED : IDLE;
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

static void row(void *context, char **cell)
{
	struct list *l = context;
	enum section section = section_of(l, cell);

	l->jobs[section]++;
	if (!l->shown[section])
		return;
	if (section == ACTIVE) {
		l->cpus_used += cell_number(cell[l->cpus]);
		hosts_count(l, cell[l->hosts]);
	}
	joblist_row(&l->request, l->first[section], l->table[section], cell);
}

/* Requests only what the shown sections need: with a hundred thousand jobs each member costs both
 * sides milliseconds. */
static void list_init(struct list *l, const struct arguments *a)
{
	const char *const columns[] = {a->running ? active_more : active, a->idle ? idle_more : idle, blocked};
	bool all = !a->running && !a->idle && !a->blocked;

	*l = (struct list){.shown = {all || a->running, all || a->idle, all || a->blocked},
			   .request = {.row = row, .context = l, .making.full_ids = a->verbose}};
	l->state = joblist_member(&l->request, "state");
	l->blocks = joblist_member(&l->request, "blocks");
	if (l->shown[ACTIVE]) {
		l->cpus = joblist_member(&l->request, "cpus");
		l->hosts = joblist_member(&l->request, "exec_host");
	}
	for (int i = 0; i < SECTIONS; i++) {
		if (!l->shown[i])
			continue;
		l->first[i] = joblist_add(&l->request, columns[i]);
		l->table[i] = joblist_table(&l->request, l->first[i]);
	}
}

static void list_fini(struct list *l)
{
	for (int i = 0; i < SECTIONS; i++)
		table_destroy(l->table[i]);
	joblist_fini(&l->request);
	names_fini(&l->nodes);
}

static double percent(int64_t part, int64_t all)
{
	return all > 0 ? 100.0 * (double)part / (double)all : 0;
}

static void active_total(const struct list *l, const json_t *machine)
{
	int64_t cpus = object_number(machine, "cpus", 0), nodes = object_number(machine, "nodes", 0);

	printf("\n%6" PRId64 " Active Job%s   %" PRId64 " of %" PRId64 " Processors Active (%.2f%%)\n", l->jobs[ACTIVE],
	       l->jobs[ACTIVE] == 1 ? " " : "s", l->cpus_used, cpus, percent(l->cpus_used, cpus));
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
	struct reply machine;
	struct list l;
	int code = EXIT_OK;
	struct err err;

	if (!show_get(c, client, "/v1/machine", &machine, &code))
		return code;
	list_init(&l, a);
	if (joblist_read(&l.request, client, path, &err) < 0)
		code = command_fail(c, "%s", err.text);
	else
		sections_print(&l, machine.json);
	list_fini(&l);
	reply_fini(&machine);
	return code;
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	struct strbuf path = {0};
	struct client *client;

	if (!show_open(c, &client))
		return EXIT_FAILED;
	strbuf_puts(&path, "/v1/jobs");
	query_add(&path, "order", "schedule");
	query_add(&path, "completed", "0");
	users_query(&path, a->user);
	query_add(&path, "queue", a->queue);
	int code = a->json ? show_jobs_json(c, client, path.text) : tables_print(c, client, a, &path);
	client_close(client);
	strbuf_fini(&path);
	return code;
}

const struct command command_showq = {
	.name = "showq",
	.about = "List running, waiting and blocked jobs as the scheduler sees them.",
	.details =
		"Running jobs are sorted by planned end, waiting jobs in the order in which the scheduler considers them; blocked jobs are not considered. "
		"The columns are Maui's: XFACTOR is (time in the queue + walltime) / walltime, EFFIC the CPU time used in percent of the CPUs' time. "
		"'checkjob JOB' shows every reason why a job does not start.",
	.examples = EXAMPLES({"showq", "Running, waiting and blocked jobs, with totals."},
			     {"showq -i", "Waiting jobs with their priorities, the next one first."},
			     {"showq -b", "Show blocked jobs and what blocks each of them."}),
	OPTIONS(struct arguments, options),
	.run = run,
	.own = true,
};
