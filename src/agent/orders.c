/*
 * orders.c - parts of jobs: passes the server's orders to engine/local.h, and the outcomes back.
 *
 * It remembers nothing that live files don't show: an agent that was killed and restarted is in the
 * same state. Events while no server is connected are in the next inventory.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent_internal.h"
#include "agent/guard.h"
#include "base/codec.h"
#include "base/file.h"
#include "base/json.h"
#include "base/logline.h"
#include "engine/frames.h"
#include "run/nursery.h"
#include "run/script.h"

/* ---- sets of tags: a handful at most ---- */

static bool tags_have(const name_list *l, const char *tag)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i], tag) == 0)
			return true;
	return false;
}

static void tags_add(name_list *l, const char *tag)
{
	if (!tags_have(l, tag))
		vec_push(l, mem_strdup(tag));
}

static void tags_drop(name_list *l, const char *tag)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i], tag) == 0) {
			free(l->v[i]);
			vec_remove(l, i);
			return;
		}
}

/* ---- to the server ---- */

static void news_tell(struct agent *a, const struct news *n)
{
	struct strbuf head = {0};

	news_frame(n, &head);
	session_tell(a, &head);
	strbuf_fini(&head);
}

/* ---- the script ---- */

/* A script's file is TAG.NAME, where the server chose the name for the user to recognise. */
static void script_drop(struct agent *a, const char *tag)
{
	char path[PATH_MAX + 512];
	size_t n = strlen(tag);

	for (size_t i = 0; i < a->scripts.n; i++) {
		if (strncmp(a->scripts.v[i], tag, n) != 0 || a->scripts.v[i][n] != '.')
			continue;
		snprintf(path, sizeof path, "%s/scripts/%s", a->home.state, a->scripts.v[i]);
		unlink(path);
		free(a->scripts.v[i]);
		vec_remove(&a->scripts, i);
		return;
	}
}

/* Writes the script as root; the shepherd gives it to the user (run/room.c). */
static int script_write(struct agent *a, const struct order *o, const char *text, size_t n, struct err *err)
{
	script_drop(a, o->tag);
	int rc = file_replace(o->script, 0500, text, n, 0);
	if (rc < 0)
		return err_set(err, rc, "the script's file %s can't be written: %s", o->script, strerror(-rc));
	vec_push(&a->scripts, mem_strdup(strrchr(o->script, '/') + 1));
	return 0;
}

static void forget(struct agent *a, const char *tag)
{
	errands_forget(a->errands, tag);
	script_drop(a, tag);
	tags_drop(&a->cleaned, tag);
	tags_drop(&a->unclaimed, tag);
}

/* ---- news from local.h ---- */

static void ended_tell(struct agent *a, const struct news *n)
{
	if (tags_have(&a->unclaimed, n->tag)) {
		char tag[64];
		snprintf(tag, sizeof tag, "%s", n->tag);
		forget(a, tag);
		return;
	}
	guard_ended(a, n->r);
	news_tell(a, n);
}

static void lost_tell(struct agent *a, const struct news *n)
{
	if (tags_have(&a->unclaimed, n->tag)) {
		forget(a, n->tag);
		return;
	}
	tags_add(&a->cleaned, n->tag);
	news_tell(a, n);
}

/* Sends each as a frame, which the server's engine reads as news (hub.c). */
static void on_news(void *context, const struct news *n)
{
	struct agent *a = context;

	switch (n->report) {
	case SAYS_REFUSED:
		script_drop(a, n->tag);
		news_tell(a, n);
		break;
	case SAYS_STARTED:
	case SAYS_READY:
	case SAYS_SAVED:
		news_tell(a, n);
		break;
	case SAYS_USED: /* not kept: a server that is disconnected does without */
		if (!tags_have(&a->unclaimed, n->tag))
			news_tell(a, n);
		break;
	case SAYS_ENDED:
		ended_tell(a, n);
		break;
	case SAYS_LOST:
		lost_tell(a, n);
		break;
	case SAYS_NOTHING:
	case SAYS_GIVEN_UP: /* only made by the server */
		break;
	}
}

static void on_opened(void *context, uint64_t id, int fd, const char *reason)
{
	if (fd >= 0)
		close(fd); /* no one here is waiting for it */
}

/* The server shows the reason with the node, and sends no more orders; a restart may help. */
static void on_failed(void *context, const char *reason)
{
	struct agent *a = context;
	struct strbuf text = {0};

	log_line(SEVERITY_ERROR, "jobs can't be started: %s", reason);
	strbuf_printf(&text, "jobs can't be started: %s", reason);
	free(a->trouble);
	a->trouble = text.text;
	session_health(a);
}

/* ---- from the server ---- */

