/*
 * api_list.c - lists of jobs: all, by a filter, or by their ids.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "net/http.h"
#include "rules/attr.h"
#include "rules/gate.h"
#include "sched/order.h"
#include "sched/sched.h"
#include "server/api/frame/api.h"
#include "server/api/frame/call.h"
#include "server/api/frame/query.h"
#include "server/api/frame/request.h"
#include "server/api/frame/schemas.h"
#include "server/api/jobs/counts.h"
#include "server/api/jobs/show.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/base/words.h"
#include "server/job/body.h"
#include "server/job/entry.h"
#include "server/job/jobs.h"
#include "server/job/spec.h"
#include "server/life/wait/foresee.h"
#include "server/server.h"
#include "server/site/who.h"
#include "store/store.h"

#define LIST_MAX 1000000
#define ROWS_A_TURN 2000  /* rows of a streamed list sent before other clients get a turn */
#define LOOKED_A_ROW 10	  /* jobs that are not listed and cost as much as a row */
#define ELEMENTS_A_ROW 10 /* elements of an array that cost as much to examine as a row */
#define BYTES_A_ROW 1024  /* bytes of bodies that cost as much to read */

/* jobs of one user above which the list looks at all jobs instead, in slices */
#define OWN_MOST 20000

/* jobs that ids= may name, at most, since they are looked up in one turn */
#define NAMED_MAX 200000

/* Words that match. */
struct word_set {
	bool any;
	struct map words;
	uint32_t last; /* one of them; 0: none */
};

/* Selects the jobs of a list. */
struct filter {
	struct word_set user, queue;
	const char *state, *name;
	bool completed, expand, blocked;
	int64_t ended_since; /* without `completed`: jobs that ended later are listed anyway */
};

/* Reads "a,b"; NULL: any word matches. Words unknown to the server match no job. */
static struct word_set set_read(const struct server *s, const char *list)
{
	struct word_set x = {.any = !list};
	char *copy = mem_strdup(list ? list : ""), *rest = copy, *one;

	while (list && (one = strsep(&rest, ",")))
		if (word_find(s, one))
			map_set(&x.words, x.last = word_find(s, one), 1);
	free(copy);
	return x;
}

static bool set_has(const struct word_set *x, uint32_t word_)
{
	return x->any || map_get(&x->words, word_, &(uint64_t){0});
}

/* Judges by all but the state. */
static bool filter_fits(const struct filter *f, const struct spec *p)
{
	return set_has(&f->user, p->owner) && set_has(&f->queue, p->queue) &&
	       (!f->name || strcmp(f->name, p->name) == 0);
}

/* Returns true if the job waits for something other than its turn. */
static bool is_blocked(const struct server *s, uint32_t id)
{
	return entry_job(s, id)->state < STATE_NOW && (gate_blocks(s->gate, id) || sched_limited(s->sched, id));
}

/* Returns true if the job ended too early to be listed. */
static bool is_too_old(const struct server *s, const struct filter *f, uint32_t id, const struct array *a, char state)
{
	int64_t ended = 0;

	if (f->completed || state != 'C')
		return false;
	for (uint32_t i = 0; i < (a && f->ended_since < INT64_MAX ? a->count : 1); i++) {
		int64_t t = entry_job(s, a ? a->first + i : id)->since;
		ended = t > ended ? t : ended;
	}
	return ended < f->ended_since;
}

#define WHOLE (UINT32_C(1) << 31)

/* A list in progress. */
struct listing {
	struct server *s;
	struct asker who;
	struct filter f;
	struct field_list fields;
	job_vec ids; /* selected ids, if `chosen`. With WHOLE one stands for its array */
	bool chosen;
	uint32_t at;   /* next entry, or index into ids */
	uint32_t left; /* jobs to look at until other clients get a turn */
	uint64_t limit;
	/* key of the latest row; for an array as one row, that of its last element */
	uint64_t last;
	uint64_t next;	     /* key after which the next page begins; 0: this is the last page */
	struct arena *arena; /* owns the filter's texts */
	struct strbuf scratch;
	bool tsv, first, begun, closed;
	struct http_request *r;
};

