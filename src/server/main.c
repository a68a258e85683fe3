/*
 * main.c - shuntd: command line, directories, and the order of startup.
 *
 *	configuration -> lock -> engine (its nursery starts while the server is root) -> store
 *	-> lead, or stand by until it leads (standby.c) -> recovery -> sockets -> ready
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <malloc.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "base/background.h"
#include "base/descriptors.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/logline.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/option.h"
#include "base/program.h"
#include "base/strbuf.h"
#include "base/unixsock.h"
#include "client/where.h"
#include "core/cluster.h"
#include "engine/engine.h"
#include "engine/tasks.h"
#include "hooks/worker.h"
#include "net/http.h"
#include "rules/attr.h"
#include "run/live.h"
#include "run/nursery.h"
#include "server/api/page/files.h"
#include "server/api/page/page.h"
#include "server/api/stream/events.h"
#include "server/api/stream/journal.h"
#include "server/api/stream/output.h"
#include "server/api/stream/terminal.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/log.h"
#include "server/base/post.h"
#include "server/base/reader.h"
#include "server/base/reserve.h"
#include "server/base/stats.h"
#include "server/base/turn.h"
#include "server/base/users.h"
#include "server/book/books.h"
#include "server/book/mail.h"
#include "server/book/outbox.h"
#include "server/job/jobs.h"
#include "server/life/enter/submit.h"
#include "server/life/wait/amounts.h"
#include "server/life/world/dispatch.h"
#include "server/life/world/world.h"
#include "server/link/standby.h"
#include "server/loop.h"
#include "server/node/nodes.h"
#include "server/node/world_node.h"
#include "server/offline/offline.h"
#include "server/offline/spool.h"
#include "server/recover.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/backup.h"
#include "server/site/belongings.h"
#include "server/site/copystore.h"
#include "server/site/courier.h"
#include "server/site/hooks.h"
#include "server/site/realm.h"
#include "server/site/signin.h"
#include "server/site/simulator.h"
#include "store/store.h"

#define STOP_FIRST ": stop it first (shunt down)"
#define THREADS "16" /* users.c may use eight of them, uploads four; the others read and sync */

struct arguments {
	const char *nodes, *conf, *name, *store, *cgroup, *check;
	const char *copy_from, *copy_to, *backup, *restore;
	int64_t keep;
	bool foreground, system, set_aside, json, example;
	int ready; /* descriptor to report success or the startup error to; -1: none */
};

static const char usage[] =
	"usage: shuntd [--nodes 4x8] [--conf FILE] [--store URL] [--name NAME] [--foreground] [--system]\n"
	"\n"
	"The server of Shunt. 'shunt up' starts a personal one; a system's is started by its unit.\n"
	"\n"
	"  --nodes NODES   auto (this machine), 4x8 (four virtual nodes of eight CPUs), or n[1-4]:cpus=8\n"
	"  --conf FILE     another configuration file\n"
	"  --store URL     sqlite:PATH or postgres://...\n"
	"  --name NAME     the part after the dot of job ids; the host's name if not given\n"
	"  --foreground    stay, and log to standard error\n"
	"  --system        jobs of many users, under their own accounts; needs root\n"
	"  --set-aside     move the files of another store away, so that a server with a new store can start; then end\n"
	"  --copy-store FROM TO  copy a store to a new one ('shunt store copy'); --json prints the result as JSON\n"
	"  --backup DIRECTORY  write the store to a new file there ('shunt backup'); --keep N removes older ones\n"
	"  --restore FILE  put the contents of a backup in the place of the store's ('shunt restore')\n"
	"  --check-conf FILE  report everything that is wrong with a configuration file ('shunt config check')\n"
	"  --example-conf  print a configuration file with all options explained\n";

static const char *program = "shuntd"; /* name of the command in messages */
#define die(...) log_fatal(program, __VA_ARGS__)

static int make_directory(const char *path, mode_t mode, struct err *err)
{
	char part[PATH_MAX];

	snprintf(part, sizeof part, "%s", path);
	for (char *p = part + 1;; p++) {
		if (*p && *p != '/')
			continue;
		char c = *p;
		*p = '\0';
		if (mkdir(part, mode) < 0 && errno != EEXIST)
			return err_set(err, -errno, "%s: %s", part, strerror(errno));
		*p = c;
		if (!c)
			return 0;
	}
}

/* Sets a directory's mode, and its owner if given. The account's own directories may contain
 * links: root changes nothing through a link. */
