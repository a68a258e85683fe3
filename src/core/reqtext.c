/*
 * reqtext.c - parses and formats requests.
 *
 * Checks, in this order: the text's size, its characters, its parts, the chunks of a part, the
 * words of a chunk, and the sums over the whole request. It works on a copy of the request, which
 * is kept only if everything is valid.
 */
#include "core/reqtext.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/suggest.h"
#include "base/timetext.h"

#define QOS_NAME_MAX 64
#define TERM_MAX 64 /* characters of a deadline or a budget */
#define QOS_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
#define RESOURCES                                                                                                      \
	"walltime nodes select ncpus procs mem pmem disk swap gpus ngpus place partition qos advres estimate deadline budget"
#define SHOWN 80 /* characters of a faulty part quoted in its message */

void reqtext_init(struct reqtext *r)
{
	*r = (struct reqtext){.walltime = -1};
}

/* ---- words and numbers ---- */

static bool is_number(const char *s)
{
	return *s && s[strspn(s, "0123456789")] == '\0';
}

static bool is_name(const char *s)
{
	if (!*s || is_number(s))
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("._-", *s))
			return false;
	return true;
}

static bool same(const char *a, const char *b)
{
	return strcasecmp(a, b) == 0;
}

static int number_parse(const char *what, const char *text, int64_t lo, int64_t hi, int64_t *ret, struct err *err)
{
	int64_t n = 0;
	bool ok = is_number(text);

	for (; ok && *text; text++) {
		n = n * 10 + (*text - '0');
		ok = n <= hi;
	}
	if (!ok || n < lo)
		return err_set(err, -EINVAL, "%.*s must be a whole number from %lld to %lld", SHOWN, what,
			       (long long)lo, (long long)hi);
	*ret = n;
	return 0;
}

static int named_set(struct named_amount *named, int *n, const char *name, int64_t amount, struct err *err)
{
	int i = 0;

	while (i < *n && strcmp(named[i].name, name) != 0)
		i++;
	if (i == WORDS_MAX)
		return err_set(err, -EINVAL, "more than %d named resources", WORDS_MAX);
	named[i] = (struct named_amount){name, amount};
	if (i == *n)
		++*n;
	return 0;
}

/* ---- chunks ---- */

static int chunk_name_node(struct chunk *k, const char *name, struct err *err)
{
	if (!is_name(name))
		return err_set(err, -EINVAL, "it must begin with a count or a node's name, not \"%.*s\"", SHOWN, name);
	if (k->node)
		return err_set(err, -EINVAL, "it names two nodes, %.*s and %.*s", SHOWN, k->node, SHOWN, name);
	k->node = name;
	return 0;
}

/* Adds a feature, or "e". */
static int chunk_add_word(struct chunk *k, const char *word, struct err *err)
{
	if (is_number(word))
		return err_set(err, -EINVAL, "a number alone says nothing here (did you mean ppn=%.*s?)", SHOWN, word);
	if (!is_name(word))
		return err_set(err, -EINVAL, "\"%.*s\" is not a feature (use letters, digits, '.', '-' and '_')", SHOWN,
			       word);
	if (strcmp(word, "e") == 0) {
		k->exclusive = true;
		return 0;
	}
	if (k->nfeatures == WORDS_MAX)
		return err_set(err, -EINVAL, "more than %d features", WORDS_MAX);
	k->feature[k->nfeatures++] = word;
	return 0;
}

/* Adds a site's own NAME=VALUE: an amount, or a feature in PBS Pro's syntax. */
static int chunk_add_other(struct chunk *k, const char *name, const char *value, struct err *err)
{
	int64_t amount = 0;

	if (!is_name(name))
		return err_set(err, -EINVAL, "\"%.*s\" is not the name of a resource", SHOWN, name);
	if (same(name, "walltime") || same(name, "cput") || same(name, "place") || same(name, "partition") ||
	    same(name, "qos") || same(name, "advres") || same(name, "estimate") || same(name, "deadline") ||
	    same(name, "budget"))
		return err_set(err, -EINVAL,
			       "%.*s is for the whole job: write it after a comma (as in -l nodes=1,%.*s=%.*s)", SHOWN,
			       name, SHOWN, name, SHOWN, value);
	if (same(value, "false"))
		return err_set(err, -EINVAL, "%.*s=false: a job can request a feature, but not its absence", SHOWN,
			       name);
	if (same(value, "true") || (isalpha((unsigned char)*value) && !same(value, "e")))
		return chunk_add_word(k, same(value, "true") ? name : value, err);

	int rc = number_parse(name, value, 0, AMOUNT_MAX, &amount, err);
	return rc < 0 ? rc : named_set(k->named, &k->nnamed, name, amount, err);
}