/* Finds the next job of the list: its id, and its array if it stands for that. */
static bool listing_next(struct listing *l, uint32_t *ret, const struct array **ret_array)
{
	struct server *s = l->s;
	uint32_t end = l->chosen ? (uint32_t)l->ids.n : s->jobs->entries.n;

	while (l->left > 0 && (l->at = l->chosen ? l->at : rows_next(&s->jobs->entries, l->at)) < end) {
		bool whole = l->chosen ? l->ids.v[l->at] & WHOLE : !l->f.expand;
		uint32_t id = l->chosen ? l->ids.v[l->at] & ~WHOLE : l->at;
		const struct entry *e = entry_get(s, id);
		const struct array *a =
			e->spec && job_key_index(e->key) >= 0 ? array_find(s, job_key_number(e->key)) : NULL;
		l->at++;
		l->left--;
		if (!e->spec)
			continue;
		/* an array is one row, in place of its first element, and all elements have one owner */
		if (a && !l->chosen && (whole || !set_has(&l->f.user, e->spec->owner)))
			l->at = a->first + a->count;
		*ret_array = a && whole ? a : NULL;
		if ((*ret_array && id != a->first) || !may_see(s, &l->who, e->spec) || !filter_fits(&l->f, e->spec))
			continue;

		char state = *ret_array ? array_state(s, a) : entry_state(s, id);

		if ((l->f.state && !strchr(l->f.state, state)) || is_too_old(s, &l->f, id, *ret_array, state) ||
		    (l->f.blocked && (*ret_array || !is_blocked(s, id))))
			continue;
		if (l->limit == 0) {
			l->next = l->last;
			l->at = end;
			return false;
		}
		l->limit--;
		l->last = *ret_array ? job_key(a->number, JOB_INDEX_MAX) : e->key;
		*ret = id;
		return true;
	}
	return false;
}

static void listing_free(void *context)
{
	struct listing *l = context;

	vec_free(&l->ids);
	map_fini(&l->f.user.words);
	map_fini(&l->f.queue.words);
	strbuf_fini(&l->scratch);
	arena_destroy(l->arena);
	free(l);
}

static void listing_item(struct listing *l, struct strbuf *out, uint32_t id, const struct array *a)
{
	const json_t *shared;
	json_t *body = NULL;
	struct json j;

	if (l->tsv) {
		show_row(l->s, out, id, a, &l->fields, &l->scratch);
		return;
	}
	if (l->fields.whole && body_brief(l->s, id, &l->s->jobs->last_body, &shared, NULL) == 0)
		body = json_copy((json_t *)shared);
	show_close(l->s, &l->who, id, body);
	strbuf_puts(out, l->first ? "" : ",");
	l->first = false;
	json_begin(&j, out);
	show_members(l->s, &j, id, a, &l->fields, body);
	json_close_object(&j);
	json_decref(body);
}

/* Appends the id of the last row, for ?after=. */
static void listing_end(const struct listing *l, struct strbuf *out)
{
	unsigned long long number = job_key_number(l->next);
	int64_t index = job_key_index(l->next);

	if (!l->next)
		strbuf_puts(out, "],\"next\":null}");
	else if (index < 0 || index == JOB_INDEX_MAX)
		strbuf_printf(out, "],\"next\":\"%llu\"}", number);
	else
		strbuf_printf(out, "],\"next\":\"%llu[%lld]\"}", number, (long long)index);
}

static int listing_fill(void *context, struct strbuf *out, size_t want)
{
	struct listing *l = context;
	const struct array *a;
	uint32_t id;

	if (l->closed)
		return -1;
	if (!l->tsv && !l->begun)
		strbuf_puts(out, "{\"jobs\":[");
	l->begun = true;
	l->left = ROWS_A_TURN * LOOKED_A_ROW;
	for (uint64_t rows = 0; rows < ROWS_A_TURN && out->n < want; rows += 1 + (a ? a->count / ELEMENTS_A_ROW : 0)) {
		uint64_t bytes = l->s->jobs->last_body.bytes;
		if (!listing_next(l, &id, &a)) {
			if (l->left == 0 && !l->next)
				return 1;
			l->closed = true;
			if (l->tsv)
				return out->n ? 1 : -1;
			listing_end(l, out);
			return 1;
		}
		listing_item(l, out, id, a);
		rows += (l->s->jobs->last_body.bytes - bytes) / BYTES_A_ROW;
	}
	return 1;
}

static const char *keep(struct listing *l, const char *text)
{
	return text ? arena_printf(l->arena, "%s", text) : NULL;
}

/* Adds an array as one row, even if it is named several times, since each row examines all of its
 * elements. */
