/*
 * doctor_nodes.c - checks nodes: out of service, silent, with wrong clocks, full disks, old
 * certificates or another version.
 */
#include <stdlib.h>
#include <string.h>

#include "base/timetext.h"
#include "cmd/admin/doctor.h"
#include "cmd/lib/object.h"

#define DAY INT64_C(86400)
#define CLOCK_OFF 10		    /* tolerated clock offset, s */
#define DISK_LOW (INT64_C(1) << 19) /* free space below which to warn, KiB */

static bool has_word(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = words; *p; p += strcspn(p, ","), p += *p == ',')
		if (strncmp(p, word, n) == 0 && (p[n] == ',' || p[n] == '\0'))
			return true;
	return false;
}

/* Returns true if the node cannot run jobs now. */
static bool service(struct doctor *d, json_t *groups, const json_t *n)
{
	const char *name = object_text(n, "name"), *state = object_text(n, "state"), *note = object_text(n, "note"),
		   *health = object_text(n, "health");
	int64_t heard = object_number(n, "heard", 0);
	char when[40] = "";

	if (heard)
		instant_near(heard, d->now, when, sizeof when);
	if (has_word(state, "down"))
		doctor_collect(
			groups, LEVEL_PROBLEM,
			"check the machine, its network, and shunt-agent there (systemctl status shunt-agent); 'shunt nodes remove' if it is gone for good",
			name, "down%s%s", heard ? ", last heard " : "", when);
	if (has_word(state, "joining"))
		doctor_collect(groups, LEVEL_WARNING, "start shunt-agent there (systemctl start shunt-agent)", name,
			       "has joined and never connected");
	if (*health)
		doctor_collect(groups, LEVEL_PROBLEM,
			       "repair it; it is tried again by itself, or with 'shunt nodes online'", name,
			       "unhealthy: %s", health);
	if (has_word(state, "offline"))
		doctor_collect(groups, LEVEL_WARNING, "'shunt nodes online' when it is ready", name, "offline%s%s%s",
			       *note ? " (" : "", note, *note ? ")" : ", without a reason");
	else if (has_word(state, "draining") || object_number(n, "drain_at", 0))
		doctor_collect(groups, LEVEL_WARNING, "'shunt nodes online' calls it off", name, "draining%s%s%s",
			       *note ? " (" : "", note, *note ? ")" : "");
	return has_word(state, "down") || has_word(state, "joining") || has_word(state, "offline") ||
	       has_word(state, "unhealthy") || has_word(state, "draining");
}

static void agent(struct doctor *d, const json_t *n, json_t *clocks, json_t *disks, json_t *certificates,
		  json_t *versions)
{
	const char *name = object_text(n, "name"), *version = object_text(n, "version"),
		   *ours = object_text(d->server, "version");
	int64_t ahead = object_number(n, "clock_ahead", 0), free_ = object_number(n, "disk_free", -1),
		until = object_number(n, "certified_until", 0), life = object_number(d->site, "certificate_life", 0),
		left = until - d->now, protocol = object_number(n, "protocol", 0),
		theirs = object_number(d->server, "protocol", 0);
	char text[40];

	if (llabs(ahead) >= CLOCK_OFF)
		doctor_collect(clocks, LEVEL_WARNING, "start a time service there (chrony or systemd-timesyncd)", name,
			       "its clock is %s %s the server's", duration_human(llabs(ahead), text, sizeof text),
			       ahead > 0 ? "ahead of" : "behind");
	if (free_ >= 0 && free_ < DISK_LOW)
		doctor_collect(disks, LEVEL_WARNING, "free some space there", name, "the agent's directory has %s left",
			       memory_human(free_, text, sizeof text));
	/* Agents renew when a third of the lifetime is left. */
	if (until && life && left < life / 6)
		doctor_collect(
			certificates, left <= 0 ? LEVEL_PROBLEM : LEVEL_WARNING,
			"start shunt-agent there; if it says that its certificate has expired, join again with 'shunt join'",
			name,
			left <= 0 ? "its certificate has expired"
				  : "its certificate was not renewed, and expires soon");
	if (protocol && theirs && protocol != theirs)
		doctor_collect(versions, LEVEL_WARNING,
			       protocol < theirs ? "install the server's version there, and restart shunt-agent"
						 : "upgrade the server, which should be the first to be upgraded",
			       name, "its agent has protocol %lld, the server %lld", (long long)protocol,
			       (long long)theirs);
	else if (*version && *ours && strcmp(version, ours) != 0)
		doctor_collect(versions, LEVEL_WARNING, "install the same version there, and restart shunt-agent", name,
			       "its agent has version %s, the server %s", version, ours);
}

void doctor_nodes(struct doctor *d)
{
	const json_t *list = json_object_get(d->nodes, "nodes"), *n;
	json_t *services = json_array(), *clocks = json_array(), *disks = json_array(), *certificates = json_array(),
	       *versions = json_array();
	size_t i, away = 0;

	json_array_foreach(list, i, n)
	{
		away += service(d, services, n);
		if (json_object_get(n, "connected"))
			agent(d, n, clocks, disks, certificates, versions);
	}
	if (d->nodes && json_array_size(list) == 0)
		doctor_find(d, LEVEL_PROBLEM, "nodes", "add some with 'shunt join', or with nodes in shunt.conf",
			    "the cluster has no nodes");
	else if (away && away == json_array_size(list))
		doctor_find(d, LEVEL_PROBLEM, "nodes", "bring at least one back, see the next lines",
			    "no node is in service");
	doctor_collected(d, "nodes", services);
	doctor_collected(d, "clock", clocks);
	doctor_collected(d, "disk", disks);
	doctor_collected(d, "certificates", certificates);
	doctor_collected(d, "versions", versions);
	doctor_fine(d, "nodes", json_array_size(list) == 1 ? "%zu, which is in service" : "all %zu are in service",
		    json_array_size(list));
	doctor_fine(d, "clock", "no clock differs by %d s or more", CLOCK_OFF);
	if (d->site)
		doctor_fine(d, "certificates", "none expires soon");
	doctor_fine(d, "versions", "all agents have the server's");
}