/* Returns the dimension of a resource given in bytes; -1 for any other. */
static int kib_dim(const char *name)
{
	return same(name, "mem") ? RES_MEM : same(name, "disk") ? RES_DISK : same(name, "swap") ? RES_SWAP : -1;
}

static int kib_parse(const char *name, const char *value, struct res *ret, struct err *err)
{
	int rc = memory_parse(value, &ret->v[kib_dim(name)], err);

	return rc < 0 && kib_dim(name) != RES_MEM
		       ? err_set(err, rc, "it must be a whole number with b, kb, mb, gb or tb (as in %s=20gb)",
				 res_kib(kib_dim(name)))
		       : rc;
}

static int chunk_set(struct chunk *k, const char *name, const char *value, struct err *err)
{
	if (same(name, "ppn") || same(name, "ncpus"))
		return number_parse(name, value, 1, CPUS_MAX, &k->need.v[RES_CPU], err);
	if (same(name, "gpus") || same(name, "ngpus"))
		return number_parse(name, value, 0, CPUS_MAX, &k->need.v[RES_GPU], err);
	if (kib_dim(name) >= 0)
		return kib_parse(name, value, &k->need, err);
	if (same(name, "mpiprocs"))
		return number_parse(name, value, 0, CPUS_MAX, &k->mpiprocs, err);
	if (same(name, "ompthreads"))
		return number_parse(name, value, 0, CPUS_MAX, &k->ompthreads, err);
	if (same(name, "host") || same(name, "vnode"))
		return chunk_name_node(k, value, err);
	return chunk_add_other(k, name, value, err);
}

static int chunk_say(struct chunk *k, char *word, struct err *err)
{
	char *value = strchr(word, '=');

	if (!value)
		return chunk_add_word(k, word, err);
	*value++ = '\0';
	return chunk_set(k, word, value, err);
}

static int chunk_begin(struct chunk *k, char *word, bool by_name, struct err *err)
{
	if (strchr(word, '='))
		return chunk_say(k, word, err);
	if (is_number(word))
		return number_parse("the count", word, 1, FRAGS_MAX, &k->count, err);
	if (by_name)
		return chunk_name_node(k, word, err);
	return err_set(err, -EINVAL, "a chunk begins with a count (use host=NAME for a node)");
}

/* Parses one chunk, modifying `text`. */
static int chunk_parse(char *text, bool by_name, struct chunk *k, struct err *err)
{
	*k = (struct chunk){.count = 1, .need.v[RES_CPU] = 1};

	int rc = chunk_begin(k, strsep(&text, ":"), by_name, err);
	for (char *word; rc == 0 && (word = strsep(&text, ":"));)
		rc = chunk_say(k, word, err);
	if (rc == 0 && k->node && k->count > 1)
		rc = err_set(err, -EINVAL, "a count can't be combined with the node's name %.*s (join more with +)",
			     SHOWN, k->node);
	return rc;
}

/* Parses the value of nodes= or select=. */
static int chunks_parse(struct reqtext *r, const char *key, char *text, struct arena *arena, struct err *err)
{
	int n = 1;

	for (const char *plus = text; (plus = strchr(plus, '+')); plus++)
		n++;
	if (n > CHUNKS_MAX)
		return err_set(err, -EINVAL, "%s=: more than %d parts", key, CHUNKS_MAX);

	struct chunk *list = arena_alloc(arena, (size_t)n * sizeof *list);
	for (int i = 0; i < n; i++) {
		char *part = strsep(&text, "+"), *whole = arena_strndup(arena, part, SHOWN);
		int rc = chunk_parse(part, same(key, "nodes"), &list[i], err);
		if (rc < 0)
			return err_prefix(err, rc, "%s=%s", key, whole);
	}
	r->chunk = list;
	r->nchunks = n;
	r->select = same(key, "select");
	return 0;
}

