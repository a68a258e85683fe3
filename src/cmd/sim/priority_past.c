/*
 * priority_past.c - see priority_past.h.
 *
 * Both runs are simulated, so they differ only in the weights. Jobs are replayed with their
 * original requests and submission times, but without deadlines, dependencies, reservations, hooks
 * and credits.
 */
#include "cmd/sim/priority_past.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/progress.h"
#include "base/table.h"
#include "base/timetext.h"
#include "cmd/lib/show.h"
#include "cmd/sim/simulate_history.h"
#include "cmd/sim/site_live.h"
#include "rules/priority.h"
#include "sched/policy.h"
#include "sim/sim.h"

#define SHOWN 10 /* users and accounts shown: those whose waits change most */

struct past {
	const struct command *command;
	struct workload *w;
	struct ruleset site;
	struct sim_result run[2]; /* with the site's weights, and with the trial's */
	struct progress progress;
};

/* Totals over jobs that started in both runs. */
struct waits {
	const char *name;
	int64_t jobs;
	double now, tried; /* seconds */
	int64_t longest_now, longest_tried;
};
typedef VEC(struct waits) waits_vec;

/* ---- the runs ---- */

static void progress_tell(void *context, int64_t jobs)
{
	progress_at(context, jobs);
}

static int replay(struct past *p, int which, struct err *err)
{
	struct sim_options o;
	const struct policy *policy = policy_find(attrs_text(&p->site.attrs, SET_POLICY));

	if (!policy)
		return err_set(err, -EINVAL, "the server's policy %.60s is not known to this program",
			       attrs_text(&p->site.attrs, SET_POLICY));
	sim_options_init(&o);
	o.machine = p->w->machine;
	o.site = &p->site;
	settings_of_server(&o.settings, &p->site.attrs);
	o.progress = progress_tell;
	o.progress_context = &p->progress;
	progress_begin(&p->progress, which ? "replaying with the tried weights" : "replaying", (int64_t)p->w->jobs.n);
	int rc = sim_run(p->w, policy, &o, &p->run[which], err);
	progress_end(&p->progress);
	return rc;
}

/* ---- results ---- */

static void waits_add(struct waits *x, const struct simulated *now, const struct simulated *tried)
{
	int64_t a = now->start - now->submit, b = tried->start - tried->submit;

	x->jobs++;
	x->now += (double)a;
	x->tried += (double)b;
	x->longest_now = a > x->longest_now ? a : x->longest_now;
	x->longest_tried = b > x->longest_tried ? b : x->longest_tried;
}

static const char *account_of(const struct workload *w, const struct wjob *j)
{
	return j->terms ? w->terms.v[j->terms - 1].account : NULL;
}

static void accounts_number(const struct workload *w, struct names *ret)
{
	for (size_t i = 0; i < w->jobs.n; i++)
		if (account_of(w, &w->jobs.v[i]))
			names_add(ret, account_of(w, &w->jobs.v[i]));
}

static double moved(const struct waits *x)
{
	return x->jobs ? (x->tried - x->now) / (double)x->jobs : 0;
}

static int by_moved(const void *a, const void *b)
{
	const struct waits *x = a, *y = b;
	double p = moved(x) < 0 ? -moved(x) : moved(x), q = moved(y) < 0 ? -moved(y) : moved(y);

	if (p != q)
		return p < q ? 1 : -1;
	return strcmp(x->name, y->name);
}

static json_t *waits_json(const struct waits *x)
{
	double n = x->jobs ? (double)x->jobs : 1;

	return json_pack("{s:s?, s:I, s:f, s:f, s:I, s:I}", "name", x->name, "jobs", (json_int_t)x->jobs, "wait",
			 x->now / n, "wait_tried", x->tried / n, "longest", (json_int_t)x->longest_now, "longest_tried",
			 (json_int_t)x->longest_tried);
}

static json_t *list_json(waits_vec *v)
{
	json_t *list = json_array();

	if (v->n)
		qsort(v->v, v->n, sizeof *v->v, by_moved);
	for (size_t i = 0; i < v->n; i++)
		if (v->v[i].jobs)
			json_array_append_new(list, waits_json(&v->v[i]));
	return list;
}

