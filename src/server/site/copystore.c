/* copystore.c - `shuntd --copy-store FROM TO`, which `shunt store copy` runs: names of stores,
 * and output. */
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/strbuf.h"
#include "server/server.h"
#include "server/settings/conf.h"
#include "server/site/copystore.h"
#include "store/copy.h"
#include "store/store.h"

/* Reads the name of a store; "conf:FILE" is the store of a configuration file. A password is
 * accepted only from there, since everyone can read a command line. */
static int url_read(const char *text, char *url, size_t size, struct err *err)
{
	struct conf conf;
	int rc;

	if (strlen(text) >= size)
		return err_set(err, -EINVAL, "the name of the store is too long: at most %zu bytes", size - 1);
	if (strncmp(text, "conf:", 5) != 0) {
		snprintf(url, size, "%s", text);
		return !store_url_has_password(text)
			       ? 0
			       : err_set(err, -EINVAL,
					 "the URL has a password, which every user of this machine can read on a command line. Put it "
					 "into ~/.pgpass or the file that PGPASSFILE names (mode 0600), or give conf:FILE, a configuration file whose 'store' has it");
	}
	conf_init(&conf);
	rc = conf_load(&conf, text + 5, err);
	snprintf(url, size, "%s", conf.store);
	conf_fini(&conf);
	if (rc == 0 && !*url)
		return err_set(err, -EINVAL, "%s sets no 'store': give the path of the SQLite file", text + 5);
	return rc;
}

/* Refuses to run as root where it would leave files that the server cannot use. */
static int owner_check(const char *url, struct err *err)
{
	const char *path = strncmp(url, "sqlite:", 7) == 0 ? url + 7 : url;
	char dir[PATH_MAX];
	const struct passwd *pw;
	struct stat st;

	if (geteuid() != 0 || strstr(url, "://"))
		return 0;
	snprintf(dir, sizeof dir, "%s", path);
	char *slash = strrchr(dir, '/');
	snprintf(slash ? slash + 1 : dir, 2, "%s", slash ? "" : ".");
	if ((stat(path, &st) < 0 && stat(dir, &st) < 0) || st.st_uid == 0)
		return 0;
	pw = getpwuid(st.st_uid);
	return err_set(err, -EPERM,
		       "%s belongs to %s. Run this command as that user: runuser -u %s -- shunt store copy ...", path,
		       pw ? pw->pw_name : "another user", pw ? pw->pw_name : "USER");
}

/* Sets $HOME, where libpq looks for .pgpass, since runuser and su do not change it. */
static void home_set(void)
{
	const struct passwd *pw = getpwuid(geteuid());
	struct stat st;

	if (pw && (!getenv("HOME") || stat(getenv("HOME"), &st) < 0 || st.st_uid != geteuid()))
		setenv("HOME", pw->pw_dir, 1);
}

struct shown {
	struct progress p;
	char what[64];
};

static void show(void *context, const char *step, const char *rows, uint64_t done, uint64_t total)
{
	struct shown *s = context;
	char what[sizeof s->what];

	snprintf(what, sizeof what, "%s %s", step, rows);
	if (strcmp(what, s->what) != 0) {
		snprintf(s->what, sizeof s->what, "%s", what);
		progress_begin(&s->p, s->what, (int64_t)total);
	}
	progress_at(&s->p, (int64_t)done);
}

static void print_json(const struct store_copied *c)
{
	struct strbuf out = {0};
	char hash[24];
	struct json j;

	json_init(&j, &out, true);
	json_open_object(&j, NULL);
	json_text(&j, "from", c->from);
	json_text(&j, "to", c->to);
	json_text(&j, "id", c->id);
	json_int(&j, "epoch", (int64_t)c->epoch);
	json_bool(&j, "same", true);
	json_open_array(&j, "tables");
	for (int i = 0; i < COPY_TABLES; i++) {
		json_open_object(&j, NULL);
		json_text(&j, "name", c->table[i].name);
		json_int(&j, "rows", (int64_t)c->table[i].rows);
		snprintf(hash, sizeof hash, "%016llx", (unsigned long long)c->table[i].hash);
		json_text(&j, "hash", hash);
		json_close_object(&j);
	}
	json_close_array(&j);
	json_close_object(&j);
	puts(strbuf_text(&out));
	strbuf_fini(&out);
}

/* Appends a number as in "12,345". */
static void count_add(struct strbuf *out, uint64_t n)
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);

	for (size_t i = 0; i < len; i++)
		strbuf_printf(out, "%s%c", i && (len - i) % 3 == 0 ? "," : "", digits[i]);
}

static void print_text(const struct store_copied *c, const char *word)
{
	struct strbuf out = {0};

	for (int i = 0; i < COPY_TABLES; i++) {
		if (!c->table[i].rows)
			continue;
		strbuf_puts(&out, out.n ? ", " : "");
		count_add(&out, c->table[i].rows);
		strbuf_printf(&out, " %s", c->table[i].rows == 1 ? c->table[i].one : c->table[i].all);
	}
	printf("%s %s to %s: %s.\nBoth stores have the same contents.\n", word, c->from, c->to, strbuf_text(&out));
	strbuf_fini(&out);
}

int copy_show(const struct copy_words *w, const char *from, const char *to, struct err *err)
{
	struct store_copied copied;
	struct shown shown = {0};
	int rc = store_copy(from, to, w->live, show, &shown, &copied, err);

	progress_end(&shown.p);
	if (rc == 0 && w->name && rename(to, w->name) < 0)
		rc = err_set(err, -errno, "%s: %s", w->name, strerror(errno));
	if (w->name)
		snprintf(copied.to, sizeof copied.to, "%s", w->name);
	if (rc == 0 && w->json)
		print_json(&copied);
	else if (rc == 0)
		print_text(&copied, w->done);
	return rc;
}

int copy_store(const char *from, const char *to, bool json, struct err *err)
{
	char source[2048], target[2048];
	int rc = url_read(from, source, sizeof source, err);

	if (rc == 0)
		rc = url_read(to, target, sizeof target, err);
	if (rc == 0)
		rc = owner_check(source, err);
	if (rc == 0)
		rc = owner_check(target, err);
	if (rc < 0)
		return rc;
	home_set();
	rc = copy_show(&(struct copy_words){.done = "Copied", .json = json}, source, target, err);
	if (rc == 0 && !json)
		puts("Now set 'store' in the configuration file to the new store and start the server. Do not use the old one any more.");
	return rc;
}
