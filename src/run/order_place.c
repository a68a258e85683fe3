/*
 * order_place.c - converts an order of another machine's server to one of this host.
 *
 * The server knows neither the host's directories nor the ids of its users: it writes @STATE@,
 * @RUN@ and @BIN@, and a user name. The agent fills in its directories; the nursery, which looks
 * users up, fills in the rest. Files that the host makes for a job with its own rights (script,
 * node file, spare output) must be in the directories meant for them: a server may order jobs of
 * users, but must not get files of root written or given away.
 */
#include <errno.h>
#include <string.h>

#include "base/vec.h"
#include "run/identity.h"
#include "run/order.h"

struct places {
	const char *word[3], *dir[3];
	struct arena *a;
};

static char *text_settle(const struct places *p, const char *text)
{
	struct strbuf b = {0};

	while (*text) {
		int k = 0;
		while (k < 3 && strncmp(text, p->word[k], strlen(p->word[k])))
			k++;
		if (k < 3) {
			strbuf_puts(&b, p->dir[k]);
			text += strlen(p->word[k]);
		} else {
			strbuf_add(&b, text++, 1);
		}
	}
	char *settled = arena_strndup(p->a, strbuf_text(&b), b.n);
	strbuf_fini(&b);
	return settled;
}

/* Replaces the word at the beginning only: the rest is the user's and may contain anything. */
static void path_settle(const struct places *p, const char **path)
{
	for (int k = 0; *path && k < 3; k++)
		if (!strncmp(*path, p->word[k], strlen(p->word[k]))) {
			*path = arena_printf(p->a, "%s%s", p->dir[k], *path + strlen(p->word[k]));
			return;
		}
}

static int path_check(const char *what, const char *path, struct err *err)
{
	static const char *const ours[] = {"scripts", "nodes", "tmp", "spool", "undelivered"};
	const char *at = path;

	if (!path)
		return 0;
	if (!strncmp(path, "@STATE@/", 8) && !strstr(path, "/../"))
		for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
			size_t n = strlen(ours[i]);
			if (!strncmp(at + 8, ours[i], n) && (at[8 + n] == '/' || !at[8 + n]))
				return 0;
		}
	return err_set(err, -EPERM, "%s '%.200s' is no place for files that this host makes for a job", what, path);
}

/* Checks the socket's path: the shepherd connects to it with the host's rights, not the user's. */
static int socket_check(const char *path, struct err *err)
{
	if (!path || strcmp(path, "@RUN@/terminal.sock") == 0)
		return 0;
	return err_set(err, -EPERM, "pty '%.200s' is not where this host takes terminals", path);
}

static void env_set(struct order *o, struct arena *a, const char *name, const char *value)
{
	size_t n = 0, length = strlen(name);
	char *entry = arena_printf(a, "%s=%s", name, value);

	for (; o->env[n]; n++)
		if (!strncmp(o->env[n], name, length) && o->env[n][length] == '=') {
			o->env[n] = entry;
			return;
		}
	char **more = arena_alloc(a, (n + 2) * sizeof *more);
	memcpy(more, o->env, n * sizeof *more);
	more[n] = entry;
	o->env = more;
}

static void env_settle(struct order *o, const struct places *p)
{
	size_t n = 0;

	while (o->env[n])
		n++;
	char **env = arena_alloc(p->a, (n + 1) * sizeof *env);
	size_t placed = o->foreign.nplaced < 0 ? 0 : (size_t)o->foreign.nplaced > n ? n : (size_t)o->foreign.nplaced;
	for (size_t i = 0; i < n; i++)
		env[i] = i + placed >= n ? text_settle(p, o->env[i]) : o->env[i];
	o->env = env;
}

void order_own(struct order *o, const struct identity *who, struct arena *a)
{
	if (!o->foreign.look_up)
		return;
	o->uid = who->uid;
	o->gid = who->gid;
	o->home = arena_printf(a, "%s", who->home);
	env_set(o, a, "HOME", o->home);
	if (!o->manner.shell_given) {
		o->shell = arena_printf(a, "%s", who->shell);
		env_set(o, a, "SHELL", o->shell);
	}
	o->foreign.look_up = false;
}

int order_settle(struct order *o, const char *state, const char *run, const char *bin, struct arena *a, struct err *err)
{
	const struct places p = {.word = {"@STATE@", "@RUN@", "@BIN@"}, .dir = {state, run, bin}, .a = a};
	struct order n = *o;
	const char **paths[] = {&n.script,	 &n.launcher, &n.workdir,	&n.out,
				&n.err,		 &n.spare,    &n.nodefile_path, &n.tmpdir,
				&n.terminal.pty, &n.home,     &n.site.prologue, &n.site.epilogue};

	if (o->foreign.by_name && (path_check("script", o->script, err) || path_check("spare", o->spare, err) ||
				   path_check("nodefile_path", o->nodefile_path, err) ||
				   path_check("tmpdir", o->tmpdir, err) || socket_check(o->terminal.pty, err)))
		return -EPERM;
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		path_settle(&p, paths[i]);
	env_settle(&n, &p);
	if (n.foreign.by_name) {
		n.home = NULL;
		n.foreign.look_up = true;
		n.foreign.by_name = false;
	}
	n.foreign.nplaced = 0;
	*o = n;
	return 0;
}