static int single_chunk(struct reqtext *r, const char *key, const char *value, struct arena *arena, struct err *err)
{
	bool procs = same(key, "procs");
	struct chunk *k = arena_alloc(arena, sizeof *k);

	k->count = 1;
	k->need.v[RES_CPU] = 1;
	int rc = procs ? number_parse(key, value, 1, FRAGS_MAX, &k->count, err)
		       : number_parse(key, value, 1, CPUS_MAX, &k->need.v[RES_CPU], err);
	if (rc < 0)
		return rc;
	r->chunk = k;
	r->nchunks = 1;
	r->select = false;
	return 0;
}

/* ---- parts ---- */

static int place_parse(struct reqtext *r, char *text, struct err *err)
{
	static const struct {
		const char *word;
		enum wholeness whole;
	} sharing[] = {{"shared", WHOLE_NOT}, {"excl", WHOLE_NODE}, {"exclhost", WHOLE_HOST}};
	bool pack = false, scatter = false, said = false;
	enum wholeness whole = WHOLE_NOT;

	for (char *word; (word = strsep(&text, ":"));) {
		if (same(word, "pack"))
			pack = true;
		else if (same(word, "scatter") || same(word, "vscatter"))
			scatter = true;
		else if (!same(word, "free")) {
			size_t i = 0;
			while (i < sizeof sharing / sizeof *sharing && !same(word, sharing[i].word))
				i++;
			if (i == sizeof sharing / sizeof *sharing)
				return err_set(
					err, -EINVAL,
					"place can be free, pack or scatter, and shared, excl or exclhost (as in "
					"place=scatter:excl)");
			if (said && sharing[i].whole != whole)
				return err_set(err, -EINVAL, "place can be only one of shared, excl and exclhost");
			whole = sharing[i].whole;
			said = true;
		}
	}
	if (pack && scatter)
		return err_set(err, -EINVAL, "place can't be pack and scatter at once");
	r->pack = pack;
	r->scatter = scatter;
	r->whole = whole;
	return 0;
}

/* Parses Moab's naccesspolicy=, which sets who shares the nodes but not where fragments go. */
static int access_parse(struct reqtext *r, const char *text, struct err *err)
{
	if (!same(text, "shared") && !same(text, "singlejob"))
		return err_set(err, -EINVAL, "it can be shared or singlejob (a job has its nodes to itself)");
	r->whole = same(text, "singlejob") ? WHOLE_NODE : WHOLE_NOT;
	return 0;
}

static int partition_parse(struct reqtext *r, const char *text, struct arena *arena, struct err *err)
{
	if (!is_name(text) || strlen(text) > PARTITION_NAME_MAX)
		return err_set(err, -EINVAL, "it must be the name of a partition, or " PARTITION_WORD_ANY);
	r->partition = same(text, PARTITION_WORD_ANY) ? PARTITION_WORD_ANY : arena_strndup(arena, text, strlen(text));
	return 0;
}

/* Parses the name of a QoS or of a reservation. */
static int name_parse(const char *what, const char *text, struct arena *arena, const char **ret, struct err *err)
{
	if (!*text || strlen(text) > QOS_NAME_MAX || text[strspn(text, QOS_LETTERS)])
		return err_set(err, -EINVAL, "it must be the name of a %s: up to %d letters, digits, '_', '.' and '-'",
			       what, QOS_NAME_MAX);
	*ret = arena_strndup(arena, text, strlen(text));
	return 0;
}

static int advres_parse(struct reqtext *r, const char *text, struct arena *arena, struct err *err)
{
	if (*text || !r->reservation)
		return name_parse("reservation", text, arena, &r->reservation, err);
	r->reservation = NULL; /* qalter of a job that is bound to a reservation */
	return 0;
}

/* Parses how long a job runs. */
static int time_parse(const char *text, int64_t *ret, struct err *err)
{
	int64_t seconds = 0;
	int rc = duration_parse(text, &seconds, err);

	if (rc == 0 && seconds == 0)
		rc = err_set(err, -EINVAL, "a job needs at least one second");
	if (rc == 0)
		*ret = seconds;
	return rc;
}

/* Copies a deadline or a budget unparsed: its meaning depends on the time and the account. */
static int term_parse(const char *text, struct arena *arena, const char **ret, struct err *err)
{
	if (!*text || strlen(text) > TERM_MAX)
		return err_set(err, -EINVAL, "it must have 1 to %d characters", TERM_MAX);
	*ret = arena_strndup(arena, text, strlen(text));
	return 0;
}

