/*
 * order.c - orders as JSON, by the rows of each struct (order_internal.h).
 */
#include "run/order.h"

#include <errno.h>
#include <jansson.h>
#include <stddef.h>
#include <string.h>

#include "run/criu.h"
#include "run/order_internal.h"

#define LIST_MAX 100000 /* maximum elements of a list, and the greatest number in it */
#define HOST_MAX 255	/* maximum bytes of a host's name or address */

#define INTS(member, number) .most = LIST_MAX, MEMBER_LIST(FORM_INTS, struct order, member, number)
/* The greatest value means "none" to system calls, and ALWAYS keeps a missing uid from meaning
 * root. */
#define ID(type, member) .in = ALWAYS, .most = UINT32_MAX - 1, MEMBER(type, member)

const struct schema host_schema = {
	FIELDS({"name", .in = ALWAYS, BYTES(struct order_host, name)}, {"address", BYTES(struct order_host, address)},
	       {"part", .most = LIST_MAX, MEMBER(struct order_host, part)}, {"join", MEMBER(struct order_host, join)})};

static const struct schema file_schema = {
	FIELDS({"use", .in = ALWAYS, .words = "out|err|in|back", MEMBER_AS(FORM_CHOICE, struct order_file, use)},
	       {"here", BYTES(struct order_file, here)}, {"path", .in = ALWAYS, BYTES(struct order_file, path)},
	       {"host", .in = ALWAYS, BYTES(struct order_file, host)},
	       {"title", .in = ALWAYS, BYTES(struct order_file, title)},
	       {"address", .in = ALWAYS, BYTES(struct order_file, address)},
	       {"join", .in = ALWAYS, MEMBER(struct order_file, join)})};

static const struct field order_rows[] = {
	{"id", BYTES(struct order, id)},
	{"tag", BYTES(struct order, tag)},
	{"uid", ID(struct order, uid)},
	{"gid", ID(struct order, gid)},
	{"user", BYTES(struct order, user)},
	{"home", BYTES(struct order, home)},
	{"shell", BYTES(struct order, shell)},
	{"shell_given", MEMBER(struct order, manner.shell_given)},
	{"login", MEMBER(struct order, manner.login)},
	{"script", BYTES(struct order, script)},
	{"script_sha256", BYTES(struct order, print.script_sha256)},
	{"script_hash", WIDE(struct order, print.script_hash)},
	{"argv", .most = LIST_MAX, MEMBER(struct order, argv)},
	{"launcher", BYTES(struct order, launcher)},
	{"env", .most = LIST_MAX, MEMBER(struct order, env)},
	{"workdir", BYTES(struct order, workdir)},
	{"out", BYTES(struct order, out)},
	{"err", BYTES(struct order, err)},
	{"append", MEMBER(struct order, append)},
	{"spare", BYTES(struct order, spare)},
	{"umask", .missing = -1, MEMBER(struct order, umask)},
	{"nodefile", BYTES(struct order, nodefile)},
	{"nodefile_path", BYTES(struct order, nodefile_path)},
	{"tmpdir", BYTES(struct order, tmpdir)},
	{"walltime", .missing = -1, WIDE(struct order, walltime)},
	{"grace", WIDE(struct order, grace)},
	{"memory", WIDE(struct order, memory)},
	{"swap", WIDE(struct order, swap)},
	{"disk", WIDE(struct order, disk)},
	{"files", WIDE(struct order, files)},
	{"cpus", INTS(cpus, ncpus)},
	{"share", WIDE(struct order, share.share)},
	{"share_most", WIDE(struct order, share.share_most)},
	{"share_work", WIDE(struct order, share.share_work)},
	{"share_time", WIDE(struct order, share.share_time)},
	{"background", MEMBER(struct order, share.background)},
	{"pty", BYTES(struct order, terminal.pty)},
	{"patience", WIDE(struct order, terminal.patience)},
	{"warning", WIDE(struct order, terminal.warning)},
	{"prologue", BYTES(struct order, site.prologue)},
	{"epilogue", BYTES(struct order, site.epilogue)},
	{"site_seconds", WIDE(struct order, site.site_seconds)},
	{"name", BYTES(struct order, site.name)},
	{"queue", BYTES(struct order, site.queue)},
	{"resources", BYTES(struct order, site.resources)},
	{"account", BYTES(struct order, site.account)},
	{"part", MEMBER(struct order, part)},
	{"room", MEMBER(struct order, room)},
	{"hosts", .of = &host_schema, MEMBER_LIST(FORM_RECORDS, struct order, hosts, nhosts)},
	{"gpus", INTS(gpu.gpus, gpu.ngpus)},
	{"hide_gpus", MEMBER(struct order, gpu.hide_gpus)},
	{"gpufile", BYTES(struct order, gpu.gpufile)},
	{"lease", WIDE(struct order, lease)},
	{"by_name", MEMBER(struct order, foreign.by_name)},
	{"look_up", MEMBER(struct order, foreign.look_up)},
	{"nplaced", MEMBER(struct order, foreign.nplaced)},
	{"carried", .of = &file_schema, MEMBER_LIST(FORM_RECORDS, struct order, carry.carried, carry.ncarried)},
	{"ticket", BYTES(struct order, carry.ticket)},
	{"signature", BYTES(struct order, carry.signature)},
	{"deliver_for", WIDE(struct order, carry.deliver_for)},
	{"spool", MEMBER(struct order, carry.spool)},
	{"checkpoint", .words = "none|signal|script|criu", MEMBER_AS(FORM_CHOICE, struct order, checkpoint.method)},
	{"saves_in", BYTES(struct order, checkpoint.saves_in)},
	{"periodic_signal", MEMBER(struct order, checkpoint.periodic_signal)},
	{"preempt_signal", MEMBER(struct order, checkpoint.preempt_signal)},
	{"interval", WIDE(struct order, checkpoint.interval)},
	{"duration", WIDE(struct order, checkpoint.duration)},
	{"keep", MEMBER(struct order, checkpoint.keep)},
	{"exit_saves", MEMBER(struct order, checkpoint.exit_saves)},
	{"restart_argument", MEMBER(struct order, checkpoint.restart_argument)},
	{"from_start", MEMBER(struct order, checkpoint.from_start)},
	{"restart_of", BYTES(struct order, checkpoint.restart_of)},
	{"saver", BYTES(struct order, checkpoint.saver)},
	{"restarter", BYTES(struct order, checkpoint.restarter)},
	{0},
};

