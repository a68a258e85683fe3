/*
 * pool_main.c - shunt-pool: a station's daemon, and the commands that create and join pools. `shunt
 * pool` runs it, so that `shunt` itself need not load TLS.
 */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/background.h"
#include "base/descriptors.h"
#include "base/lock.h"
#include "base/logline.h"
#include "base/option.h"
#include "base/ticks.h"
#include "station/pool_internal.h"

static const char usage[] = "usage: shunt-pool create|join|token|run [options]; see 'shunt pool --help'\n";

/* ---- the daemon ---- */

static void on_tick(uv_timer_t *t)
{
	struct pool *p = t->data;
	int64_t now = pool_now(), spent;

	p->mine.load.ours = host_tasks(p, &spent);
	if (now - p->looked >= 1000) {
		pool_load_look(p->load, now, spent);
		guard_spent(p, spent);
		p->looked = now;
	}
	pool_load_report(p->load, &p->mine);
	guests_tick(p);
	links_tick(p);
	clients_tick(p);
	discover_tick(p, now);
	identity_turn(p, now);
	origin_place(p);
}

static void leave(struct pool *p)
{
	if (p->stopping)
		return;
	p->stopping = true;
	pool_guard_stop(p);
	discover_stop(p);
	host_stop(p);
	clients_stop(p);
	links_stop(p);
	listener_close(p->listener);
	uv_close((uv_handle_t *)&p->tick, NULL);
	uv_close((uv_handle_t *)&p->leases, NULL);
	uv_close((uv_handle_t *)&p->term, NULL);
	uv_close((uv_handle_t *)&p->interrupt, NULL);
}

static void on_end(uv_signal_t *s, int number)
{
	leave(s->data);
}

static int user_find(struct pool *p, struct err *err)
{
	const struct passwd *pw = geteuid() == 0 ? getpwnam(p->conf.user) : NULL;

	if (geteuid() != 0)
		return 0;
	if (!pw || pw->pw_uid == 0)
		return err_set(err, -EINVAL, "tasks can't run as %s: name another user with 'shunt pool start --user'",
			       p->conf.user);
	p->user = (struct pool_user){.uid = pw->pw_uid, .gid = pw->pw_gid, .name = p->conf.user};
	return 0;
}

/* Opens the port. Port 0 tries the previous one first, since all other stations know it. */
static int port_open(struct pool *p, struct err *err)
{
	static const struct listener_limits limits = {.connections = 20000,
						      .strangers = 64,
						      .strangers_per_address = 64,
						      .links_per_host = 4,
						      .handshake_seconds = 10,
						      .idle_seconds = 60};
	static const struct listener_events events = {.link = guest_serve, .spool = joiner_serve};
	size_t n = strlen(p->conf.listen);
	bool any = strcmp(p->conf.listen, "0") == 0 || (n > 1 && strcmp(p->conf.listen + n - 2, ":0") == 0);
	char last[PEER_WHERE_SIZE + 8];
	int rc = -EADDRINUSE;

	snprintf(last, sizeof last, "%.*s%d", (int)n - 1, p->conf.listen, p->conf.last_port);
	if (any && p->conf.last_port)
		rc = listener_open(p->loop, last, p->identity.listens, &limits, &events, p, &p->listener, NULL);
	if (rc < 0)
		rc = listener_open(p->loop, p->conf.listen, p->identity.listens, &limits, &events, p, &p->listener,
				   err);
	if (rc < 0)
		return rc;
	p->port = listener_port(p->listener);
	if (any && p->port != p->conf.last_port) {
		p->conf.last_port = p->port;
		rc = pool_conf_store(&p->home, &p->conf, err);
	}
	return rc;
}

static int bring_up(struct pool *p, struct err *err)
{
	int rc = identity_load(p, err);

	p->loop = uv_default_loop();
	p->leave = leave;
	p->run = (uint64_t)clock_us(CLOCK_REALTIME);
	p->table.rule = p->conf.rule;
	rng_seed(&p->gossip.rng, p->run ^ (uint64_t)getpid() << 40);
	if (rc == 0)
		rc = removed_load(p, err);
	if (rc == 0)
		rc = user_find(p, err);
	if (rc == 0)
		rc = port_open(p, err);
	if (rc == 0)
		rc = cgroup_init(&p->cgroup, "auto", p->home.dir, err);
	if (rc < 0)
		return rc;
	p->user.cgroup = &p->cgroup;
	p->load = pool_load_create(p->conf.cgroup[0] ? p->conf.cgroup : NULL, p->conf.speed, p->conf.cpus);
	p->mine = (struct peer_report){.run = p->run, .seq = 1};
	pool_load_look(p->load, pool_now(), 0);
	pool_load_report(p->load, &p->mine);
	p->told = p->mine;
	if ((rc = links_start(p, err)) < 0 || (rc = pool_guard_start(p, err)) < 0 || (rc = clients_start(p, err)) < 0)
		return rc;
	discover_start(p);
	uv_timer_init(p->loop, &p->tick);
	uv_timer_init(p->loop, &p->leases);
	uv_signal_init(p->loop, &p->term);
	uv_signal_init(p->loop, &p->interrupt);
	p->tick.data = p->term.data = p->interrupt.data = p;
	uv_timer_start(&p->tick, on_tick, 0, (uint64_t)p->conf.interval_ms);
	uv_signal_start(&p->term, on_end, SIGTERM);
	uv_signal_start(&p->interrupt, on_end, SIGINT);
	return 0;
}

