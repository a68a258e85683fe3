/*
 * peer.c - see peer.h.
 */
#include "station/peer.h"

#include <errno.h>
#include <string.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/members.h"

#define MOST (INT64_MAX / 2)
#define TASKS_MOST (1 << 20)
#define ID(type, member) .in = ALWAYS, .least = 1, .most = INT64_MAX, MEMBER(type, member)

static const struct field hello_rows[] = {
	{"port", .in = ALWAYS, .least = 1, .most = 65535, MEMBER(struct peer_hello, port)},
	{"run", ID(struct peer_hello, run)},
	{"lease", .in = ALWAYS, .least = 100, .most = 3600000, MEMBER(struct peer_hello, lease_ms)},
	{0},
};

const struct schema peer_report_frame = {
	FIELDS({"run", ID(struct peer_report, run)}, {"seq", ID(struct peer_report, seq)},
	       {"speed", .in = ALWAYS, MEMBER_AS(FORM_REAL, struct peer_report, load.speed)},
	       {"idle", .in = ALWAYS, MEMBER_AS(FORM_REAL, struct peer_report, load.idle)},
	       {"free", .in = ALWAYS, MEMBER_AS(FORM_REAL, struct peer_report, load.free)},
	       {"ours", .in = ALWAYS, .most = TASKS_MOST, MEMBER(struct peer_report, load.ours)},
	       {"interactive", .in = ALWAYS, .most = TASKS_MOST, MEMBER(struct peer_report, load.interactive)},
	       {"batch", .in = ALWAYS, .most = TASKS_MOST, MEMBER(struct peer_report, load.batch)},
	       {"cpus", .in = ALWAYS, .least = 1, .most = 1 << 16, MEMBER(struct peer_report, cpus)},
	       {"memory", .in = ALWAYS, .most = MOST, MEMBER(struct peer_report, memory)},
	       {"closed", MEMBER(struct peer_report, closed)},
	       {"arch", .in = ALWAYS, MEMBER_CHARS(struct peer_report, arch)})};

static const struct field start_rows[] = {
	{"id", ID(struct peer_start, id)},
	{"priority", .in = ALWAYS, MEMBER(struct peer_start, priority)},
	{"path", .most = MOST, MEMBER(struct peer_start, path)},
	{"job", .most = INT64_MAX, MEMBER(struct peer_start, job)},
	{"argv", .in = ALWAYS, .least = 1, .most = PEER_WORDS_MOST, MEMBER(struct peer_start, argc)},
	{"memory", .in = ALWAYS, .most = MOST, MEMBER(struct peer_start, memory)},
	{0},
};

const struct schema peer_done_frame = {FIELDS(
	{"id", ID(struct peer_done, id)}, {"status", .in = ALWAYS, .most = 0xffff, MEMBER(struct peer_done, status)},
	{"cpu", .in = ALWAYS, .most = MOST, MEMBER(struct peer_done, cpu_ms)})};

const struct schema peer_note_frame = {FIELDS({"id", ID(struct peer_note, id)},
					      {"fd", .is = SPARSE, MEMBER(struct peer_note, fd)},
					      {"n", .is = SPARSE, MEMBER(struct peer_note, n)})};

#define OUTCOME(member) MEMBER(struct peer_outcome, member)

const struct schema peer_outcome_frame = {FIELDS(
	{"task", OUTCOME(task)}, {"fd", .is = SPARSE, OUTCOME(fd)}, {"status", OUTCOME(status)},
	{"cpu", OUTCOME(cpu_ms)}, {"where", OUTCOME(where)}, {"attempts", OUTCOME(attempts)}, {"why", OUTCOME(why)})};

#define GRANT(member)                                                                                                  \
	{                                                                                                              \
#member, MEMBER(struct peer_grant, member)                                                             \
	}

const struct schema peer_grant_frame = {FIELDS(GRANT(id), GRANT(secret), GRANT(name), GRANT(csr), GRANT(certificate),
					       GRANT(pool), GRANT(why), GRANT(members))};

const struct schema peer_removed_frame = {FIELDS({"text", .in = ALWAYS, MEMBER(struct peer_removed, text)},
						 {"signature", .in = ALWAYS, MEMBER(struct peer_removed, signature)})};

/* ---- writing ---- */

static void head_open(struct json *j, struct strbuf *out, const char *type)
{
	json_begin(j, out);
	json_text(j, "t", type);
}

static char *head_write(const char *type, const struct field *rows, const void *record)
{
	struct strbuf out = {0};
	struct json j;

	head_open(&j, &out, type);
	record_store(rows, 0, record, NULL, &j);
	json_close_object(&j);
	return out.text;
}

char *peer_hello_write(const struct peer_hello *h)
{
	struct strbuf out = {0};
	struct json j;

	head_open(&j, &out, "hello");
	record_store(hello_rows, 0, h, NULL, &j);
	json_open_array(&j, "members");
	for (int i = 0; i < h->nmembers; i++) {
		json_open_array(&j, NULL);
		json_text(&j, NULL, h->members[i].name);
		json_text(&j, NULL, h->members[i].where);
		json_int(&j, NULL, (int64_t)h->members[i].join);
		json_close_array(&j);
	}
	json_close_array(&j);
	json_close_object(&j);
	return out.text;
}