/* ---- writing JSON ---- */

void order_write(const struct order *o, struct strbuf *out)
{
	record_store_text(order_rows, 0, o, NULL, out);
}

/* ---- checks ---- */

/* Returns true if the text is printable and has no spaces: names and addresses of hosts are put
 * into environments and line-based files. */
static bool is_plain(const char *s)
{
	for (size_t i = 0; s[i]; i++)
		if (s[i] <= ' ' || s[i] > '~' || s[i] == '/' || i >= HOST_MAX)
			return false;
	return true;
}

int hosts_check(struct order_host *hosts, int n, struct err *err)
{
	for (int i = 0; i < n; i++) {
		if (!hosts[i].address)
			hosts[i].address = "";
		if (!*hosts[i].name || !is_plain(hosts[i].name) || !is_plain(hosts[i].address))
			return err_set(err, -EINVAL, "hosts[%d]: name and address must be printable, without spaces",
				       i);
	}
	return 0;
}

static bool is_carried(const struct order_file *f)
{
	return *f->path && strlen(f->path) <= 4095 && is_plain(f->host) && is_plain(f->title) && is_plain(f->address) &&
	       (f->use >= FILE_IN) == (f->here != NULL) && (!f->here || (*f->here && strlen(f->here) <= 4095));
}

static int files_check(const struct order_carry *c, struct err *err)
{
	for (int i = 0; i < c->ncarried; i++)
		if (!is_carried(&c->carried[i]))
			return err_set(err, -EINVAL, "carried[%d]: paths and hosts of this file can't be", i);
	return 0;
}

static int ints_check(const char *name, const int *list, int n, struct err *err)
{
	for (int i = 0; i < n; i++)
		if (list[i] > LIST_MAX)
			return err_set(err, -EINVAL, "%s[%d] must be at most %d", name, i, LIST_MAX);
	return 0;
}

static int lists_check(struct order *o, struct err *err)
{
	int rc = hosts_check(o->hosts, o->nhosts, err);

	if (rc == 0)
		rc = files_check(&o->carry, err);
	if (rc == 0)
		rc = ints_check("cpus", o->cpus, o->ncpus, err);
	return rc == 0 ? ints_check("gpus", o->gpu.gpus, o->gpu.ngpus, err) : rc;
}

/* Returns true for absolute paths, and for those that begin with a word for one of the host's
 * directories, which order_settle() replaces. */