static void tear_down(struct pool *p)
{
	struct host *next;

	for (int i = 0; i < 10; i++)
		uv_run(p->loop, UV_RUN_NOWAIT);
	origin_stop(p);
	for (struct host *h = p->hosts; h; h = next) {
		next = h->next;
		free(h->rumors);
		free(h);
	}
	for (size_t i = 0; i < p->numbered.n; i++)
		free(p->numbered.v[i]);
	vec_free(&p->numbered);
	gossip_fini(&p->gossip);
	pool_table_fini(&p->table);
	removed_fini(&p->removed);
	cgroup_fini(&p->cgroup);
	pool_load_free(p->load);
	identity_drop(p);
}

static int pool_lock(const struct pool_home *h, struct err *err)
{
	char pid[LOCK_PID_SIZE];
	struct strbuf path = {0};
	int fd, rc;

	pool_home_path(h, "lock", &path);
	fd = open(path.text, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		err_set(err, -errno, "%.300s: %s", path.text, strerror(errno));
	else if ((rc = lock_take(fd, pid)) < 0) {
		close(fd);
		fd = rc == -EBUSY ? err_set(err, rc, "the pool's daemon runs here already (process %s)", pid)
				  : err_set(err, rc, "%.300s: %s", path.text, strerror(-rc));
	} else if (ftruncate(fd, 0) == 0)
		dprintf(fd, "%d\n", getpid());
	strbuf_fini(&path);
	return fd;
}

static int serve(struct pool *p, int ready, struct err *err)
{
	int lock = pool_lock(&p->home, err);

	if (lock < 0)
		return lock;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	int rc = bring_up(p, err);

	if (rc < 0)
		return rc;
	log_line(SEVERITY_NOTICE, "up: station %s of pool %s, port %d, policy %s", p->conf.name, p->conf.pool, p->port,
		 place_name(p->conf.rule.policy));
	if (ready >= 0) {
		if (write(ready, "+", 1) != 1)
			return err_set(err, -EIO, "nobody waits for it");
		close(ready);
	}
	uv_run(p->loop, UV_RUN_DEFAULT);
	tear_down(p);
	return 0;
}

/* Continues in the background with its log in DIR/log; returns when the daemon is up. */
static int daemonise(struct pool *p, struct err *err)
{
	struct strbuf log = {0};
	int ready;

	pool_home_path(&p->home, "log", &log);
	int rc = background_begin(log.text, 0600, &ready, err);
	strbuf_fini(&log);
	if (rc != 0)
		return rc > 0 ? 0 : rc;
	rc = serve(p, ready, err);
	if (rc < 0)
		dprintf(ready, "-%s", err->text);
	return rc;
}

/* ---- the command line ---- */

struct arguments {
	struct pool *pool;
	struct pool_conf conf; /* becomes the pool's */
	bool foreground, no_start, no_multicast;
	const char *token_file, *speed, *policy, *k1, *k2;
	int64_t seconds;
};

#define AT(field) offsetof(struct arguments, field)
#define CHARS(word, field) OPTION(CHARS, 0, word, conf.field, "TEXT", NULL, .max = sizeof((struct pool_conf *)0)->field)
static const struct option rows[] = {
	CHARS("name", name),
	CHARS("pool", pool),
	CHARS("listen", listen),
	CHARS("user", user),
	CHARS("owner", owner),
	CHARS("cgroup", cgroup),
	OPTION(INT, 0, "interval-ms", conf.interval_ms, "N", NULL, .min = 10, .max = 3600000),
	OPTION(INT, 0, "lease-ms", conf.lease_ms, "N", NULL, .min = 100, .max = 3600000),
	OPTION(INT, 0, "gossip-from", conf.gossip_from, "N", NULL, .min = 1, .max = PEER_MEMBERS_MOST),
	OPTION(INT, 0, "cpus", conf.cpus, "N", NULL, .min = 1, .max = 65536),
	OPTION(TEXT, 0, "speed", speed, "FACTOR", NULL),
	OPTION(TEXT, 0, "policy", policy, "POLICY", NULL),
	OPTION(TEXT, 0, "k1", k1, "K", NULL),
	OPTION(TEXT, 0, "k2", k2, "K", NULL),
	OPTION(FILE, 0, "token-file", token_file, "FILE", NULL),
	OPTION(NUMBER, 0, "valid", seconds, "SECONDS", NULL, .min = 1, .max = INT64_MAX),
	FLAG(0, "no-multicast", no_multicast, NULL),
	FLAG(0, "foreground", foreground, NULL),
	FLAG(0, "no-start", no_start, NULL),
	{0},
};

/* Reads the options into the pool's settings; *ret_word is the first other word, or NULL. */
static int parse(int argc, char **argv, struct arguments *a, const char **ret_word, struct err *err)
{
	char **operand = mem_zalloc((size_t)(argc + 1) * sizeof *operand), *end = "";
	struct owner_rules rules;
	int n, rc;

	a->conf = a->pool->conf;
	rc = options_read(&(struct options){.rows = rows}, argc, argv, a, operand, &n, err);
	*ret_word = rc == 0 && n ? operand[0] : NULL;
	free(operand);
	if (rc > 0)
		return err_set(err, -EINVAL, "see 'shunt pool --help'");
	if (rc == 0 && a->speed)
		a->conf.speed = strtod(a->speed, &end);
	if (rc == 0 && a->speed && (*end || !(a->conf.speed > 0.001 && a->conf.speed < 1e6)))
		return err_set(err, -EINVAL, "--speed %s: it must be a number above 0.001 and below 1000000", a->speed);
	if (rc == 0 && strcmp(a->conf.owner, "none") != 0 && (rc = owner_rules_parse(a->conf.owner, &rules, err)) < 0)
		err_prefix(err, rc, "--owner %s", a->conf.owner);
	if (rc == 0 && a->policy && !place_find(a->policy, &a->conf.rule.policy))
		return err_set(err, -EINVAL, "no policy is called %s", a->policy);
	if (rc == 0)
		rc = place_weight_read("k1", a->k1, &a->conf.rule.k1, err);
	if (rc == 0)
		rc = place_weight_read("k2", a->k2, &a->conf.rule.k2, err);
	a->conf.multicast &= !a->no_multicast;
	if (rc == 0)
		a->pool->conf = a->conf;
	return rc;
}

/* Does the part common to create and join: sets the name, and checks that there is no pool yet. */
static int begin(struct pool *p, struct err *err)
{
	struct pool_conf old;
	char host[256] = "localhost";
	int rc = pool_conf_load(&p->home, &old, NULL);

	if (rc != -ENOENT)
		return err_set(err, -EEXIST, "this machine is in a pool already: remove %.300s to leave it",
			       p->home.dir);
	gethostname(host, sizeof host - 1);
	if (!p->conf.name[0])
		snprintf(p->conf.name, sizeof p->conf.name, "%.*s", (int)strcspn(host, ".") % PEER_NAME_SIZE, host);
	if (!p->conf.pool[0])
		snprintf(p->conf.pool, sizeof p->conf.pool, "%s", p->conf.name);
	return pool_home_make(&p->home, err);
}

static int run(struct arguments *a, struct err *err)
{
	return a->no_start ? 0 : a->foreground ? serve(a->pool, -1, err) : daemonise(a->pool, err);
}

static int create(struct arguments *a, struct err *err)
{
	struct pool *p = a->pool;
	int rc = begin(p, err);

	if (rc == 0)
		rc = pool_authority_create(&p->home, &p->conf, err);
	if (rc == 0)
		printf("Created pool %s; this machine is its station %s.\n", p->conf.pool, p->conf.name);
	fflush(stdout);
	return rc < 0 ? rc : run(a, err);
}

static int join(struct arguments *a, const char *seed, struct err *err)
{
	struct pool *p = a->pool;
	char *token = token_read(a->token_file ? a->token_file : "-", err);
	int rc = !token ? -EINVAL : begin(p, err);

	if (rc == 0)
		rc = pool_join(&p->home, &p->conf, seed, token, err);
	free(token);
	if (rc == 0)
		printf("This machine is station %s of pool %s.\n", p->conf.name, p->conf.pool);
	fflush(stdout);
	return rc < 0 ? rc : run(a, err);
}

static int token(struct arguments *a, struct err *err)
{
	char text[TOKEN_SIZE];
	int rc = pool_token_create(&a->pool->home, (int64_t)time(NULL), a->seconds, text, err);

	if (rc == 0)
		puts(text);
	return rc;
}

int main(int argc, char **argv)
{
	static struct pool p = {.conf = POOL_CONF_DEFAULT};
	struct arguments a = {.pool = &p, .seconds = 86400};
	const char *what = argc > 1 ? argv[1] : "";
	bool fresh = strcmp(what, "create") == 0 || strcmp(what, "join") == 0, runs = strcmp(what, "run") == 0;
	struct err err = {.text = ""};
	const char *seed = NULL;
	int rc;

	if (!fresh && !runs && strcmp(what, "token") != 0) {
		fputs(usage, stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	descriptors_raise();
	umask(077);
	rc = pool_home_find(&p.home, &err);
	if (rc == 0 && !fresh)
		rc = pool_conf_load(&p.home, &p.conf, &err);
	if (rc == 0)
		rc = parse(argc - 2, argv + 2, &a, &seed, &err);
	if (rc == 0 && runs && (rc = pool_conf_store(&p.home, &p.conf, &err)) == 0)
		rc = run(&a, &err);
	else if (rc == 0 && strcmp(what, "create") == 0)
		rc = create(&a, &err);
	else if (rc == 0 && fresh)
		rc = join(&a, seed, &err);
	else if (rc == 0 && !runs)
		rc = token(&a, &err);
	if (rc < 0)
		log_fatal("shunt-pool", "%s", err.text);
	return rc < 0;
}