static void whole_add(struct listing *l, struct map *wholes, uint32_t first)
{
	if (!map_get(wholes, first, &(uint64_t){0}))
		vec_push(&l->ids, first | WHOLE);
	map_set(wholes, first, 1);
}

/* Selects ids=1,2[],3[4]: jobs that exist and may be seen. An array is one row unless its elements
 * are requested. */
static int choose(struct listing *l, const char *ids, struct map *wholes, struct err *err)
{
	size_t named = 0;
	char one[256];

	l->chosen = true;
	for (const char *p = ids; *p;) {
		size_t n = 0;
		int depth = 0;
		size_t before = l->ids.n;
		struct array *a = NULL;
		while (p[n] && (p[n] != ',' || depth)) {
			depth += p[n] == '[' ? 1 : p[n] == ']' ? -1 : 0;
			n++;
		}
		if (n >= sizeof one)
			return err_set(err, -EINVAL, "ids: \"%.20s...\" is too long for a job's id", p);
		memcpy(one, p, n);
		one[n] = '\0';
		int rc = jobs_named_of_many(l->s, one, &l->ids, &a, &named, err);
		if (rc == -EINVAL)
			return rc;
		if (named > NAMED_MAX)
			return err_set(
				err, -EINVAL,
				"ids: more than %d jobs are named: ask for fewer at once, or by user= and queue=",
				NAMED_MAX);
		if (rc == 0 && a && !l->f.expand) {
			l->ids.n = before;
			whole_add(l, wholes, a->first);
		}
		p += n + (p[n] == ',');
	}
	return 0;
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a & ~WHOLE, y = *(const uint32_t *)b & ~WHOLE;

	return (x > y) - (x < y);
}

/* Selects the jobs of the one user that the list is about by their chain, which is in the order of
 * their acceptance: what is accepted in slices got its ids before. */
static void choose_own(struct listing *l)
{
	struct server *s = l->s;
	uint32_t id = l->f.user.last ? tally_of(s, l->f.user.last, 0)->newest : 0;
	int looked = 0;

	for (; id && looked <= OWN_MOST; id = entry_get(s, id)->before, looked++) {
		const struct entry *e = entry_get(s, id);
		const struct array *a = e->spec && job_key_index(e->key) >= 0 && !l->f.expand
						? array_find(s, job_key_number(e->key))
						: NULL;
		if (a)
			id = entry_run(s, id, a->first);
		if (e->spec && id >= l->at && (!a || id == a->first))
			vec_push(&l->ids, a ? id | WHOLE : id);
	}
	l->chosen = looked <= OWN_MOST;
	if (!l->chosen) {
		vec_clear(&l->ids);
		return;
	}
	l->at = 0;
	if (l->ids.n > 1)
		qsort(l->ids.v, l->ids.n, sizeof *l->ids.v, by_id);
}

struct ending {
	int64_t at;
	uint32_t job;
};

