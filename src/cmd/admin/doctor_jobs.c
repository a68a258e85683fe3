/*
 * doctor_jobs.c - checks for jobs that can never start or were held after failures, and for working
 * directories that nodes could not reach.
 */
#include <string.h>

#include "base/strbuf.h"
#include "cmd/admin/doctor.h"
#include "cmd/lib/object.h"
#include "cmd/lib/query.h"

#define SHOWN 5 /* at most this many of each kind are named */

enum { C_ID, C_STATE, C_BLOCKS, C_FAILURES, C_COMMENT, COLUMNS };
static const char fields[] = "id,state,blocks,failures,comment";

struct seen {
	struct doctor *d;
	size_t misfits, failed, homeless;
};

static bool misfits(const char *blocks)
{
	return strstr(blocks, "misfit") != NULL;
}

static void job_row(void *context, char *const *cell)
{
	struct seen *s = context;
	char id[64];

	id_short(cell[C_ID], id, sizeof id);
	if (misfits(cell[C_BLOCKS])) {
		if (s->misfits++ < SHOWN)
			doctor_find(s->d, LEVEL_WARNING, "jobs",
				    "change it with qalter -l, add nodes that are large enough, or delete it",
				    "job %s can never start: %s", id, cell[C_COMMENT]);
	} else if (strcmp(cell[C_STATE], "H") == 0 && strcmp(cell[C_FAILURES], "0") != 0 && *cell[C_FAILURES]) {
		if (s->failed++ < SHOWN)
			doctor_find(s->d, LEVEL_WARNING, "jobs", "remove the cause, then release it with qrls",
				    "job %s is held after %s failed start%s: %s", id, cell[C_FAILURES],
				    strcmp(cell[C_FAILURES], "1") == 0 ? "" : "s", cell[C_COMMENT]);
	}
	if (strstr(cell[C_COMMENT], "the working directory ") && s->homeless++ < SHOWN)
		doctor_find(
			s->d, LEVEL_WARNING, "homes",
			"mount the file system of users' directories on every node, or let jobs stage their files (-W stagein)",
			"job %s: %s", id, cell[C_COMMENT]);
}

static void rest(struct doctor *d, const char *check, size_t n, const char *what)
{
	if (n > SHOWN)
		doctor_find(d, LEVEL_WARNING, check, "list them with 'diagnose -q'", "%zu more %s", n - SHOWN, what);
}

void doctor_jobs(struct doctor *d)
{
	struct seen seen = {.d = d};
	struct err err;

	if (tsv_read(d->client, api_path("/v1/jobs?order=number&fields=%s", fields), COLUMNS, job_row, &seen, &err) < 0)
		doctor_find(d, LEVEL_PROBLEM, "server",
			    "run 'shunt doctor' again; if this stays, look into the server's log",
			    "the list of jobs can't be read: %s", err.text);
	rest(d, "jobs", seen.misfits, "jobs can never start");
	rest(d, "jobs", seen.failed, "jobs are held after failed starts");
	rest(d, "homes", seen.homeless, "jobs ran without their working directory");
	doctor_fine(d, "jobs", "none waits for nodes that do not exist");
	doctor_fine(d, "homes", "no job was without its working directory; only jobs that ran can show this");
}