static enum live_state look(struct agent *a, const char *tag)
{
	struct arena *arena = arena_create();
	char live[PATH_MAX + 16];
	struct result r;
	pid_t pid;
	enum live_state state;

	snprintf(live, sizeof live, "%s/live", a->home.state);
	state = live_look(live, tag, arena, &r, &pid);
	arena_destroy(arena);
	return state;
}

/* Takes an order. An attempt that was already made here keeps its script. */
static int order_take(struct agent *a, const char *script, size_t n, struct arena *arena, struct order *o,
		      struct err *err)
{
	int rc;

	if (look(a, o->tag) != LIVE_NONE || errands_busy(a->errands, o->tag))
		return err_set(err, -EEXIST, "the attempt %s has been made here already", o->tag);
	rc = order_settle(o, a->home.state, a->home.run, a->home.bin, arena, err);
	if (rc < 0 || !o->script)
		return rc;
	if (!order_print_matches(o, script, n))
		return err_set(err, -EBADMSG, "its script did not arrive as it was sent (%zu bytes)", n);
	const char *name = strrchr(o->script, '/');
	name = name ? name + 1 : "";
	size_t tag = strlen(o->tag);
	bool ours = strncmp(name, o->tag, tag) == 0 && name[tag] == '.';
	o->script = arena_printf(arena, "%s/scripts/%s.%s", a->home.state, o->tag, ours ? name + tag + 1 : "SC");
	return script_write(a, o, script, n, err);
}

static void on_order(struct agent *a, const json_t *head, const char *script, size_t n)
{
	const json_t *order = json_object_get(head, "order");
	const char *tag = json_string_value(json_object_get(order, "tag"));
	struct arena *arena = arena_create();
	struct order o;
	struct err err;
	int rc = order_load(order, arena, &o, &err);

	if (rc == 0)
		rc = order_take(a, script, n, arena, &o, &err);
	if (rc < 0) { /* EPERM: it names this host's own files */
		news_tell(a, &(struct news){.report = SAYS_REFUSED,
					    .tag = tag ? tag : "",
					    .reason = err.text,
					    .unclear = rc == -EPERM});
	} else {
		o.share.background = guard_background(a);
		errands_order(a->errands, &o);
	}
	arena_destroy(arena);
}

static void on_clean(struct agent *a, const char *tag)
{
	switch (look(a, tag)) {
	case LIVE_RUNNING:
		tags_add(&a->unclaimed, tag);
		errands_signal(a->errands, tag, SIGKILL);
		break;
	case LIVE_LOST:
		if (!tags_have(&a->cleaned, tag)) {
			tags_add(&a->unclaimed, tag);
			errands_attach(a->errands, tag);
			break;
		} /* fall through */
	default:
		forget(a, tag);
	}
}

/* A part that is to end must run; one that its user suspends must not continue when the owner of a
 * workstation leaves. */
static void on_signal(struct agent *a, const char *tag, int signal)
{
	if (signal == SIGTERM || signal == SIGKILL)
		guard_leaves(a, tag);
	else if (signal == SIGSTOP || signal == SIGCONT)
		guard_suspends(a, tag, signal == SIGSTOP);
	errands_signal(a->errands, tag, signal);
}

/* Treats an unknown cause, of a newer server, like those that end a job. */
static void on_save(struct agent *a, const struct part_frame *x)
{
	int cause = 0;

	if (!x->cause)
		return;
	while (cause < SAVE_CAUSES && strcmp(save_words[cause], x->cause) != 0)
		cause++;
	guard_leaves(a, x->tag);
	errands_save(a->errands, x->tag, cause < SAVE_CAUSES ? (enum checkpoint_cause)cause : SAVE_PREEMPTED,
		     x->seconds);
}

void orders_frame(struct agent *a, const char *type, const json_t *head, const char *data, size_t n)
{
	struct part_frame x;

	if (strcmp(type, "order") == 0) {
		on_order(a, head, data, n);
		return;
	}
	if (record_load(part_frame.fields, 0, head, &x, NULL, NULL) < 0 || !x.tag || !*x.tag || *x.tag == '.' ||
	    strchr(x.tag, '/'))
		return;
	if (strcmp(type, "signal") == 0)
		on_signal(a, x.tag, x.signal);
	else if (strcmp(type, "limit") == 0)
		errands_limit(a->errands, x.tag, x.walltime);
	else if (strcmp(type, "save") == 0)
		on_save(a, &x);
	/* its shepherd may still exist: it reports the result before it exits */
	else if (strcmp(type, "forget") == 0)
		forget(a, x.tag);
	else if (strcmp(type, "clean") == 0)
		on_clean(a, x.tag);
}