static int directory_set(const char *path, mode_t mode, const struct passwd *owner, bool follow, struct err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW)), rc = 0;
	struct stat st;

	if (fd < 0 && !follow && lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
		return 0;
	if (fd < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if ((owner && fchown(fd, owner->pw_uid, owner->pw_gid) < 0) || (fchmod(fd, mode) < 0 && owner))
		rc = err_set(err, -errno, "%s: %s", path, strerror(errno));
	close(fd);
	return rc;
}

static int make_directories(struct server *s, struct err *err)
{
	static const struct {
		const char *name;
		mode_t mode, multi;
	} below[] = {{"live", 0700, 0750},	  {"scripts", 0700, 0711}, {"nodes", 0700, 0755},
		     {"undelivered", 0700, 0711}, {"tmp", 0700, 0711},	   {"accounting", 0700, 0750},
		     {"offline", 0700, 0755}};
	const struct passwd *pw =
		s->instance->multi && *s->conf->run_as && geteuid() == 0 ? getpwnam(s->conf->run_as) : NULL;
	char path[PATH_MAX];
	int rc = make_directory(s->instance->where.state, 0755, err);

	if (rc == 0)
		rc = make_directory(s->instance->where.run, 0755, err);
	if (rc == 0) { /* the log's directory, separate in system mode */
		snprintf(path, sizeof path, "%s", s->instance->where.log);
		*strrchr(path, '/') = '\0';
		rc = make_directory(path, 0755, err);
	}
	if (rc == 0)
		rc = directory_set(s->instance->where.state, s->instance->multi ? 0755 : 0700, pw, true, err);
	if (rc == 0)
		rc = directory_set(s->instance->where.run, s->instance->multi ? 0755 : 0700, pw, true, err);
	for (size_t i = 0; i < sizeof below / sizeof *below && rc == 0; i++) {
		snprintf(path, sizeof path, "%s/%s", s->instance->where.state, below[i].name);
		rc = make_directory(path, 0755, err);
		if (rc == 0)
			rc = directory_set(path, s->instance->multi ? below[i].multi : below[i].mode, pw, !pw, err);
	}
	return rc;
}

/* Allows one server per instance: the lock lives as long as the process. `advice` is for a user
 * whose instance has a server. */
static int lock_instance(struct server *s, const char *advice, struct err *err)
{
	char path[PATH_MAX], pid[LOCK_PID_SIZE];
	int fd, rc;

	snprintf(path, sizeof path, "%s/shuntd.pid", s->instance->where.run);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		  0644); /* the directory belongs to the account, and we may be root */
	if (fd < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if ((rc = lock_take(fd, pid)) < 0) {
		close(fd);
		return rc == -EBUSY
			       ? err_set(err, rc, "a server runs here already (process %s, %s)%s", pid, path, advice)
			       : err_set(err, rc, "%s: %s", path, strerror(-rc));
	}
	s->instance->lock = fd;
	return 0;
}

static void write_pid(struct server *s)
{
	if (ftruncate(s->instance->lock, 0) == 0)
		dprintf(s->instance->lock, "%d\n", getpid());
}

static int failed(const struct arguments *a, const char *text)
{
	if (a->ready >= 0) {
		dprintf(a->ready, "-%s", text);
		log_line(SEVERITY_ERROR, "%s", text);
		return 1;
	}
	return die("%s", text);
}

static void host_name(struct server *s)
{
	char host[256] = "localhost";

	gethostname(host, sizeof host - 1);
	host[strcspn(host, ".")] = '\0';
	s->instance->host = mem_strdup(host);
	s->instance->name = mem_strdup(*s->conf->name ? s->conf->name : host);
}

/* Returns where the store is, owned by the caller. */
static char *store_url(const struct server *s)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof path, "sqlite:%s/shunt.db", s->instance->where.state);
	return mem_strdup(*s->conf->store ? s->conf->store : path);
}