char *peer_report_write(const struct peer_report *r)
{
	return head_write("report", peer_report_frame.fields, r);
}

static int words_add(const char *const *words, struct strbuf *out)
{
	int n = 0;

	for (; words && words[n]; n++)
		strbuf_add(out, words[n], strlen(words[n]) + 1);
	return n;
}

char *peer_start_write(const struct peer_start *s, struct strbuf *ret_data)
{
	struct peer_start head = *s;

	strbuf_add(ret_data, s->dir, strlen(s->dir) + 1);
	head.argc = words_add((const char *const *)s->argv, ret_data);
	words_add((const char *const *)s->env, ret_data);
	return head_write("start", start_rows, &head);
}

/* ---- reading ---- */

/* Checks that names of stations, addresses and architectures are printable, without blanks. */
static int word_check(const char *text, const char *key, struct err *err)
{
	for (const char *p = text; *p; p++)
		if (*p <= ' ' || *p > '~')
			return err_set(err, -EINVAL, "%s: it has characters that are not allowed", key);
	return *text ? 0 : err_set(err, -EINVAL, "%s: it must not be empty", key);
}

static int word(const json_t *v, const char *key, char *ret, size_t size, struct err *err)
{
	const char *text = NULL;
	int rc = value_read_text(v, key, size - 1, &text, err);

	if (rc == 0)
		rc = word_check(text, key, err);
	if (rc == 0)
		memcpy(ret, text, strlen(text) + 1);
	return rc;
}

uint64_t peer_join_read(const json_t *v)
{
	json_int_t n = json_integer_value(v);

	return n > 0 ? (uint64_t)n : 0;
}

int peer_hello_read(const json_t *head, struct arena *a, struct peer_hello *ret, struct err *err)
{
	const json_t *members = json_object_get(head, "members"), *m;
	struct peer_hello h = {0};
	size_t i;
	int rc = record_load(hello_rows, 0, head, &h, NULL, err);

	if (rc < 0)
		return rc;
	if (json_array_size(members) > PEER_MEMBERS_MOST)
		return err_set(err, -EINVAL, "members: more than %d", PEER_MEMBERS_MOST);
	h.members = arena_alloc(a, (json_array_size(members) + 1) * sizeof *h.members);
	json_array_foreach(members, i, m)
	{
		struct peer_member *to = &h.members[h.nmembers++];
		if ((rc = word(json_array_get(m, 0), "members", to->name, sizeof to->name, err)) < 0 ||
		    (rc = word(json_array_get(m, 1), "members", to->where, sizeof to->where, err)) < 0)
			return rc;
		to->join = peer_join_read(json_array_get(m, 2));
	}
	*ret = h;
	return 0;
}

static int real_check(double x, const char *key, double min, double max, struct err *err)
{
	return x >= min && x <= max ? 0 : err_set(err, -EINVAL, "%s: it must be a number from %g to %g", key, min, max);
}

int peer_report_read(const json_t *head, struct peer_report *ret, struct err *err)
{
	struct peer_report r = {0};
	int rc;

	if ((rc = record_load(peer_report_frame.fields, 0, head, &r, NULL, err)) < 0 ||
	    (rc = real_check(r.load.speed, "speed", 1e-3, 1e6, err)) < 0 ||
	    (rc = real_check(r.load.idle, "idle", 0, 1, err)) < 0 ||
	    (rc = real_check(r.load.free, "free", 0, 1, err)) < 0 || (rc = word_check(r.arch, "arch", err)) < 0)
		return rc;
	*ret = r;
	return 0;
}

/* Splits `most` NUL-terminated strings off *at; -1: all up to the end. */
static int words(const char **at, const char *end, int most, struct arena *a, const char ***ret, struct err *err)
{
	const char *p = *at;
	int n = 0;

	while (p < end && n != most) {
		const char *nul = memchr(p, '\0', (size_t)(end - p));
		if (!nul || n == PEER_WORDS_MOST)
			return err_set(err, -EINVAL, "the arguments and the environment must be at most %d texts",
				       PEER_WORDS_MOST);
		p = nul + 1;
		n++;
	}
	if (most >= 0 && n != most)
		return err_set(err, -EINVAL, "%d arguments were announced, and %d came", most, n);
	const char **w = arena_alloc(a, (size_t)(n + 1) * sizeof *w);

	p = *at;
	for (int i = 0; i < n; i++, p += strlen(p) + 1)
		w[i] = arena_strndup(a, p, strlen(p));
	*at = p;
	*ret = w;
	return 0;
}

int peer_start_read(const json_t *head, const char *data, size_t n, struct arena *a, struct peer_start *ret,
		    struct err *err)
{
	const char *at = data, *end = data + n, **dir;
	struct peer_start s = {0};
	int rc;

	if ((rc = record_load(start_rows, 0, head, &s, NULL, err)) < 0 || (rc = words(&at, end, 1, a, &dir, err)) < 0 ||
	    (rc = words(&at, end, s.argc, a, &s.argv, err)) < 0 || (rc = words(&at, end, -1, a, &s.env, err)) < 0)
		return rc;
	if (dir[0][0] != '/' || !s.argv[0][0])
		return err_set(err, -EINVAL, "a task needs a program, and a directory from /");
	s.dir = dir[0];
	*ret = s;
	return 0;
}