static int by_ending(const void *a, const void *b)
{
	const struct ending *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

/* Selects for order=schedule: running jobs by planned end, then eligible ones in the scheduler's
 * order, then blocked ones, then ended ones. */
static void choose_scheduled(struct listing *l)
{
	struct server *s = l->s;
	bool *listed = mem_zalloc(s->jobs->entries.n);
	VEC(struct ending) active = {0};

	l->chosen = l->f.expand = true;
	l->at = 0;
	JOBS_EACH(s, id)
		if (entry_get(s, id)->spec && entry_running(s, id))
			vec_push(&active,
				 (struct ending){entry_job(s, id)->start + entry_get(s, id)->spec->walltime, id});
	if (active.n > 1)
		qsort(active.v, active.n, sizeof *active.v, by_ending);
	for (size_t i = 0; i < active.n; i++)
		vec_push(&l->ids, active.v[i].job);
	sched_order(s->sched, &l->ids);
	for (size_t i = 0; i < l->ids.n; i++)
		listed[l->ids.v[i]] = true;
	for (int ended = 0; ended < 2; ended++)
		JOBS_EACH(s, id)
			if (entry_get(s, id)->spec && !listed[id] && entry_ended(s, id) == ended)
				vec_push(&l->ids, id);
	vec_free(&active);
	free(listed);
}

/* Returns the first entry after a job, an element or a whole array, for paging. */
static uint32_t after_id(const struct server *s, const char *text)
{
	uint32_t lo = 1, hi = s->jobs->entries.n;
	char *end;
	uint64_t number = strtoull(text, &end, 10);
	int64_t index = *end == '[' && end[1] != ']' ? strtoll(end + 1, NULL, 10) : JOB_INDEX_MAX;
	uint64_t key = job_key(number, index);

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2, known = rows_next(&s->jobs->entries, mid);
		if (known < hi && entry_get(s, known)->key <= key)
			lo = known + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Returns the first name of a list that is not a queue; NULL: all are. */
static const char *queue_unknown(struct server *s, const char *list, struct arena *arena)
{
	for (const char *p = list; p && *p;) {
		size_t n = strcspn(p, ",");
		const char *name = arena_strndup(arena, p, n);
		if (!queue_named(s, name))
			return name;
		p += n + (p[n] == ',');
	}
	return NULL;
}

const struct schema list_answer = {FIELDS({"jobs", .is = REQUIRED | IS_LIST, .of = &job_schema, .item = IS_OBJECT},
					  {"next", .is = REQUIRED | IS_TEXT | IS_NULL, "where the next page begins"})};

void api_list(struct server *s, const struct call *c)
{
	struct listing *l = mem_zalloc(sizeof *l);
	const char *accept = request_header(c->r, "Accept"), *fields = request_query(c->r, "fields"), *x;
	struct err err;
	int rc;

	l->s = s;
	l->r = c->r;
	l->who = *c->w;
	l->arena = arena_create();
	l->first = true;
	l->at = 1;
	l->limit = LIST_MAX;
	l->tsv = accept && strncmp(accept, "text/tab-separated-values", 25) == 0;
	l->f = (struct filter){set_read(s, request_query(c->r, "user")),
			       set_read(s, request_query(c->r, "queue")),
			       keep(l, request_query(c->r, "state")),
			       keep(l, request_query(c->r, "name")),
			       true,
			       false,
			       query_number(c, "blocked", 0) == 1,
			       INT64_MAX};
	x = request_query(c->r, "completed");
	l->f.completed = !x || strcmp(x, "1") == 0;
	l->f.ended_since =
		x && strcmp(x, "recent") == 0 ? s->clock->now - attrs_number(s->attrs, SET_SHOW_COMPLETED) : INT64_MAX;
	if ((x = request_query(c->r, "arrays")))
		l->f.expand = strcmp(x, "expand") == 0;
	l->limit = (uint64_t)query_number(c, "limit", (int64_t)l->limit);
	rc = show_fields_parse(fields, &l->fields, &err);
	if ((x = request_query(c->r, "after")))
		l->at = after_id(s, x);
	if (x && (*x < '0' || *x > '9'))
		rc = err_set(&err, -EINVAL, "after=%.40s: it must be `next` of the previous page", x);
	if (l->f.state && l->f.state[strspn(l->f.state, "QRHWSECB,")])
		rc = err_set(&err, -EINVAL, "'%c' is not a state: use letters of Q, R, H, W, S, E, B and C",
			     l->f.state[strspn(l->f.state, "QRHWSECB,")]);
	if ((x = queue_unknown(s, request_query(c->r, "queue"), l->arena))) {
		http_error(c->r, CODE_UNKNOWN_QUEUE, "Unknown queue %.60s.", x);
		listing_free(l);
		return;
	}
	if (fields && (strstr(fields, "expected_") || strstr(fields, "no_estimate")))
		foresee_update(s);
	if (rc == 0 && l->tsv && (!fields || l->fields.whole))
		rc = err_set(&err, -EINVAL, "tab-separated lists need fields=, and only those that lists have");
	if (rc == 0 && (x = request_query(c->r, "ids"))) {
		struct map wholes = {0};
		l->at = 0;
		rc = choose(l, x, &wholes, &err);
		map_fini(&wholes);
	}
	if (rc == 0 && !l->chosen && (x = request_query(c->r, "order")) && strcmp(x, "schedule") == 0)
		choose_scheduled(l);
	if (rc == 0 && !l->chosen && !l->f.user.any && l->f.user.words.n <= 1)
		choose_own(l);
	if (rc < 0) {
		api_refuse(c->r, &err);
		listing_free(l);
		return;
	}

	struct stream_source source = {listing_fill, listing_free, l};

	http_stream(c->r, 200, l->tsv ? "text/tab-separated-values" : "application/json", &source);
}