/* Changes to the server's own account in system mode; only the nursery stays root. */
static int drop_root(struct server *s, struct err *err)
{
	const struct passwd *pw = getpwnam(s->conf->run_as);

	if (!s->instance->multi || geteuid() != 0)
		return 0;
	if (!pw)
		return err_set(
			err, -ENOENT,
			"there is no account \"%s\" to run the server under (account in the configuration; useradd --system %s)",
			s->conf->run_as, s->conf->run_as);
	if (setgroups(0, NULL) < 0 || setgid(pw->pw_gid) < 0 || setuid(pw->pw_uid) < 0)
		return err_set(err, -errno, "becoming %s: %s", s->conf->run_as, strerror(errno));
	s->instance->uid = pw->pw_uid;
	/* libpq looks for .pgpass there, and root's shell has set its own */
	setenv("HOME", pw->pw_dir, 1);
	setenv("USER", pw->pw_name, 1);
	setenv("LOGNAME", pw->pw_name, 1);
	return 0;
}

static void mail_say(void *context, const char *text)
{
	server_log(context, SEVERITY_WARNING, "%s", text);
}

/* Finds pbs_rsh with the commands: in the build tree, or in PREFIX/bin. Resolves the directory
 * but not the link, because the program acts by its name. */
static void find_rsh(struct server *s)
{
	static const char *const beside[] = {"cmd", "bin"};
	char path[PATH_MAX + 16], dir[PATH_MAX];
	int n = (int)(strrchr(s->instance->program, '/') ? strrchr(s->instance->program, '/') - s->instance->program
							 : 0);

	snprintf(s->instance->rsh, sizeof s->instance->rsh, "pbs_rsh");
	for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
		snprintf(path, sizeof path, "%.*s/../%s", n, s->instance->program, beside[i]);
		if (!realpath(path, dir))
			continue;
		snprintf(path, sizeof path, "%s/pbs_rsh", dir);
		if (access(path, X_OK) == 0) {
			snprintf(s->instance->rsh, sizeof s->instance->rsh, "%.*s", (int)sizeof s->instance->rsh - 1,
				 path);
			return;
		}
	}
}

static void on_opened(void *context, uint64_t id, int fd, const char *reason)
{
	if (!files_opened(context, id, fd, reason))
		output_opened(context, id, fd, reason);
}

/* Does the setup that leading and standby servers share. */
static int prepare(struct server *s, struct err *err)
{
	char live[PATH_MAX], socket[PATH_MAX], nursery[PATH_MAX], spool[PATH_MAX];
	struct engine_listener listener = dispatch_engine;
	struct local_options o = {.program = nursery,
				  .live = live,
				  .socket = socket,
				  .cgroup = s->conf->cgroup,
				  .spool = spool,
				  .root_jobs = s->conf->root_jobs || !s->instance->multi,
				  .drop = s->instance->multi && geteuid() == 0};
	int rc;

	if (program_beside("shunt-nursery", nursery, sizeof nursery, NULL) < 0)
		snprintf(nursery, sizeof nursery, "%s",
			 s->instance->program); /* works as well, but a fork of it is more expensive */
	snprintf(live, sizeof live, "%s/live", s->instance->where.state);
	snprintf(socket, sizeof socket, "%s/engine.sock", s->instance->where.run);
	snprintf(spool, sizeof spool, "%s/undelivered", s->instance->where.state);
	s->loop = uv_default_loop();
	uv_loop_configure(s->loop, UV_METRICS_IDLE_TIME);
	listener.context = s;
	listener.opened = on_opened;
	s->hosts->stream = stream_taken;
	s->hosts->lease = spool_lease;
	s->hosts->kept = spool_frame;
	s->post->show = stream_event;
	s->post->show_life = stream_life;
	s->post->show_move = journal_move;
	s->post->heard = journal_heard;
	s->world->grow = job_grow;
	clock_read(s);
	/* the range of JSON integers */
	s->instance->boot = hash_bytes(live_boot(), strlen(live_boot())) & INT64_MAX;
	s->stats->began = s->clock->now;
	attrs_init(s->attrs, ATTR_SERVER);
	if ((rc = world_nodes(s, err)) < 0)
		return rc;
	s->hosts->here = (uint32_t)s->hosts->nodes.n;
	/* must run while we are root */
	if ((rc = engine_create(s->loop, &o, &listener, &s->engine, err)) < 0)
		return rc;
	signin_start(s); /* must run while we are root */
	if ((rc = drop_root(s, err)) < 0)
		return rc;
	s->reader->url = store_url(s);
	reserve_open(s, s->reader->url);
	rc = store_open(s->reader->url, &s->store, err);
	if (rc == -ENOSPC && reserve_release(s))
		rc = store_open(s->reader->url, &s->store, err);
	if (rc < 0)
		return rc;
	reserve_lacks(s);
	belongings_begin(s);
	return belongings_check(s, err);
}