/* Suggests the name used here for a resource that other systems call `name`. */
static const char *resource_near(const char *name, const char *more, char near[SUGGEST_SIZE])
{
	static const char *const others[][2] = {
		{"wallclock", "walltime"}, {"wall", "walltime"}, {"wclimit", "walltime"}, {"time", "walltime"},
		{"runtime", "walltime"},   {"h_rt", "walltime"}, {"memory", "mem"},	  {"ram", "mem"},
		{"h_vmem", "mem"},	   {"cpus", "ncpus"},	 {"cores", "ncpus"},	  {"threads", "ncpus"},
		{"ntasks", "procs"},	   {"tasks", "procs"},	 {"gpu", "gpus"},	  {"chunks", "select"},
	};
	char known[1024];

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (same(name, others[i][0]))
			return others[i][1];
	snprintf(known, sizeof known, RESOURCES " ppn mpiprocs ompthreads %.700s", more);
	return suggest_word(name, known, near) ? near : NULL;
}

int resource_unknown(const char *name, const char *more, struct err *err)
{
	char word[SUGGEST_SIZE];
	const char *near = resource_near(name, more, word);

	return err_set(err, -EINVAL, "unknown resource '%.60s'%s%s%s (known: " RESOURCES "%s%.300s)", name,
		       near ? "; did you mean " : "", near ? near : "", near ? "?" : "", *more ? " " : "", more);
}

static int other_parse(struct reqtext *r, const char *key, const char *value, struct err *err)
{
	char near[SUGGEST_SIZE];
	int64_t amount = 0;

	if (same(key, "ppn"))
		return err_set(err, -EINVAL, "ppn belongs in nodes= (as in nodes=1:ppn=%.*s)", SHOWN, value);
	if (!is_name(key))
		return err_set(err, -EINVAL, "\"%.*s\" is not the name of a resource", SHOWN, key);
	if (number_parse(key, value, 0, AMOUNT_MAX, &amount, err) == 0)
		return named_set(r->named, &r->nnamed, key, amount, err);
	if (strncasecmp(key, "feature", 7) == 0 || (is_name(value) && !resource_near(key, "", near)))
		return err_set(
			err, -EINVAL,
			"unknown resource '%.60s'; request a feature of nodes behind their count (as in -l nodes=1:%.*s)",
			key, SHOWN, value);
	return resource_unknown(key, "", err);
}

static int part_parse(struct reqtext *r, const char *key, char *value, struct arena *arena, struct err *err)
{
	int64_t dropped;

	if (same(key, "ncpus") || same(key, "procs"))
		return single_chunk(r, key, value, arena, err);
	if (same(key, "walltime"))
		return time_parse(value, &r->walltime, err);
	if (kib_dim(key) >= 0)
		return kib_parse(key, value, &r->job, err);
	if (same(key, "gpus") || same(key, "ngpus"))
		return number_parse(key, value, 0, CPUS_MAX, &r->job.v[RES_GPU], err);
	if (same(key, "pmem"))
		return memory_parse(value, &r->pmem, err);
	if (same(key, "place"))
		return place_parse(r, value, err);
	if (same(key, "partition"))
		return partition_parse(r, value, arena, err);
	if (same(key, "qos"))
		return name_parse("QoS", value, arena, &r->qos, err);
	if (same(key, "advres") || same(key, "reservation"))
		return advres_parse(r, value, arena, err);
	if (same(key, "estimate"))
		return time_parse(value, &r->estimate, err);
	if (same(key, "deadline"))
		return term_parse(value, arena, &r->deadline, err);
	if (same(key, "budget"))
		return term_parse(value, arena, &r->budget, err);
	if (same(key, "naccesspolicy"))
		return access_parse(r, value, err);
	if (same(key, "vmem") || same(key, "pvmem") || same(key, "file"))
		return memory_parse(value, &dropped, err);
	if (same(key, "cput") || same(key, "pcput"))
		return duration_parse(value, &dropped, err);
	return other_parse(r, key, value, err);
}

static bool says_chunks(const char *key)
{
	return same(key, "nodes") || same(key, "select") || same(key, "ncpus") || same(key, "procs");
}

/* ---- complete request ---- */