static json_t *compare(const struct past *p, int64_t since)
{
	const struct workload *w = p->w;
	struct names names = {0};
	waits_vec users = {0}, accounts = {0};
	struct waits all = {0};
	json_t *past;

	accounts_number(w, &names);
	for (uint32_t i = 0; i < w->users.n; i++)
		vec_push(&users, (struct waits){.name = names_get(&w->users, i)});
	for (uint32_t i = 0; i < names.n; i++)
		vec_push(&accounts, (struct waits){.name = names_get(&names, i)});
	for (size_t i = 0; i < w->jobs.n; i++) {
		const struct simulated *now = &p->run[0].outcome[i], *tried = &p->run[1].outcome[i];
		const char *account = account_of(w, &w->jobs.v[i]);
		if (now->start < 0 || tried->start < 0)
			continue;
		waits_add(&all, now, tried);
		waits_add(&users.v[w->jobs.v[i].user], now, tried);
		if (account)
			waits_add(&accounts.v[names_add(&names, account)], now, tried);
	}
	past = json_pack("{s:I, s:I, s:o, s:o, s:o}", "since", (json_int_t)since, "left_out",
			 (json_int_t)((int64_t)w->jobs.n - all.jobs), "all", waits_json(&all), "users",
			 list_json(&users), "accounts", list_json(&accounts));
	vec_free(&users);
	vec_free(&accounts);
	names_fini(&names);
	return past;
}

/* Sets the trial weights; as a sum if priorities do not order jobs yet. */
static int weights_try(struct attrs *server, const char *try, struct err *err)
{
	int rc = priority_try(server, try, err);

	if (rc == 0 && strcmp(attrs_text(server, SET_PRIORITY_ORDER), "policy") == 0)
		rc = attrs_change(server, ATTR_SET, "priority_order", "sum", err);
	return rc;
}

int priority_past(const struct command *c, const char *try, int64_t since, json_t **ret)
{
	struct past p = {.command = c};
	struct client *client;
	struct err err;
	int code, rc;

	*ret = NULL;
	if (!show_open(c, &client))
		return EXIT_FAILED;
	ruleset_init(&p.site);
	code = site_live(c, client, &p.site);
	client_close(client);
	if (code == EXIT_OK)
		code = simulate_history(c, since, 0, false, true, &p.w);
	if (code == EXIT_OK && p.w->jobs.n && p.w->machine) {
		workload_fit(p.w, &p.site);
		rc = replay(&p, 0, &err);
		if (rc == 0)
			rc = weights_try(&p.site.attrs, try, &err);
		if (rc == 0)
			rc = replay(&p, 1, &err);
		if (rc == 0)
			*ret = compare(&p, since);
		else
			code = command_fail(c, "jobs of the past: %s", err.text);
	}
	sim_result_fini(&p.run[0]);
	sim_result_fini(&p.run[1]);
	ruleset_fini(&p.site);
	if (p.w)
		workload_destroy(p.w);
	return code;
}

/* ---- printing ---- */

static void row_print(struct table *t, const char *name, const json_t *x)
{
	double now = json_number_value(json_object_get(x, "wait")),
	       tried = json_number_value(json_object_get(x, "wait_tried"));
	char text[32];

	table_cell(t, "%s", name);
	table_cell(t, "%lld", (long long)object_number(x, "jobs", 0));
	table_cell(t, "%s", duration_human((int64_t)(now + 0.5), text, sizeof text));
	table_cell(t, "%s", duration_human((int64_t)(tried + 0.5), text, sizeof text));
	if (now >= 1)
		table_cell(t, "%+.0f%%", 100 * (tried - now) / now);
	else
		table_cell(t, " ");
	table_cell(t, "%s", duration_human(object_number(x, "longest", 0), text, sizeof text));
	table_cell(t, "%s", duration_human(object_number(x, "longest_tried", 0), text, sizeof text));
}

static void list_print(struct table *t, const char *kind, const json_t *list)
{
	const json_t *x;
	char name[80];
	size_t i;

	json_array_foreach(list, i, x)
	{
		if (i == SHOWN)
			break;
		snprintf(name, sizeof name, "%s %s", kind, object_text(x, "name"));
		row_print(t, name, x);
	}
}

void priority_past_print(const json_t *past)
{
	static const char *const columns[] = {"=of", ">jobs", ">mean wait", ">tried", ">change", ">longest", ">tried"};
	struct table *t = table_create(columns, 7);
	int64_t left_out = object_number(past, "left_out", 0);
	char age[32];

	printf("\nHow long jobs that ended in the last %s would have waited, by simulation:\n",
	       duration_human((int64_t)time(NULL) - object_number(past, "since", 0), age, sizeof age));
	row_print(t, "all", json_object_get(past, "all"));
	list_print(t, "account", json_object_get(past, "accounts"));
	list_print(t, "user", json_object_get(past, "users"));
	table_print(t, stdout, 0);
	table_destroy(t);
	if (left_out)
		printf("%lld job%s could not be replayed.\n", (long long)left_out, left_out == 1 ? "" : "s");
}
