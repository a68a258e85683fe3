/*
 * home.c - an agent's directories and files.
 */
#include "agent/home.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/codec.h"
#include "base/file.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/program.h"
#include "tls/tls.h"

#define FILE_MOST (1 << 20)
#define PATH_ROOM 64 /* bytes for names appended to a directory */

/* ---- directories ---- */

/* Finds the commands next to this program in the build tree, or in PREFIX/bin. */
static void bin_find(struct home *h, const char *dir)
{
	static const char *const beside[] = {"../cmd", "../bin", "."};
	char path[PATH_MAX + 32];

	for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
		snprintf(path, sizeof path, "%s/%s/pbs_rsh", dir, beside[i]);
		if (access(path, X_OK) < 0)
			continue;
		*strrchr(path, '/') = '\0';
		if (realpath(path, h->bin))
			return;
	}
	snprintf(h->bin, sizeof h->bin, "/usr/bin");
}

/* Finds the nursery; without it, this program is used, which is larger to fork. */
static void nursery_find(struct home *h, const char *dir)
{
	static const char *const beside[] = {".", "../server"};

	for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
		snprintf(h->nursery, sizeof h->nursery, "%.*s/%s/shunt-nursery", PATH_MAX - PATH_ROOM, dir, beside[i]);
		if (access(h->nursery, X_OK) == 0)
			return;
	}
	snprintf(h->nursery, sizeof h->nursery, "%s", h->program);
}

int home_find(struct home *h, struct err *err)
{
	const char *given = getenv("SHUNT_AGENT_HOME");
	char dir[PATH_MAX];
	int rc = program_self(h->program, sizeof h->program, err);

	if (rc < 0)
		return rc;
	h->given = given && *given;
	if (h->given && given[0] != '/')
		return err_set(err, -EINVAL, "SHUNT_AGENT_HOME=%s: it must be an absolute path", given);
	if (!h->given && geteuid() != 0)
		return err_set(err, -EPERM, "the agent needs root: jobs run under their users' accounts");
	if (h->given && strlen(given) > PATH_MAX - PATH_ROOM)
		return err_set(err, -ENAMETOOLONG, "SHUNT_AGENT_HOME is too long");
	snprintf(h->state, sizeof h->state, "%s", h->given ? given : "/var/lib/shunt-agent");
	snprintf(h->run, sizeof h->run, "%.*s%s", PATH_MAX - PATH_ROOM, h->given ? given : "",
		 h->given ? "/run" : "/run/shunt-agent");
	snprintf(dir, sizeof dir, "%s", h->program);
	*strrchr(dir, '/') = '\0';
	bin_find(h, dir);
	nursery_find(h, dir);
	return 0;
}