static void outbox_wake(void *context)
{
	turn_wake(context);
}

static int bring_up(struct server *s, struct err *err)
{
	const struct outbox_host host = {s->loop, outbox_wake, s};
	char path[PATH_MAX + 16];
	int rc;

	snprintf(path, sizeof path, "%s/accounting", s->instance->where.state);
	if ((rc = outbox_open(
		     s->store,
		     &(struct outbox_place){OUTBOX_ACCOUNTING, *s->conf->accounting ? s->conf->accounting : path, NULL},
		     &host, &s->books->outbox, err)) < 0 ||
	    (rc = outbox_open(s->store, &(struct outbox_place){OUTBOX_JOURNAL, s->instance->where.state, "events.log"},
			      &host, &s->books->journal, err)) < 0)
		return rc;
	s->books->mailer = mailer_start(s->loop, mail_say, s);
	if ((rc = server_recover(s, err)) < 0)
		return rc;
	if ((rc = realm_begin(s, err)) < 0)
		return rc;
	s->realm->lead_us = s->clock->boot_us;
	recover_defaults(s);
	for (uint32_t i = 0; i < s->hosts->nodes.n; i++) {
		if (node_gone(&s->hosts->nodes.v[i].life) && !s->hosts->nodes.v[i].mentioned)
			store_drop_object(s->store, "node", names_get(&s->cluster->node_names, i));
		else
			world_node_store(s, i);
	}
	recover_attempts(s);
	belongings_sweep(s);
	if (s->jobs->next_number == 0)
		s->jobs->next_number = 1;
	if (s->jobs->next_script == 0)
		s->jobs->next_script = 1;
	hooks_begin(s);
	amounts_start(s);
	return terminals_begin(s, err);
}

/* Opens the port for other machines: their agents, the API over TLS, and tasks of jobs that run
 * on this machine and on others. */
static int serve_others(struct server *s, struct err *err)
{
	char socket[PATH_MAX + 16], live[PATH_MAX + 16];
	struct tasks_options o = {.socket = socket, .live = live, .name = s->instance->name};
	int rc = realm_listen(s, lead_link, err);

	realm_files(s);
	if (rc < 0)
		return rc;
	if (!s->realm->listener)
		o.socket = NULL;
	snprintf(socket, sizeof socket, "%s/agent.sock", s->instance->where.run);
	snprintf(live, sizeof live, "%s/live", s->instance->where.state);
	o.tls = o.socket ? realm_tls(s) : NULL;
	if (s->realm->tasks) /* the port was opened for the first overlay */
		return o.socket ? tasks_open(s->realm->tasks, o.socket, o.tls, err) : 0;
	return tasks_start(s->loop, &o, &s->realm->tasks, err);
}

static int open_socket(struct server *s, struct err *err)
{
	char path[PATH_MAX];
	int fd;

	if (s->http)
		return 0;
	snprintf(path, sizeof path, "%s/shuntd.sock", s->instance->where.run);
	fd = unix_listen(path, s->instance->multi ? 0666 : 0600, err);
	return fd < 0 ? fd : loop_open(s, fd, err);
}

static void say_ready(struct server *s, struct arguments *a)
{
	write_pid(s);
	if (a->ready < 0)
		return;
	if (write(a->ready, "+", 1) != 1)
		server_log(s, SEVERITY_WARNING, "the parent process has exited");
	close(a->ready);
	a->ready = -1;
}

/* Takes the lead, or stands by until it can. Returns 1 if the server was stopped before it led. */
static int lead_or_stand_by(struct server *s, struct arguments *a, struct err *err)
{
	int rc = lead_take(s, err);

	if (rc != -EBUSY || !lead_leased(s))
		return rc;
	if ((rc = open_socket(s, err)) < 0)
		return rc;
	say_ready(s, a);
	return standby_wait(s);
}

static void stop(struct server *s)
{
	char path[PATH_MAX];

	lead_end(s);
	hooks_end(s);
	courier_end(s);
	simulator_end(s);
	/* A socket without a listener means that the server is being restarted: commands wait
	 * for it. */
	snprintf(path, sizeof path, "%s/shuntd.sock", s->instance->where.run);
	if (s->turn->dismissed)
		unlink(path);
	terminals_end(s);
	entered_end(s);
	page_close(s);
	realm_close(s);
	if (s->realm->tasks)
		tasks_stop(s->realm->tasks);
	engine_stop(s->engine);
	store_close(s->store);
}

