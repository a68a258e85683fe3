/*
 * doctor_site.c - checks the server and its machine: whether it can write, its disks, permissions,
 * programs, certificates and standbys.
 */
#include <stdlib.h>
#include <string.h>

#include "base/timetext.h"
#include "cmd/admin/doctor.h"
#include "cmd/lib/object.h"

#define DAY INT64_C(86400)
#define FREE_LOW (INT64_C(1) << 20)   /* free space below which to warn, KiB */
#define FREE_LEAST (INT64_C(1) << 17) /* free space below which the server may soon stop, KiB */
#define PERCENT_LOW 5
#define BACKUP_OLD (7 * DAY)

static void standbys(struct doctor *d)
{
	const json_t *servers = json_object_get(d->server, "servers"), *x;
	char when[40];
	size_t i;

	json_array_foreach(servers, i, x)
	{
		const char *role = object_text(x, "role");
		if (strcmp(role, "silent") == 0)
			doctor_find(d, LEVEL_WARNING, "standby", "start shuntd there",
				    "server %s was last heard %s: it can't take over", object_text(x, "address"),
				    instant_near(object_number(x, "seen", 0), d->now, when, sizeof when));
		else if (strcmp(role, "stopped") == 0)
			doctor_find(d, LEVEL_WARNING, "standby", "start shuntd there",
				    "server %s is stopped: it can't take over", object_text(x, "address"));
	}
	doctor_fine(d, "standby", json_array_size(servers) > 1 ? "%zu servers can lead" : "%zu server, no standby",
		    json_array_size(servers) ? json_array_size(servers) : 1);
}

void doctor_server(struct doctor *d)
{
	const json_t *s = d->server;
	const char *trouble = object_text(s, "trouble");

	if (*trouble)
		doctor_find(d, LEVEL_PROBLEM, "server", "free space on the disk of the store, or repair the database",
			    "it can't write its store, and accepts no changes: %s", trouble);
	if (strcmp(object_text(s, "state"), "terminating") == 0)
		doctor_find(d, LEVEL_WARNING, "server", "start it again with 'shunt up' when it has ended",
			    "it is shutting down");
	if (object_number(s, "clock_ahead", 0) > 0)
		doctor_find(d, LEVEL_WARNING, "clock", "check the time service (chronyc tracking, timedatectl)",
			    "the clock of the server's machine was set back: the server's time is %lld s ahead of it",
			    (long long)object_number(s, "clock_ahead", 0));
	if (doctor_attr_is(s, "scheduling", false))
		doctor_find(d, LEVEL_PROBLEM, "scheduling", "qmgr -c 'set server scheduling = True'",
			    "scheduling = False: no job is started");
	doctor_fine(d, "server", "%s %s runs on %s", object_text(s, "name"), object_text(s, "version"),
		    object_text(s, "host"));
	doctor_fine(d, "scheduling", "jobs are started by the policy %s", object_text(s, "policy"));
	standbys(d);
}

/* ---- the machine ---- */

static void disk(struct doctor *d, const json_t *x)
{
	int64_t free_ = object_number(x, "free", -1), size = object_number(x, "size", 0);
	char room[40];

	if (free_ < 0)
		return;
	bool low = free_ < FREE_LOW && free_ < size / 100 * PERCENT_LOW;
	if (low)
		doctor_find(d, free_ < FREE_LEAST ? LEVEL_PROBLEM : LEVEL_WARNING, "disk",
			    "free some space, or move the directory to a larger file system",
			    "the file system of %s (%s) has %s left", object_text(x, "path"), object_text(x, "name"),
			    memory_human(free_, room, sizeof room));
}

/* Checks the store's permissions: it holds the CA's key and the hashes of tokens. */
static void permissions(struct doctor *d, const json_t *x)
{
	const char *name = object_text(x, "name"), *path = object_text(x, "path"), *problem = object_text(x, "problem");
	long mode = strtol(object_text(x, "mode"), NULL, 8);
	bool store = strcmp(name, "store") == 0;
	char advice[4200];

	if (strcmp(name, "log") == 0) /* opened before the server gave up root */
		return;
	if (*problem)
		doctor_find(d, LEVEL_PROBLEM, "permissions",
			    "create it, and give it to the account that the server runs as",
			    "%s (%s) can't be written by the server: %s", path, name, problem);
	snprintf(advice, sizeof advice, "chmod %s '%s'", store ? "600" : "go-w", path);
	if (mode & (store ? 077 : 022))
		doctor_find(d, LEVEL_PROBLEM, "permissions", advice, "%s (%s) has mode %04lo: other users can %s", path,
			    name, mode,
			    store ? "read or change the store, which holds the key of the cluster's authority"
				  : "change what the server relies on");
}