static int directory_make(const char *path, mode_t mode, struct err *err)
{
	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return err_set(err, -errno, "%s: can't be made: %s", path, strerror(errno));
	if (chmod(path, mode) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

/* Makes the directories. Users pass through STATE to their scripts, node files and temporary
 * directories, and see nothing else of it. */
int home_make(const struct home *h, struct err *err)
{
	static const struct {
		const char *name;
		mode_t mode;
	} below[] = {{"live", 0700},  {"scripts", 0711}, {"nodes", 0755},	 {"tmp", 0711},
		     {"spool", 0711}, {"offline", 0755}, {"offline/views", 0711}};
	char path[PATH_MAX + 16];
	int rc = directory_make(h->state, 0711, err);

	if (rc == 0)
		rc = directory_make(h->run, 0755, err);
	for (size_t i = 0; i < sizeof below / sizeof *below && rc == 0; i++) {
		snprintf(path, sizeof path, "%s/%s", h->state, below[i].name);
		rc = directory_make(path, below[i].mode, err);
	}
	return rc;
}

int home_lock(const struct home *h, struct err *err)
{
	char path[PATH_MAX + 16], pid[LOCK_PID_SIZE];
	int fd, rc;

	snprintf(path, sizeof path, "%s/agent.pid", h->run);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if ((rc = lock_take(fd, pid)) < 0) {
		close(fd);
		return rc == -EBUSY ? err_set(err, rc, "an agent runs here already (process %s, %s)", pid, path)
				    : err_set(err, rc, "%s: %s", path, strerror(-rc));
	}
	if (ftruncate(fd, 0) == 0)
		dprintf(fd, "%d\n", getpid());
	return fd;
}

/* ---- files ---- */

int home_read(const struct home *h, const char *name, struct strbuf *ret, struct err *err)
{
	char path[PATH_MAX + 32];
	int rc;

	snprintf(path, sizeof path, "%s/%s", h->state, name);
	rc = file_read(path, O_NOFOLLOW, FILE_MOST, ret);
	return rc < 0 ? err_set(err, rc, "%s: %s", path, strerror(-rc)) : 0;
}

int home_write(const struct home *h, const char *name, int mode, const char *text, size_t n, struct err *err)
{
	char path[PATH_MAX + 32];
	int rc;

	snprintf(path, sizeof path, "%s/%s", h->state, name);
	rc = file_replace(path, mode, text, n, REPLACE_SYNC);
	return rc < 0 ? err_set(err, rc, "%s: can't be written: %s", path, strerror(-rc)) : 0;
}

/* ---- agent.json ---- */

#define HAS(field) MEMBER(struct member, field)
static const struct field member_rows[] = {
	{"name", .in = ALWAYS, MEMBER_CHARS(struct member, name)},
	{"cluster", MEMBER_CHARS(struct member, cluster)},
	{"servers", MEMBER_AS(FORM_NAMES, struct member, servers)},
	{"joined_by", MEMBER_CHARS(struct member, joined_by)},
	{"epoch", HAS(epoch)},
	{"port", HAS(port)},
	{"last_port", HAS(last_port)},
	{"cpus", HAS(cpus)},
	{"memory", HAS(memory)},
	{"guest", HAS(guest)},
	{"workstation", HAS(workstation)},
	{"cgroup", MEMBER_CHARS(struct member, cgroup)},
	{"root_jobs", HAS(root_jobs)},
	{"certificate_life", HAS(certificate_life)},
	{"revoked", HAS(revoked)},
	{0},
};

int member_load(const struct home *h, struct member *ret, struct err *err)
{
	struct strbuf text = {0};
	int rc = home_read(h, "agent.json", &text, err);
	json_t *o;

	if (rc < 0)
		return rc == -ENOENT
			       ? err_set(err, rc,
					 "this machine has not joined a cluster: 'shunt token create' on the server prints "
					 "a token, and 'shunt join SERVER TOKEN' here uses it")
			       : rc;
	o = json_loads(strbuf_text(&text), 0, NULL);
	strbuf_fini(&text);
	rc = record_load(member_rows, 0, o, ret, NULL, err);
	json_incref(ret->revoked);
	json_decref(o);
	if (rc < 0) {
		member_fini(ret);
		return err_prefix(err, rc, "%s/agent.json is damaged: remove it, and join again", h->state);
	}
	if (!*ret->cgroup)
		snprintf(ret->cgroup, sizeof ret->cgroup, "auto");
	return 0;
}

int member_store(const struct home *h, const struct member *m, struct err *err)
{
	struct strbuf text = {0};
	struct json j;
	int rc;

	json_init(&j, &text, true);
	json_open_object(&j, NULL);
	record_store(member_rows, 0, m, NULL, &j);
	json_close_object(&j);
	rc = home_write(h, "agent.json", 0644, text.text, text.n, err);
	strbuf_fini(&text);
	return rc;
}

void member_fini(struct member *m)
{
	record_free(member_rows, m);
	json_decref(m->revoked);
	*m = (struct member){0};
}

void member_servers(struct member *m, const json_t *list)
{
	if (json_array_size(list))
		field_read(field_find(member_rows, 0, "servers", NULL), list, m, NULL, NULL);
}

/* ---- keys ---- */

static char *pem_read(const struct home *h, const char *name, struct err *err)
{
	struct strbuf text = {0};

	if (home_read(h, name, &text, err) < 0) {
		strbuf_fini(&text);
		return NULL;
	}
	if (!text.text)
		strbuf_puts(&text, "");
	return text.text;
}

static bool keys_fit(const struct keys *k, struct err *err)
{
	struct tls_options o = {.cert = k->cert, .key = k->key, .ca = k->ca};
	struct tls_context *c;

	if (!k->key || !k->cert || !k->ca || tls_context_create(&o, false, &c, err) < 0)
		return false;
	tls_context_free(c);
	return true;
}

static void keys_restore(const struct home *h)
{
	char now[PATH_MAX + 16], old[PATH_MAX + 16];

	snprintf(now, sizeof now, "%s/node.key", h->state);
	snprintf(old, sizeof old, "%s/node.key.old", h->state);
	rename(old, now);
}

int keys_load(const struct home *h, struct keys *ret, struct err *err)
{
	struct keys k = {.key = pem_read(h, "node.key", err)};

	if (k.key)
		k.cert = pem_read(h, "node.crt", err);
	if (k.cert)
		k.ca = pem_read(h, "ca.crt", err);
	if (k.ca && !keys_fit(&k, err)) { /* a renewal was interrupted between the two renames */
		free(k.key);
		k.key = pem_read(h, "node.key.old", NULL);
		if (keys_fit(&k, NULL))
			keys_restore(h);
	}
	if (!keys_fit(&k, NULL)) {
		keys_fini(&k);
		return err_prefix(err, -EINVAL, "this node's key and certificate in %s can't be used", h->state);
	}
	*ret = k;
	return 0;
}

int keys_store(const struct home *h, const char *key, const char *cert, struct err *err)
{
	char now[PATH_MAX + 16], old[PATH_MAX + 16];
	struct keys k;
	int rc;

	snprintf(now, sizeof now, "%s/node.key", h->state);
	snprintf(old, sizeof old, "%s/node.key.old", h->state);
	unlink(old);
	if (link(now, old) < 0 && errno != ENOENT)
		return err_set(err, -errno, "%s: %s", old, strerror(errno));
	rc = home_write(h, "node.key", 0600, key, strlen(key), err);
	if (rc == 0)
		rc = home_write(h, "node.crt", 0644, cert, strlen(cert), err);
	if (rc == 0)
		unlink(old);
	else if (keys_load(h, &k, NULL) == 0) /* which keeps the key that fits the certificate */
		keys_fini(&k);
	return rc;
}

void keys_fini(struct keys *k)
{
	free(k->key);
	free(k->cert);
	free(k->ca);
	*k = (struct keys){0};
}
