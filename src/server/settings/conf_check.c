/*
 * conf_check.c - checks a configuration file for errors and likely errors: `shuntd --check-conf`.
 *
 * An error keeps the server from starting. A warning does not: options contradict each other, or
 * another user could make root run their program.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/topology.h"
#include "server/settings/conf.h"

struct check {
	const char *path;
	const struct conf *conf;
	const struct conf_report *report;
	struct strbuf *out;
	int warnings;
};

/* Returns the line of an option; 0: not given. `at` is its offset in struct conf. */
static int64_t line_of(const struct check *k, size_t at)
{
	for (int i = 0; i < nconf; i++)
		if (conf_table[i].at == at)
			return k->report->line[i];
	return 0;
}

static void warn(struct check *k, int64_t line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void warn(struct check *k, int64_t line, const char *fmt, ...)
{
	va_list ap;

	strbuf_puts(k->out, k->path);
	if (line)
		strbuf_printf(k->out, ":%lld", (long long)line);
	strbuf_puts(k->out, ": warning: ");
	va_start(ap, fmt);
	strbuf_vprintf(k->out, fmt, ap);
	va_end(ap);
	strbuf_puts(k->out, "\n");
	k->warnings++;
}

/* Returns true if users other than root and ourselves may change the file, by its owner or mode. */
static bool others_may_write(const struct stat *st)
{
	return (st->st_uid != 0 && st->st_uid != geteuid()) || st->st_mode & (S_IWGRP | S_IWOTH);
}

static void file_check(struct check *k)
{
	struct stat st;

	if (stat(k->path, &st) == 0 && S_ISREG(st.st_mode) && others_may_write(&st))
		warn(k, 0,
		     "others may write this file, and it names programs that root runs: chown root and chmod go-w it");
}

/* Returns true if others may write a directory of the path, and so replace the program. Sticky
 * directories do not count. */
static bool way_is_open(const char *path)
{
	char part[4096];
	struct stat st;

	snprintf(part, sizeof part, "%s", path);
	for (char *slash; (slash = strrchr(part, '/')) && slash > part;) {
		*slash = '\0';
		if (stat(part, &st) == 0 && others_may_write(&st) && !(st.st_mode & S_ISVTX))
			return true;
	}
	return false;
}

static void program_check(struct check *k, const char *name, const char *path, size_t at, bool here)
{
	int64_t line = line_of(k, at);
	struct stat st;

	if (!*path || !line)
		return;
	if (stat(path, &st) < 0) {
		warn(k, line, "%s: %s: %s%s", name, path, strerror(errno),
		     here ? "" : " (on this machine; each node needs its own)");
		return;
	}
	if (!S_ISREG(st.st_mode) || !(st.st_mode & 0111))
		warn(k, line, "%s: %s is not executable (chmod +x)", name, path);
	else if (others_may_write(&st) || way_is_open(path))
		warn(k, line, "%s: others may write %s or a directory of its path, and so run what they like as root",
		     name, path);
}

#define LINE(field) line_of(k, offsetof(struct conf, field))

/* Returns the number of errors: a server does not start with an unreadable file of switches. */
static int topology_check(struct check *k)
{
	struct topology *t = NULL;
	struct err err;

	if (!*k->conf->topology)
		return 0;
	if (topology_open(k->conf->topology, &t, &err) == 0) {
		topology_free(t);
		return 0;
	}
	strbuf_printf(k->out, "%s:%lld: topology: %s\n", k->path, (long long)LINE(topology), err.text);
	return 1;
}

static void contradictions_check(struct check *k, bool system)
{
	const struct conf *c = k->conf;
	bool none = strcmp(c->nodes, "none") == 0, silent = strcmp(c->listen, "none") == 0 || (!*c->listen && !system);

	if (none && silent)
		warn(k, LINE(nodes),
		     "nodes = none, and no port for others to join (listen in [cluster]): no job can run");
	if (silent && LINE(address))
		warn(k, LINE(address), "address is given, but no port is open (listen in [cluster])");
	if (silent && LINE(health))
		warn(k, LINE(health), "health is for nodes that join, but no port is open (listen in [cluster])");
	if (silent && c->munge)
		warn(k, LINE(munge), "munge is for other machines, but no port is open (listen in [cluster])");
	if (*c->page_listen && (!*c->page_certificate || !*c->page_key))
		warn(k, LINE(page_listen), "the page is shown over TLS: listen in [page] needs certificate and key");
	if (!*c->page_listen && (LINE(page_certificate) || LINE(page_key)))
		warn(k, LINE(page_certificate) ? LINE(page_certificate) : LINE(page_key),
		     "certificate and key in [page] mean nothing without listen");
	if (c->health_timeout > c->health_every)
		warn(k, LINE(health_timeout) ? LINE(health_timeout) : LINE(health_every),
		     "health_timeout (%lld s) is longer than health_every (%lld s)", (long long)c->health_timeout,
		     (long long)c->health_every);
	if (!*c->health && (LINE(health_every) || LINE(health_timeout)))
		warn(k, LINE(health_every) ? LINE(health_every) : LINE(health_timeout),
		     "health_every and health_timeout mean nothing without health");
	if (c->api_connections_per_user > c->api_connections)
		warn(k, LINE(api_connections_per_user), "connections_per_user is more than connections");
	if (strcmp(c->bind, "yes") == 0 && strcmp(c->nodes, "auto") != 0 && !none)
		warn(k, LINE(bind), "bind = yes needs nodes = auto: virtual nodes have no CPUs of their own");
}

int conf_check(const char *path, bool system, struct strbuf *out, struct err *err)
{
	struct conf conf;
	struct conf_report report;
	struct check k = {.path = path, .conf = &conf, .report = &report, .out = out};
	int rc;

	conf_init(&conf);
	rc = conf_load_all(&conf, path, &report, err);
	if (rc == 0) {
		strbuf_puts(out, strbuf_text(&report.text));
		file_check(&k);
		program_check(&k, "prologue", conf.prologue, offsetof(struct conf, prologue), true);
		program_check(&k, "epilogue", conf.epilogue, offsetof(struct conf, epilogue), true);
		program_check(&k, "health", conf.health, offsetof(struct conf, health), false);
		if (report.mistakes == 0)
			contradictions_check(&k, system);
		rc = report.mistakes + topology_check(&k);
		if (rc == 0)
			strbuf_printf(out, "%s: %d option%s, %s\n", path, report.options,
				      report.options == 1 ? "" : "s",
				      k.warnings ? "which the server takes" : "all right");
	}
	strbuf_fini(&report.text);
	conf_fini(&conf);
	return rc;
}