static int serve(struct server *s, struct arguments *a)
{
	struct err err;
	int rc = prepare(s, &err);

	if (rc == 0)
		rc = lead_or_stand_by(s, a, &err);
	if (rc > 0) {
		http_stop(s->http);
		stop(s);
		server_log(s, SEVERITY_NOTICE, "stopped");
		return 0;
	}
	s->realm->open = serve_others;
	if (rc < 0 || bring_up(s, &err) < 0 || open_socket(s, &err) < 0 || serve_others(s, &err) < 0 ||
	    lead_start(s, &err) < 0 || offline_begin(s, &err) < 0 || offline_open(s, &err) < 0)
		return failed(a, err.text);
	server_log(s, SEVERITY_NOTICE, "up: %zu nodes, %lld jobs, store %s, policy %s", (size_t)s->hosts->nodes.n,
		   (long long)s->jobs->total, store_kind(s->store), attrs_text(s->attrs, SET_POLICY));
	page_open(s);
	belongings_mark(s);
	journal_startup(s);
	say_ready(s, a);
	loop_run(s);
	offline_end(s);
	stop(s);
	server_log(s, SEVERITY_NOTICE, "stopped; running jobs continue");
	return 0;
}

#define AT(field) offsetof(struct arguments, field)
static const struct option rows[] = {
	OPTION(TEXT, 0, "nodes", nodes, "NODES", NULL),
	OPTION(FILE, 0, "conf", conf, "FILE", NULL),
	OPTION(TEXT, 0, "store", store, "URL", NULL),
	OPTION(TEXT, 0, "name", name, "NAME", NULL),
	OPTION(TEXT, 0, "cgroup", cgroup, "PATH", NULL),
	FLAG(0, "foreground", foreground, NULL),
	FLAG(0, "system", system, NULL),
	FLAG(0, "set-aside", set_aside, NULL),
	OPTION(TEXT, 0, "copy-store", copy_from, "FROM", NULL),
	OPTION(DIR, 0, "backup", backup, "DIRECTORY", NULL),
	OPTION(NUMBER, 0, "keep", keep, "N", NULL, .max = 1000000),
	OPTION(FILE, 0, "restore", restore, "FILE", NULL),
	FLAG(0, "json", json, NULL),
	OPTION(FILE, 0, "check-conf", check, "FILE", NULL),
	FLAG(0, "example-conf", example, NULL),
	{0},
};

/* Returns the exit code, or -1: the server is to be started. */
static int parse(int argc, char **argv, struct arguments *a)
{
	char **operand = mem_zalloc((size_t)argc * sizeof *operand);
	int n, rc = options_main(&(struct options){.rows = rows, .own = true}, "shuntd", usage, argc - 1, argv + 1, a,
				 operand, &n);

	a->copy_to = a->copy_from && n > 0 ? operand[0] : NULL;
	if (rc == OPTIONS_VERSION)
		puts("shuntd " SHUNT_VERSION);
	if (rc == 0 && n != (a->copy_from ? 1 : 0)) {
		fputs(usage, stderr);
		rc = -EINVAL;
	}
	if (rc == 0 && a->example) {
		struct strbuf text = {0};
		conf_write_example(&text);
		fputs(strbuf_text(&text), stdout);
		strbuf_fini(&text);
		rc = OPTIONS_HELP;
	}
	free(operand);
	return rc < 0 ? 2 : rc > 0 ? 0 : -1;
}

static int configure(struct server *s, const struct arguments *a, struct err *err)
{
	int rc = a->system && !getenv("SHUNT_HOME") ? where_system(&s->instance->where, err)
						    : where_personal(&s->instance->where, err);

	if (rc < 0)
		return rc;
	s->instance->multi = a->system;
	conf_init(s->conf);
	rc = conf_load(s->conf, a->conf ? a->conf : s->instance->where.conf, err);
	if (rc == -ENOENT && !a->conf)
		rc = 0;
	if (rc == 0 && a->nodes)
		rc = conf_set(s->conf, "nodes", a->nodes, err);
	if (rc == 0 && a->store)
		rc = conf_set(s->conf, "store", a->store, err);
	if (rc == 0 && a->name)
		rc = conf_set(s->conf, "name", a->name, err);
	if (rc == 0 && a->cgroup)
		rc = conf_set(s->conf, "cgroup", a->cgroup, err);
	if (rc == 0 && a->system && geteuid() != 0)
		rc = err_set(
			err, -EPERM,
			"--system needs root: jobs run under their users' accounts. 'shunt up' starts a server of your own");
	return rc;
}

