/*
 * order_read.c - orders and results out of JSON, by the tables of order.c. A key that is missing leaves the default; one that is not known
 * is passed over.
 */
#include "run/order.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "run/criu.h"
#include "run/order_internal.h"

#define LIST_MAX 100000 /* elements of a list */
#define HOST_MAX 255	/* bytes of a host's name, or of its address */

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *at = strchr(digits, c);

	return c && at ? (int)(at - digits) : -1;
}

static int hex_read(const json_t *v, struct arena *a, char **ret)
{
	size_t n = json_string_length(v) / 2;
	const char *s = json_string_value(v);
	char *text = arena_alloc(a, n + 1);

	if (!s || json_string_length(v) % 2)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		int high = hex_digit(s[2 * i]), low = hex_digit(s[2 * i + 1]);
		if (high < 0 || low < 0 || high + low == 0)
			return -EINVAL;
		text[i] = (char)(high << 4 | low);
	}
	*ret = text;
	return 0;
}

int text_read(const json_t *v, struct arena *a, char **ret)
{
	if (json_is_object(v))
		return hex_read(json_object_get(v, "hex"), a, ret);
	if (!json_is_string(v))
		return -EINVAL;
	*ret = arena_strndup(a, json_string_value(v), json_string_length(v));
	return 0;
}

static int texts_read(const json_t *v, struct arena *a, char ***ret)
{
	size_t n = json_array_size(v);

	if (!json_is_array(v) || n > LIST_MAX)
		return -EINVAL;
	*ret = arena_alloc(a, (n + 1) * sizeof **ret);
	for (size_t i = 0; i < n; i++)
		if (text_read(json_array_get(v, i), a, &(*ret)[i]))
			return -EINVAL;
	return 0;
}

static int number_read(const json_t *v, int64_t min, int64_t max, int64_t *ret)
{
	int64_t n = json_integer_value(v);

	if (!json_is_integer(v) || n < min || n > max)
		return -EINVAL;
	*ret = n;
	return 0;
}

static int ints_read(const json_t *v, struct arena *a, int **ret, int *ret_n)
{
	size_t n = json_array_size(v);
	int64_t value;

	if (!json_is_array(v) || n > LIST_MAX)
		return -EINVAL;
	*ret = arena_alloc(a, (n + 1) * sizeof **ret);
	for (size_t i = 0; i < n; i++) {
		if (number_read(json_array_get(v, i), 0, LIST_MAX, &value))
			return -EINVAL;
		(*ret)[i] = (int)value;
	}
	*ret_n = (int)n;
	return 0;
}

/* Names and addresses of hosts: printable, without spaces; they get into environments and files of lines. */
static bool is_plain(const char *s)
{
	for (size_t i = 0; s && s[i]; i++)
		if (s[i] <= ' ' || s[i] > '~' || s[i] == '/' || i >= HOST_MAX)
			return false;
	return s;
}

static int host_read(const json_t *v, struct arena *a, struct order_host *ret)
{
	char *name = NULL, *address = "";
	int64_t part = 0, join = 0;
	const json_t *j;

	if (text_read(json_object_get(v, "name"), a, &name) || !*name || !is_plain(name))
		return -EINVAL;
	if ((j = json_object_get(v, "address")) && (text_read(j, a, &address) || !is_plain(address)))
		return -EINVAL;
	if ((j = json_object_get(v, "part")) && number_read(j, 0, LIST_MAX, &part))
		return -EINVAL;
	if ((j = json_object_get(v, "join")) && number_read(j, INT64_MIN, INT64_MAX, &join))
		return -EINVAL;
	*ret = (struct order_host){.name = name, .address = address, .part = (int)part, .join = (uint64_t)join};
	return 0;
}

int hosts_read(const json_t *v, struct arena *a, struct order_host **ret, int *ret_n)
{
	size_t n = json_array_size(v);

	if (!json_is_array(v) || n > LIST_MAX)
		return -EINVAL;
	*ret = arena_alloc(a, (n + 1) * sizeof **ret);
	for (size_t i = 0; i < n; i++)
		if (host_read(json_array_get(v, i), a, &(*ret)[i]))
			return -EINVAL;
	*ret_n = (int)n;
	return 0;
}

static int word_read(const json_t *v, const char *const *words, int *ret)
{
	for (int i = 0; json_is_string(v) && words[i]; i++)
		if (!strcmp(words[i], json_string_value(v))) {
			*ret = i;
			return 0;
		}
	return -EINVAL;
}

static int file_read(const json_t *v, struct arena *a, struct order_file *ret)
{
	char *here = NULL, *path = NULL, *host = "", *title = "", *address = "";
	const json_t *given = json_object_get(v, "here");
	int64_t join = 0;
	int use;

	if (word_read(json_object_get(v, "use"), file_words, &use) || (given && text_read(given, a, &here)) ||
	    text_read(json_object_get(v, "path"), a, &path) || text_read(json_object_get(v, "host"), a, &host) ||
	    text_read(json_object_get(v, "title"), a, &title) ||
	    text_read(json_object_get(v, "address"), a, &address) ||
	    number_read(json_object_get(v, "join"), INT64_MIN, INT64_MAX, &join))
		return -EINVAL;
	if (!*path || !is_plain(host) || !is_plain(title) || !is_plain(address) || strlen(path) > 4095 ||
	    (use >= FILE_IN) != (here != NULL) || (here && (!*here || strlen(here) > 4095)))
		return -EINVAL;
	*ret = (struct order_file){.use = (enum file_use)use,
				   .here = here,
				   .path = path,
				   .host = host,
				   .title = title,
				   .address = address,
				   .join = (uint64_t)join};
	return 0;
}