static bool is_path(const struct order *o, const char *path)
{
	return *path == '/' || (o->checkpoint.method == CHECKPOINT_CRIU && images_named(path)) ||
	       (o->foreign.by_name &&
		(!strncmp(path, "@STATE@/", 8) || !strncmp(path, "@RUN@/", 6) || !strncmp(path, "@BIN@/", 6)));
}

static int order_check(const struct order *o, struct err *err)
{
	const struct {
		const char *key, *path;
	} paths[] = {
		{"home", o->home},
		{"shell", o->shell},
		{"script", o->script},
		{"launcher", o->launcher},
		{"workdir", o->workdir},
		{"out", o->out},
		{"err", o->err},
		{"spare", o->spare},
		{"nodefile_path", o->nodefile_path},
		{"tmpdir", o->tmpdir},
		{"pty", o->terminal.pty},
		{"prologue", o->site.prologue},
		{"epilogue", o->site.epilogue},
		{"saver", o->checkpoint.saver},
		{"restarter", o->checkpoint.restarter},
		{"restart_of", o->checkpoint.restart_of},
	};

	if (!o->id || !o->tag || !o->user || !*o->id || !*o->user)
		return err_set(err, -EINVAL, "order: id, tag and user are needed");
	if (!*o->tag || *o->tag == '.' || strchr(o->tag, '/') || strlen(o->tag) > 200)
		return err_set(err, -EINVAL, "order: the tag '%.200s' can't be the name of a file", o->tag);
	if (!o->room && !o->terminal.pty && (!o->script || !o->out))
		return err_set(err, -EINVAL, "order: script and out are needed unless the job is interactive");
	if (o->carry.spool < 0 || o->carry.spool > 3 || (o->carry.spool && !o->spare))
		return err_set(err, -EINVAL, "order: spool %d, and there is no directory for it", o->carry.spool);
	if (o->checkpoint.method != CHECKPOINT_NONE &&
	    (!o->checkpoint.saves_in || !*o->checkpoint.saves_in || strlen(o->checkpoint.saves_in) > 3800 ||
	     o->checkpoint.duration < 1 || o->checkpoint.duration > INT32_MAX || o->checkpoint.interval > INT32_MAX))
		return err_set(err, -EINVAL, "order: a checkpoint needs a directory and a duration");
	if (o->checkpoint.periodic_signal < 0 || o->checkpoint.periodic_signal > 64 ||
	    o->checkpoint.preempt_signal < 0 || o->checkpoint.preempt_signal > 64)
		return err_set(err, -EINVAL, "order: signals of checkpoints are 1 to 64, or 0 for none");
	if (o->checkpoint.method == CHECKPOINT_CRIU &&
	    (!images_named(o->checkpoint.saves_in) ||
	     (o->checkpoint.restart_of && !images_named(o->checkpoint.restart_of))))
		return err_set(err, -EINVAL, "order: '%.200s' can't be a place for images of CRIU",
			       o->checkpoint.saves_in);
	if (o->part < 0 || o->part > LIST_MAX)
		return err_set(err, -EINVAL, "order: %d can't be a part", o->part);
	if (o->umask < -1 || o->umask > 0777)
		return err_set(err, -EINVAL, "order: umask %o is not one (000 to 777)", (unsigned)o->umask);
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		if (paths[i].path && (!is_path(o, paths[i].path) || strlen(paths[i].path) > 4095))
			return err_set(err, -EINVAL, "order: %s '%.200s' is not an absolute path", paths[i].key,
				       paths[i].path);
	return 0;
}

/* ---- reading ---- */

/* Checks an order that was read with the result `r`. */
static int order_take(int r, struct order *o, struct order *ret, struct err *err)
{
	if (!r)
		r = lists_check(o, err);
	if (r)
		return err_prefix(err, r, "order");
	/* a room runs no program and has no output of its own: the part with the script writes the
	 * job's output */
	if (o->room)
		o->script = o->out = o->err = o->terminal.pty = NULL;
	r = order_check(o, err);
	if (!r)
		*ret = *o;
	return r;
}

int order_load(const json_t *object, struct arena *a, struct order *ret, struct err *err)
{
	struct order o;

	return order_take(record_read(order_rows, 0, object, &o, a, err), &o, ret, err);
}

int order_read(const char *text, size_t n, struct arena *a, struct order *ret, struct err *err)
{
	struct order o;

	return order_take(record_read_text(order_rows, 0, text, n, &o, a, err), &o, ret, err);
}