/* Returns 0 if the file is correct, 1 if it has errors, which were printed, 2 if it cannot be
 * read. */
static int check_conf(const char *path, bool system)
{
	struct strbuf text = {0};
	struct err err;
	int rc = conf_check(path, system, &text, &err);

	fputs(strbuf_text(&text), stdout);
	strbuf_fini(&text);
	if (rc < 0)
		die("%s", err.text);
	return rc < 0 ? 2 : rc > 0;
}

/* Runs --backup or --restore, as the account whose files these are. */
static int backup_run(struct server *s, const struct arguments *a, struct err *err)
{
	const struct passwd *pw = s->instance->multi ? getpwnam(s->conf->run_as) : NULL;
	char mark[PATH_MAX];
	struct stat st;
	int rc = 0;

	snprintf(mark, sizeof mark, "%s" BACKUP_MARK, s->instance->where.state);
	if (a->backup && stat(a->backup, &st) < 0) {
		rc = make_directory(a->backup, 0700, err);
		if (rc == 0 && pw)
			rc = directory_set(a->backup, 0700, pw, false, err);
	}
	if (rc == 0 && a->restore)
		rc = lock_instance(s, STOP_FIRST, err);
	if (rc == 0)
		rc = drop_root(s, err);
	if (rc < 0)
		return rc;
	char *url = store_url(s);
	rc = a->backup ? backup_make(url, a->backup, a->keep, mark, a->json, err)
		       : backup_restore(a->restore, url, a->json, err);
	free(url);
	return rc;
}

/* While we are root: the account of the server may not read the file. */
static void log_begin(struct server *s)
{
	enum severity least = SEVERITY_NOTICE;

	severity_parse(s->conf->log_level, &least);
	s->log = log_create(least);
	log_restore(s->log, s->instance->where.log);
}

int main(int argc, char **argv)
{
	struct server *s;
	struct arguments a = {.ready = -1};
	struct err err = {.text = ""};

	if (argc > 1 && strcmp(argv[1], "--nursery") == 0)
		return nursery_command(argc, argv);
	if (argc > 1 && strcmp(argv[1], "--hook") == 0)
		return hook_command();
	int code = parse(argc, argv, &a);
	if (code >= 0)
		return code;
	program = a.backup	? "shunt backup"
		  : a.restore	? "shunt restore"
		  : a.copy_from ? "shunt store copy"
		  : a.check	? "shunt config check"
				: program;
	if (a.check)
		return check_conf(a.check, a.system);
	if (a.copy_from)
		return copy_store(a.copy_from, a.copy_to, a.json, &err) < 0 ? die("%s", err.text) : 0;
	s = server_create();
	/* otherwise one free() merges the chunks that thousands have left, and takes 40 ms */
	mallopt(M_MXFAST, 0);
	signal(SIGPIPE, SIG_IGN);
	descriptors_raise();
	umask(022);
	s->instance->uid = geteuid();
	s->instance->lock = -1;
	if (program_self(s->instance->program, sizeof s->instance->program, NULL) < 0)
		snprintf(s->instance->program, sizeof s->instance->program, "%s", argv[0]);
	find_rsh(s);
	if (configure(s, &a, &err) < 0)
		return die("%s", err.text);
	host_name(s);
	if (make_directories(s, &err) < 0)
		return die("%s", err.text);
	if (a.backup || a.restore)
		return backup_run(s, &a, &err) < 0 ? die("%s", err.text) : 0;
	if (a.set_aside)
		return lock_instance(s, STOP_FIRST, &err) < 0 || belongings_set_aside(s, &err) < 0 ? die("%s", err.text)
												   : 0;
	int rc = a.foreground ? 0 : background_begin(s->instance->where.log, 0640, &a.ready, &err);
	if (rc != 0)
		exit(rc > 0 ? 0 : die("%s", err.text));
	if (lock_instance(s, "", &err) < 0)
		return failed(&a, err.text);
	log_begin(s);
	setenv("UV_THREADPOOL_SIZE", THREADS, 0);
	rc = serve(s, &a);
	/* a lookup that hangs cannot be cancelled, and exit() would wait for its thread */
	if (users_busy(s)) {
		fflush(NULL);
		_exit(rc);
	}
	return rc;
}
