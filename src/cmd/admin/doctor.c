/*
 * doctor.c - `shunt doctor`: checks a site, and gives advice on what it finds.
 */
#include "cmd/admin/doctor.h"

#include <stdlib.h>
#include <unistd.h>

#include "cmd/lib/commands.h"
#include "cmd/lib/instance.h"
#include "cmd/lib/show.h"

struct arguments {
	bool json, all, system;
};

static const struct option options[] = {
	OPTION_ROW(FLAG, 'a', "all", offsetof(struct arguments, all), NULL,
		   "also show checks that found nothing, as on a terminal"),
	OPTION_ROW(FLAG, 0, "system", offsetof(struct arguments, system), NULL,
		   "the system's server, even if you have one of your own"),
	OPTION_ROW(FLAG, 0, "json", offsetof(struct arguments, json), NULL, "print all checks as JSON instead of text"),
	{0},
};

/* ---- showing ---- */

static const char *const level_name[] = {"ok", "warning", "problem"};

static void findings_print(const struct doctor *d, bool all)
{
	for (size_t i = 0; i < d->findings.n; i++) {
		const struct finding *f = &d->findings.v[i];
		if (f->level == LEVEL_OK && !all)
			continue;
		printf("%-8s %s: %s%s%s\n", level_name[f->level], f->check, f->what, *f->advice ? ". To do: " : "",
		       f->advice);
	}
}

static void findings_json(const struct doctor *d, enum level worst)
{
	json_t *list = json_array();

	for (size_t i = 0; i < d->findings.n; i++) {
		const struct finding *f = &d->findings.v[i];
		json_array_append_new(list,
				      json_pack("{s:s,s:s,s:s,s:s?}", "level", level_name[f->level], "check", f->check,
						"found", f->what, "advice", *f->advice ? f->advice : NULL));
	}
	json_t *all = json_pack("{s:s,s:o}", "result", level_name[worst], "checks", list);
	show_json(all);
	json_decref(all);
}

/* ---- the command ---- */

static int chosen_open(bool system, struct client **ret, struct err *err)
{
	struct where w;

	if (!system)
		return client_open(ret, err);
	int rc = where_system(&w, err);
	return rc < 0 ? rc : server_open(&w, ret, err);
}

static void look(struct doctor *d, bool system)
{
	json_t *server, *nodes, *queues, *site;
	struct err err;

	if (chosen_open(system, &d->client, &err) < 0) {
		doctor_find(d, LEVEL_PROBLEM, "server", "start it with 'shunt up', or with systemctl start shunt", "%s",
			    err.text);
		return;
	}
	struct reply r = {0};
	client_patience(d->client, 0); /* do not wait: the question is whether it runs */
	if (client_ask(d->client, "GET", "/v1/server", NULL, 0, &r, &err) < 0 || client_absent(d->client)) {
		doctor_find(d, LEVEL_PROBLEM, "server", "start it with 'shunt up', or with systemctl start shunt", "%s",
			    client_absent(d->client) ? "the server does not run" : err.text);
		reply_fini(&r);
		client_close(d->client);
		return;
	}
	d->server = server = json_incref(r.json);
	reply_fini(&r);
	d->now = object_number(server, "now", 0);
	d->nodes = nodes = doctor_get(d, "/v1/nodes");
	d->queues = queues = doctor_get(d, "/v1/queues");
	d->site = site = doctor_get(d, "/v1/site");
	doctor_server(d);
	if (site)
		doctor_site(d);
	doctor_nodes(d);
	doctor_queues(d);
	doctor_reservations(d);
	doctor_payments(d);
	doctor_jobs(d);
	json_decref(server);
	json_decref(nodes);
	json_decref(queues);
	json_decref(site);
	client_close(d->client);
}

static int run(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct arguments *a = arguments;
	struct doctor d = {0};
	enum level worst = LEVEL_OK;

	look(&d, a->system);
	for (size_t i = 0; i < d.findings.n; i++)
		if (d.findings.v[i].level > worst)
			worst = d.findings.v[i].level;
	if (a->json)
		findings_json(&d, worst);
	else
		findings_print(&d, a->all || isatty(STDOUT_FILENO));
	for (size_t i = 0; i < d.findings.n; i++) {
		free(d.findings.v[i].what);
		free(d.findings.v[i].advice);
	}
	vec_free(&d.findings);
	return (int)worst;
}

const struct command command_doctor = {
	.name = "doctor",
	.about = "Check the site and say what to do about each finding.",
	.details =
		"Prints one line for each finding: \"warning\" or \"problem\", the check, what was found, and what to do about it. Checks that found nothing are shown as \"ok\" on a terminal and with "
		"--all. Managers see everything; other users see what they may see of queues, nodes and their own jobs. Only the server's own machine is examined for disk space, programs and permissions; "
		"of other nodes, what their agents report. Exits with 0 if nothing was found, 1 for warnings, 2 for problems.",
	.examples = EXAMPLES({"shunt doctor", "Check the site and show every check."},
			     {"shunt doctor | mail -E -s 'shunt doctor' root",
			      "For cron: nothing is printed if everything is in order."},
			     {"shunt doctor --json", "For other programs."}),
	OPTIONS(struct arguments, options),
	.run = run,
};