static void programs(struct doctor *d)
{
	const json_t *x;
	size_t i;

	json_array_foreach(json_object_get(d->site, "programs"), i, x)
	{
		const char *name = object_text(x, "name"), *path = object_text(x, "path"),
			   *problem = object_text(x, "problem");
		bool mail = strcmp(name, "mail") == 0;
		if (*problem)
			doctor_find(d, mail ? LEVEL_WARNING : LEVEL_PROBLEM, "programs",
				    mail ? "install a mail program, or set program in section [mail] of shunt.conf"
					 : "install it and make it executable, or change shunt.conf",
				    "the %s program %s can't be run: %s%s", name, path, problem,
				    mail ? " (no mail is sent)" : " (no job can start here)");
	}
	doctor_fine(d, "programs", "mail, prologue and epilogue can be run, as far as they are configured");
}

static void certificates(struct doctor *d)
{
	const json_t *x;
	size_t i;

	json_array_foreach(json_object_get(d->site, "certificates"), i, x)
	{
		bool authority = strcmp(object_text(x, "name"), "authority") == 0;
		int64_t left = object_number(x, "until", 0) - d->now;
		char span[40];
		if (left < (authority ? 90 : 30) * DAY)
			doctor_find(d, left < 7 * DAY ? LEVEL_PROBLEM : LEVEL_WARNING, "certificates",
				    authority ? "plan a new cluster authority: every node must join again"
					      : "restart the server, which gives it a new one",
				    left < 0 ? "the certificate of the %s has expired%s"
					     : "the certificate of the %s expires in %s",
				    object_text(x, "name"), left < 0 ? "" : duration_human(left, span, sizeof span));
	}
}

/* A server of one's own can be made again; a site's holds what its users rely on. */
static void backups(struct doctor *d)
{
	int64_t last = object_number(d->site, "backup", 0);
	char when[40];

	if (!json_is_true(json_object_get(d->server, "multiuser")) || !json_object_get(d->site, "backup"))
		return;
	if (last == 0)
		doctor_find(d, LEVEL_WARNING, "backup",
			    "run 'shunt backup --system --keep 14' from a timer, once a day",
			    "no backup of the store was ever made");
	else if (d->now - last > BACKUP_OLD)
		doctor_find(d, LEVEL_WARNING, "backup", "look whether the timer that runs 'shunt backup' still does",
			    "the last backup of the store was made %s", instant_near(last, d->now, when, sizeof when));
	doctor_fine(d, "backup", "the last one was made %s", instant_near(last, d->now, when, sizeof when));
}

void doctor_site(struct doctor *d)
{
	int64_t failed = object_number(d->site, "commits_failed", 0),
		committed = object_number(d->site, "committed", 0);
	const json_t *x;
	char when[40];
	size_t i;

	json_array_foreach(json_object_get(d->site, "places"), i, x)
	{
		disk(d, x);
		permissions(d, x);
	}
	if (*object_text(d->site, "tmpdir"))
		doctor_find(
			d, LEVEL_WARNING, "disk",
			"mount another file system there, as the administrator's guide says ('A full disk')",
			"$TMPDIR of jobs (%s) is on the file system of the store: jobs that fill it are ended, and none are accepted until then",
			object_text(d->site, "tmpdir"));
	if (failed > 0)
		doctor_find(
			d, LEVEL_WARNING, "store",
			"look for the cause in the server's log, check the disk, and make a backup with 'shunt backup'",
			"%lld commit%s failed since the server started, and %s repeated", (long long)failed,
			failed == 1 ? "" : "s", failed == 1 ? "was" : "were");
	doctor_fine(d, "store", "%s, last written %s", object_text(d->site, "store"),
		    committed ? instant_near(committed, d->now, when, sizeof when) : "before this start");
	doctor_fine(d, "disk", "the server's directories have room");
	doctor_fine(d, "permissions", "the server's directories and its store are not open to others");
	backups(d);
	programs(d);
	certificates(d);
}