static int sums_check(const struct reqtext *r, struct err *err)
{
	int64_t frags = 0, cpus = 0, ranks = 0;
	struct res sum = {0};

	for (int i = 0; i < r->nchunks; i++) {
		const struct chunk *k = &r->chunk[i];
		frags += k->count;
		if (frags > FRAGS_MAX)
			return err_set(err, -EINVAL, "more than %d nodes or chunks in all", FRAGS_MAX);
		cpus += k->count * k->need.v[RES_CPU];
		if (cpus > CPUS_TOTAL_MAX)
			return err_set(err, -EINVAL, "more than %lld CPUs in all", (long long)CPUS_TOTAL_MAX);
		ranks += k->count * k->mpiprocs;
		if (ranks > FRAGS_MAX)
			return err_set(err, -EINVAL, "more than %d MPI processes (mpiprocs) in all", FRAGS_MAX);
		for (int d = 0; d < RES_NAMED; d++) {
			if (!res_kib(d))
				continue;
			if (k->need.v[d] > (MEMORY_MAX - sum.v[d]) / k->count)
				return err_set(err, -EINVAL, "more %s in all than there can be", res_kib(d));
			sum.v[d] += k->count * k->need.v[d];
		}
	}
	if (cpus && r->pmem > MEMORY_MAX / cpus)
		return err_set(err, -EINVAL, "pmem: more memory in all than there can be");
	return 0;
}

/* Applies place= to the chunks: it may come before them, or revoke an earlier place=. */
static void exclusive_mark(struct reqtext *r, const struct reqtext *before)
{
	if (r->scatter || (before->scatter && r->chunk == before->chunk))
		for (int i = 0; i < r->nchunks; i++)
			r->chunk[i].exclusive = r->scatter;
}

