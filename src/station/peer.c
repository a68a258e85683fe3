/*
 * peer.c - see peer.h.
 */
#include "station/peer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* ---- writing ---- */

static char *text_of(json_t *head)
{
	char *text = json_dumps(head, JSON_COMPACT | JSON_REAL_PRECISION(5));

	json_decref(head);
	return text;
}

char *peer_hello_write(const struct peer_hello *h)
{
	json_t *members = json_array();

	for (int i = 0; i < h->nmembers; i++)
		json_array_append_new(members, json_pack("[s,s,I]", h->members[i].name, h->members[i].where,
							 (json_int_t)h->members[i].join));
	return text_of(json_pack("{s:s,s:i,s:I,s:i,s:o}", "t", "hello", "port", h->port, "run", (json_int_t)h->run,
				 "lease", h->lease_ms, "members", members));
}

char *peer_report_write(const struct peer_report *r)
{
	const struct load *l = &r->load;

	return text_of(json_pack("{s:s,s:I,s:I,s:f,s:f,s:f,s:i,s:i,s:i,s:i,s:I,s:b,s:s}", "t", "report", "run",
				 (json_int_t)r->run, "seq", (json_int_t)r->seq, "speed", l->speed, "idle", l->idle,
				 "free", l->free, "ours", l->ours, "interactive", l->interactive, "batch", l->batch,
				 "cpus", r->cpus, "memory", (json_int_t)r->memory, "closed", r->closed, "arch",
				 r->arch));
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
	int nargv;

	strbuf_add(ret_data, s->dir, strlen(s->dir) + 1);
	nargv = words_add((const char *const *)s->argv, ret_data);
	words_add((const char *const *)s->env, ret_data);
	return text_of(json_pack("{s:s,s:I,s:I,s:i,s:I}", "t", "start", "id", (json_int_t)s->id, "priority",
				 (json_int_t)s->priority, "argv", nargv, "memory", (json_int_t)s->memory));
}

/* ---- reading ---- */

static int whole(const json_t *head, const char *key, int64_t min, int64_t max, int64_t *ret, struct err *err)
{
	const json_t *v = json_object_get(head, key);
	int64_t n = json_integer_value(v);

	if (!json_is_integer(v) || n < min || n > max)
		return err_set(err, -EINVAL, "%s: it must be a number from %lld to %lld", key, (long long)min,
			       (long long)max);
	*ret = n;
	return 0;
}

static int count(const json_t *head, const char *key, int min, int max, int *ret, struct err *err)
{
	int64_t n = 0;
	int rc = whole(head, key, min, max, &n, err);

	if (rc == 0)
		*ret = (int)n;
	return rc;
}

static int real(const json_t *head, const char *key, double min, double max, double *ret, struct err *err)
{
	const json_t *v = json_object_get(head, key);
	double x = json_number_value(v);

	if (!json_is_number(v) || !(x >= min && x <= max))
		return err_set(err, -EINVAL, "%s: it must be a number from %g to %g", key, min, max);
	*ret = x;
	return 0;
}

/* Printable, without blanks: names of stations, addresses, architectures. */
static int word(const json_t *v, const char *key, char *ret, size_t size, struct err *err)
{
	const char *text = json_string_value(v);
	size_t n = json_string_length(v);

	if (!text || n == 0 || n >= size)
		return err_set(err, -EINVAL, "%s: it must be a text of 1 to %zu characters", key, size - 1);
	for (size_t i = 0; i < n; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return err_set(err, -EINVAL, "%s: it has characters that are not allowed", key);
	memcpy(ret, text, n + 1);
	return 0;
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
	int64_t run = 0;
	size_t i;
	int rc = count(head, "port", 1, 65535, &h.port, err);

	if (rc == 0)
		rc = whole(head, "run", 1, INT64_MAX, &run, err);
	if (rc == 0)
		rc = count(head, "lease", 100, 3600000, &h.lease_ms, err);
	if (rc < 0)
		return rc;
	h.run = (uint64_t)run;
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

int peer_report_read(const json_t *head, struct peer_report *ret, struct err *err)
{
	struct peer_report r = {0};
	struct load *l = &r.load;
	int64_t run = 0, seq = 0;
	int rc;

	if ((rc = whole(head, "run", 1, INT64_MAX, &run, err)) < 0 ||
	    (rc = whole(head, "seq", 1, INT64_MAX, &seq, err)) < 0 ||
	    (rc = real(head, "speed", 1e-3, 1e6, &l->speed, err)) < 0 ||
	    (rc = real(head, "idle", 0, 1, &l->idle, err)) < 0 || (rc = real(head, "free", 0, 1, &l->free, err)) < 0 ||
	    (rc = count(head, "ours", 0, 1 << 20, &l->ours, err)) < 0 ||
	    (rc = count(head, "interactive", 0, 1 << 20, &l->interactive, err)) < 0 ||
	    (rc = count(head, "batch", 0, 1 << 20, &l->batch, err)) < 0 ||
	    (rc = count(head, "cpus", 1, 1 << 16, &r.cpus, err)) < 0 ||
	    (rc = whole(head, "memory", 0, INT64_MAX / 2, &r.memory, err)) < 0 ||
	    (rc = word(json_object_get(head, "arch"), "arch", r.arch, sizeof r.arch, err)) < 0)
		return rc;
	r.closed = json_is_true(json_object_get(head, "closed"));
	r.run = (uint64_t)run;
	r.seq = (uint64_t)seq;
	*ret = r;
	return 0;
}

/* `most` texts that end with NUL each, from *at on; -1: up to the end. */
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
	int64_t id = 0;
	int rc, argc = 0;

	if ((rc = whole(head, "id", 1, INT64_MAX, &id, err)) < 0 ||
	    (rc = whole(head, "priority", INT64_MIN, INT64_MAX, &s.priority, err)) < 0 ||
	    (rc = whole(head, "memory", 0, INT64_MAX / 2, &s.memory, err)) < 0 ||
	    (rc = count(head, "argv", 1, PEER_WORDS_MOST, &argc, err)) < 0 ||
	    (rc = words(&at, end, 1, a, &dir, err)) < 0 || (rc = words(&at, end, argc, a, &s.argv, err)) < 0 ||
	    (rc = words(&at, end, -1, a, &s.env, err)) < 0)
		return rc;
	if (dir[0][0] != '/' || !s.argv[0][0])
		return err_set(err, -EINVAL, "a task needs a program, and a directory from /");
	s.dir = dir[0];
	s.id = (uint64_t)id;
	*ret = s;
	return 0;
}

int peer_done_read(const json_t *head, struct peer_done *ret, struct err *err)
{
	struct peer_done d = {0};
	int64_t id = 0;
	int rc = whole(head, "id", 1, INT64_MAX, &id, err);

	if (rc == 0)
		rc = count(head, "status", 0, 0xffff, &d.status, err);
	if (rc == 0)
		rc = whole(head, "cpu", 0, INT64_MAX / 2, &d.cpu_ms, err);
	d.id = (uint64_t)id;
	if (rc == 0)
		*ret = d;
	return rc;
}