/* ---- inventory ---- */

struct inventory {
	struct agent *a;
	struct json j;
};

static void inventory_add(void *context, const struct local_item *i)
{
	struct inventory *v = context;
	struct news n = {.report = SAYS_STARTED, .tag = i->tag, .r = i->result, .saves = i->saves};

	if (i->state == ATTEMPT_NEVER || tags_have(&v->a->unclaimed, i->tag))
		return;
	if (i->state == ATTEMPT_ENDED)
		n.report = SAYS_ENDED;
	else if (i->state == ATTEMPT_LOST && tags_have(&v->a->cleaned, i->tag))
		/* something of it may run until it is cleaned up; it is reported then */
		n.report = SAYS_LOST;
	else if (i->ready)
		n.report = SAYS_READY;
	news_item(&n, &v->j);
}

void orders_inventory(struct agent *a, struct strbuf *out)
{
	struct inventory v = {.a = a};

	json_init(&v.j, out, false);
	json_open_array(&v.j, NULL);
	errands_list(a->errands, inventory_add, &v);
	json_close_array(&v.j);
}

/* ---- life ---- */

static void tag_note(void *context, const struct local_item *i)
{
	name_list *l = context;

	vec_push(l, mem_strdup(i->tag));
}

/* Watches again what an earlier agent started. */
static void attach_all(struct agent *a)
{
	name_list tags = {0};

	errands_list(a->errands, tag_note, &tags);
	for (size_t i = 0; i < tags.n; i++)
		if (errands_attach(a->errands, tags.v[i]) == ATTEMPT_NEVER)
			script_drop(a, tags.v[i]);
	if (tags.n)
		log_line(SEVERITY_NOTICE, "found %zu attempt%s of jobs here", tags.n, tags.n == 1 ? "" : "s");
	name_list_free(&tags);
}

/* Notes the scripts that an earlier agent wrote, and removes those of attempts that have no live
 * file any more, because the machine or this process went down in between. */
static void scripts_sweep(struct agent *a, const char *live)
{
	char path[PATH_MAX + 512];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof path, "%s/scripts", a->home.state);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		const char *suffix = strchr(e->d_name, '.'); /* a tag has one '.' */
		suffix = suffix ? strchr(suffix + 1, '.') : NULL;
		if (!suffix || *e->d_name == '.')
			continue;
		snprintf(path, sizeof path, "%s/%.*s", live, (int)(suffix - e->d_name), e->d_name);
		if (access(path, F_OK) < 0 && errno == ENOENT)
			unlinkat(dirfd(d), e->d_name, 0);
		else
			vec_push(&a->scripts, mem_strdup(e->d_name));
	}
	if (d)
		closedir(d);
}

/* Runs before the loop waits, and also sends what local.h itself has queued (ending what a shepherd
 * left behind). */
static void on_turn(uv_prepare_t *p)
{
	struct agent *a = p->data;

	local_flush(a->local);
}

int orders_start(struct agent *a, struct err *err)
{
	struct local_listener l = {.heard = on_news, .opened = on_opened, .failed = on_failed, .context = a};
	char live[PATH_MAX + 16], socket[PATH_MAX + 16], spool[PATH_MAX + 16];
	struct local_options o = {.program = a->home.nursery,
				  .live = live,
				  .socket = socket,
				  .cgroup = a->member.cgroup,
				  .root_jobs = a->member.root_jobs};
	int rc;

	snprintf(live, sizeof live, "%s/live", a->home.state);
	snprintf(socket, sizeof socket, "%s/engine.sock", a->home.run);
	snprintf(spool, sizeof spool, "%s/spool", a->home.state);
	rc = errands_start(a->loop, &o, spool, &l, &a->errands, err);
	if (rc == -ECANCELED) { /* it must stay connected, in case the site changes the setting */
		on_failed(a, err->text);
		o.cgroup = "none";
		rc = errands_start(a->loop, &o, spool, &l, &a->errands, err);
	}
	if (rc < 0)
		return rc;
	a->local = errands_local(a->errands);
	scripts_sweep(a, live);
	attach_all(a);
	uv_prepare_init(a->loop, &a->turn);
	a->turn.data = a;
	uv_prepare_start(&a->turn, on_turn);
	return 0;
}

static bool nobody_knows(void *context, const char *tag)
{
	return false;
}

void orders_abandon(struct agent *a)
{
	errands_sweep(a->errands, nobody_knows, NULL);
}

void orders_stop(struct agent *a)
{
	uv_prepare_stop(&a->turn);
	if (a->errands)
		errands_stop(a->errands);
	name_list_free(&a->scripts);
	name_list_free(&a->cleaned);
	name_list_free(&a->unclaimed);
}