static int list_parse(struct reqtext *r, char *list, struct arena *arena, struct err *err)
{
	const char *chunks_by = NULL;

	for (char *key; (key = strsep(&list, ","));) {
		key += strspn(key, " ");
		char *end = key + strlen(key);
		while (end > key && end[-1] == ' ')
			*--end = '\0';
		char *value = strchr(key, '=');
		if (!value || value == key)
			return err_set(err, -EINVAL, "\"%.*s\": write name=value", SHOWN, key);
		*value++ = '\0';

		if (says_chunks(key)) {
			if (chunks_by && !same(chunks_by, key))
				return err_set(err, -EINVAL, "%s= and %s= can't stand together: both say how many CPUs",
					       chunks_by, key);
			chunks_by = key;
		}

		char *shown = arena_strndup(arena, value, SHOWN);
		int rc;
		if (same(key, "nodes") || same(key, "select"))
			rc = chunks_parse(r, key, value, arena, err);
		else if ((rc = part_parse(r, key, value, arena, err)) < 0)
			err_prefix(err, rc, "%.*s=%s", SHOWN, key, shown);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int reqtext_parse(struct reqtext *r, const char *text, struct arena *arena, struct err *err)
{
	struct reqtext fresh = *r;
	size_t n = strnlen(text, REQTEXT_MAX + 1);

	if (n > REQTEXT_MAX)
		return err_set(err, -EINVAL, "a request of more than %d characters", REQTEXT_MAX);
	for (size_t i = 0; i < n; i++)
		if (text[i] < ' ' || text[i] > '~')
			return err_set(err, -EINVAL, "a request must be plain text, but character %zu is not", i + 1);

	/* An empty text is valid: the canonical text of an empty request. */
	int rc = n ? list_parse(&fresh, arena_strndup(arena, text, n), arena, err) : 0;
	if (rc == 0)
		rc = sums_check(&fresh, err);
	if (rc < 0)
		return rc;
	exclusive_mark(&fresh, r);
	*r = fresh;
	return 0;
}

/* ---- formatting ---- */

static void chunk_format(const struct reqtext *r, const struct chunk *k, struct strbuf *out)
{
	char buf[32];

	if (k->node)
		strbuf_printf(out, "%s%s", r->select ? "1:host=" : "", k->node);
	else
		strbuf_printf(out, "%lld", (long long)k->count);
	strbuf_printf(out, ":%s=%lld", r->select ? "ncpus" : "ppn", (long long)k->need.v[RES_CPU]);
	if (k->need.v[RES_MEM])
		strbuf_printf(out, ":mem=%s", memory_format(k->need.v[RES_MEM], buf, sizeof buf));
	if (k->need.v[RES_DISK])
		strbuf_printf(out, ":disk=%s", memory_format(k->need.v[RES_DISK], buf, sizeof buf));
	if (k->need.v[RES_SWAP])
		strbuf_printf(out, ":swap=%s", memory_format(k->need.v[RES_SWAP], buf, sizeof buf));
	if (k->need.v[RES_GPU])
		strbuf_printf(out, ":%s=%lld", r->select ? "ngpus" : "gpus", (long long)k->need.v[RES_GPU]);
	if (k->mpiprocs)
		strbuf_printf(out, ":mpiprocs=%lld", (long long)k->mpiprocs);
	if (k->ompthreads)
		strbuf_printf(out, ":ompthreads=%lld", (long long)k->ompthreads);
	if (k->exclusive && !(r->select && r->scatter))
		strbuf_puts(out, ":e");
	for (int i = 0; i < k->nnamed; i++)
		strbuf_printf(out, ":%s=%lld", k->named[i].name, (long long)k->named[i].amount);
	for (int i = 0; i < k->nfeatures; i++)
		strbuf_printf(out, ":%s", k->feature[i]);
}

void reqtext_sum(const struct reqtext *r, struct res *ret, int64_t *ret_nodes)
{
	static const struct chunk one = {.count = 1, .need = {.v = {1}}};

	*ret = r->job;
	*ret_nodes = 0;
	for (int i = 0; i < (r->nchunks ? r->nchunks : 1); i++) {
		const struct chunk *k = r->nchunks ? &r->chunk[i] : &one;
		int64_t n = k->node ? 1 : k->count;
		*ret_nodes += n;
		for (int d = 0; d < RES_NAMED; d++)
			ret->v[d] += n * k->need.v[d];
		ret->v[RES_MEM] += n * k->need.v[RES_CPU] * r->pmem;
	}
	if (r->pack)
		*ret_nodes = 1;
}

int reqtext_check_memory(const struct reqtext *r, struct err *err)
{
	int64_t least = r->job.v[RES_MEM] ? r->job.v[RES_MEM] : INT64_MAX;
	bool each = r->pmem && r->pmem < least;

	least = each ? r->pmem : least;
	for (int i = 0; i < r->nchunks; i++)
		if (r->chunk[i].need.v[RES_MEM] && r->chunk[i].need.v[RES_MEM] < least)
			least = r->chunk[i].need.v[RES_MEM];
	if (least >= MEMORY_LEAST)
		return 0;
	return err_set(
		err, -EINVAL,
		"%s: less than %d KB, too little for any program; without a unit it is bytes: write 4gb or 500mb",
		each ? "pmem" : "mem", MEMORY_LEAST);
}

void reqtext_format(const struct reqtext *r, struct strbuf *out)
{
	char buf[32];
	const char *comma = "";

#define PART(...) (strbuf_puts(out, comma), strbuf_printf(out, __VA_ARGS__), comma = ",")
	for (int i = 0; i < r->nchunks; i++) {
		if (i == 0)
			PART(r->select ? "select=" : "nodes=");
		else
			strbuf_puts(out, "+");
		chunk_format(r, &r->chunk[i], out);
	}
	if (r->job.v[RES_MEM])
		PART("mem=%s", memory_format(r->job.v[RES_MEM], buf, sizeof buf));
	if (r->job.v[RES_DISK])
		PART("disk=%s", memory_format(r->job.v[RES_DISK], buf, sizeof buf));
	if (r->job.v[RES_SWAP])
		PART("swap=%s", memory_format(r->job.v[RES_SWAP], buf, sizeof buf));
	if (r->job.v[RES_GPU])
		PART("gpus=%lld", (long long)r->job.v[RES_GPU]);
	if (r->pmem)
		PART("pmem=%s", memory_format(r->pmem, buf, sizeof buf));
	for (int i = 0; i < r->nnamed; i++)
		PART("%s=%lld", r->named[i].name, (long long)r->named[i].amount);
	if (r->pack || r->scatter || r->whole)
		PART("place=%s%s%s",
		     r->pack	  ? "pack"
		     : r->scatter ? "scatter"
				  : "",
		     (r->pack || r->scatter) && r->whole ? ":" : "",
		     r->whole == WHOLE_HOST   ? "exclhost"
		     : r->whole == WHOLE_NODE ? "excl"
					      : "");
	if (r->partition)
		PART("partition=%s", r->partition);
	if (r->walltime >= 0)
		PART("walltime=%s", duration_format(r->walltime, buf, sizeof buf));
#undef PART
}