static int files_read(const json_t *v, struct arena *a, struct order_file **ret, int *ret_n)
{
	size_t n = json_array_size(v);

	if (!json_is_array(v) || n > LIST_MAX)
		return -EINVAL;
	*ret = arena_alloc(a, (n + 1) * sizeof **ret);
	for (size_t i = 0; i < n; i++)
		if (file_read(json_array_get(v, i), a, &(*ret)[i]))
			return -EINVAL;
	*ret_n = (int)n;
	return 0;
}

static int saves_take(const json_t *v, struct saves *ret);

static int field_read(const json_t *v, const struct field *f, struct arena *a, void *to)
{
	void *at = (char *)to + f->at, *number = (char *)to + f->count;
	int64_t n;

	switch (f->kind) {
	case TEXT:
		return text_read(v, a, at);
	case TEXTS:
		return texts_read(v, a, at);
	case INT:
		if (number_read(v, INT32_MIN, INT32_MAX, &n))
			return -EINVAL;
		*(int *)at = (int)n;
		return 0;
	case INT64:
		return number_read(v, INT64_MIN / 4, INT64_MAX / 4, at);
	case ID: /* the last one means "none" to the system calls */
		if (number_read(v, 0, (int64_t)UINT32_MAX - 1, &n))
			return -EINVAL;
		*(uid_t *)at = (uid_t)n;
		return 0;
	case FLAG:
		*(bool *)at = json_is_true(v);
		return json_is_boolean(v) ? 0 : -EINVAL;
	case INTS:
		return ints_read(v, a, at, number);
	case HOSTS:
		return hosts_read(v, a, at, number);
	case FILES:
		return files_read(v, a, at, number);
	case WORD:
		return word_read(v, f->words, at);
	case SAVES:
		return saves_take(v, at);
	}
	return -EINVAL;
}

static int saves_take(const json_t *v, struct saves *ret)
{
	struct saves saves = {0};
	const json_t *x;

	for (const struct field *f = saves_fields; f->key; f++)
		if ((x = json_object_get(v, f->key)) && field_read(x, f, NULL, &saves))
			return -EINVAL;
	if (saves.good < 0 || saves.failed < 0 || saves.number < 0 || saves.covers_ms < 0 || saves.took_ms < 0 ||
	    saves.restarted < 0)
		return -EINVAL;
	*ret = saves;
	return 0;
}

int saves_read(const char *text, size_t n, struct saves *ret)
{
	json_t *root = json_loadb(text, n, 0, NULL);
	int r = json_is_object(root) ? saves_take(root, ret) : -EINVAL;

	json_decref(root);
	return r;
}

static int fields_read(const char *what, const struct field *f, const char *text, size_t n, struct arena *a, void *to,
		       struct err *err)
{
	json_error_t e;
	json_t *root = json_loadb(text, n, 0, &e);
	int r = 0;

	if (!json_is_object(root))
		r = err_set(err, -EINVAL, "%s: not a JSON object: %s", what, e.text);
	for (; !r && f->key; f++) {
		json_t *v = json_object_get(root, f->key);
		if (!v && f->kind == ID) /* nobody becomes root by leaving it out */
			r = err_set(err, -EINVAL, "%s: %s is missing", what, f->key);
		else if (v && !json_is_null(v) && field_read(v, f, a, to))
			r = err_set(err, -EINVAL, "%s: %s has a value that it can't have", what, f->key);
	}
	json_decref(root);
	return r;
}

/* One that the host is still to complete (order_settle) begins with a word for one of its directories. */
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

int order_read(const char *text, size_t n, struct arena *a, struct order *ret, struct err *err)
{
	static char *none[] = {NULL};
	struct order o = {.umask = -1, .walltime = -1, .argv = none, .env = none};
	int r = fields_read("order", order_fields, text, n, a, &o, err);

	if (o.room) /* it runs no program, and has no output: that of the job is on another host, or on this one's disk, too */
		o.script = o.out = o.err = o.terminal.pty = NULL;
	if (!r)
		r = order_check(&o, err);
	if (!r)
		*ret = o;
	return r;
}

int result_read(const char *text, size_t n, struct arena *a, struct result *ret, struct err *err)
{
	struct result res = {0};
	int r = fields_read("result", result_fields, text, n, a, &res, err);

	if (!r && !res.tag)
		r = err_set(err, -EINVAL, "result: tag is missing");
	if (!r && (res.status < (res.how == RESULT_SIGNALED) ||
		   res.status > (res.how == RESULT_SIGNALED ? RESULT_SIGNAL_MAX : RESULT_EXIT_MAX)))
		r = err_set(err, -EINVAL, "result: status %d is not an exit code (0-%d) or a signal (1-%d)", res.status,
			    RESULT_EXIT_MAX, RESULT_SIGNAL_MAX);
	if (!r && !(result_has(res.ran_ms) && result_has(res.cpu_ms) && result_has(res.memory_kib)))
		r = err_set(err, -EINVAL, "result: ran_ms, cpu_ms and memory_kib must be 0-%lld", RESULT_USE_MAX);
	if (!r)
		*ret = res;
	return r;
}
