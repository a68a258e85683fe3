/*
 * layout.c - which ranks run where, as a struct and as a frame.
 */
#include "pmix/layout.h"

#include <errno.h>
#include <string.h>

#define RANKS_MAX 1000000

void layout_derive(struct layout *l)
{
	for (uint32_t r = 0; r < l->size; r++) {
		struct layout_host *h = &l->host.v[l->rank[r].host];
		l->rank[r].local = (uint32_t)h->rank.n;
		vec_push(&h->rank, r);
	}
}

void layout_fini(struct layout *l)
{
	for (size_t i = 0; i < l->host.n; i++)
		vec_free(&l->host.v[i].rank);
	vec_free(&l->host);
	vec_free(&l->node);
	if (l->arena)
		arena_destroy(l->arena);
	*l = (struct layout){0};
}

/* ---- writing ---- */

json_t *layout_head(const struct layout *l)
{
	json_t *nodes = json_array(), *hosts = json_array(), *ranks = json_array();
	int argc = 0;

	while (l->argv[argc])
		argc++;
	for (size_t i = 0; i < l->node.n; i++)
		json_array_append_new(nodes, json_string(l->node.v[i]));
	for (size_t i = 0; i < l->host.n; i++)
		json_array_append_new(
			hosts, json_pack("{s:s,s:i}", "name", l->host.v[i].name, "cpus", (int)l->host.v[i].cpus));
	for (uint32_t r = 0; r < l->size; r++)
		json_array_append_new(ranks, json_pack("[i,i]", (int)l->rank[r].node, (int)l->rank[r].host));
	json_t *head =
		json_pack("{s:s,s:s,s:i,s:i,s:b,s:o,s:o,s:o}", "t", "setup", "name", l->name, "here", (int)l->here,
			  "argc", argc, "bind", l->bind, "nodes", nodes, "hosts", hosts, "ranks", ranks);
	if (l->file)
		json_object_set_new(head, "file", json_integer((json_int_t)l->ntext));
	return head;
}

void layout_data(const struct layout *l, struct strbuf *out)
{
	strbuf_add(out, l->workdir, strlen(l->workdir) + 1);
	for (char **a = l->argv; *a; a++)
		strbuf_add(out, *a, strlen(*a) + 1);
	for (char **e = l->env; *e; e++)
		strbuf_add(out, *e, strlen(*e) + 1);
	if (l->file) {
		strbuf_add(out, l->file, strlen(l->file) + 1);
		strbuf_add(out, l->ntext ? l->text : "", l->ntext);
	}
}

/* ---- reading ---- */

/* Reads the strings: the directory, argc words, and the rest is environment. */
static int texts_read(struct layout *l, const char *data, size_t n, size_t argc)
{
	char *p = arena_alloc(l->arena, n + 1), *end = p + n;
	VEC(char *) text = {0};
	int rc = -EINVAL;

	if (n > 0 && data[n - 1] == '\0') {
		memcpy(p, data, n);
		for (; p < end; p += strlen(p) + 1)
			vec_push(&text, p);
	}
	if (argc > 0 && text.n >= 1 + argc) {
		size_t nenv = text.n - 1 - argc;
		l->workdir = text.v[0];
		l->argv = arena_alloc(l->arena, (argc + 1) * sizeof *l->argv);
		memcpy(l->argv, text.v + 1, argc * sizeof *l->argv);
		l->env = arena_alloc(l->arena, (nenv + 1) * sizeof *l->env);
		if (nenv)
			memcpy(l->env, text.v + 1 + argc, nenv * sizeof *l->env);
		rc = 0;
	}
	vec_free(&text);
	return rc;
}

static int hosts_read(struct layout *l, json_t *nodes, json_t *hosts)
{
	json_t *v;
	size_t i;

	json_array_foreach(nodes, i, v)
	{
		if (!json_is_string(v))
			return -EINVAL;
		vec_push(&l->node, arena_strndup(l->arena, json_string_value(v), json_string_length(v)));
	}
	json_array_foreach(hosts, i, v)
	{
		const char *name = json_string_value(json_object_get(v, "name"));
		if (!name)
			return -EINVAL;
		vec_push(&l->host,
			 (struct layout_host){.name = arena_strndup(l->arena, name, strlen(name)),
					      .cpus = (uint32_t)json_integer_value(json_object_get(v, "cpus"))});
	}
	return 0;
}

static int ranks_read(struct layout *l, json_t *ranks)
{
	json_t *v;
	size_t i;

	if (json_array_size(ranks) == 0 || json_array_size(ranks) > RANKS_MAX)
		return -EINVAL;
	l->size = (uint32_t)json_array_size(ranks);
	l->rank = arena_alloc(l->arena, l->size * sizeof *l->rank);
	json_array_foreach(ranks, i, v)
	{
		int node, host;
		if (json_unpack(v, "[i,i]", &node, &host) < 0 || node < 0 || (size_t)node >= l->node.n || host < 0 ||
		    (size_t)host >= l->host.n)
			return -EINVAL;
		l->rank[i] = (struct layout_rank){.node = (uint32_t)node, .host = (uint32_t)host};
	}
	return 0;
}

/* Reads the file, which is the end of the data, while its path is the last string. Returns the
 * bytes of data that the strings take; 0: malformed. */
static size_t sent_file_read(struct layout *l, const json_t *head, const char *data, size_t n)
{
	const json_t *size = json_object_get(head, "file");
	size_t bytes = size ? (size_t)json_integer_value(size) : 0, texts = n - bytes, at;

	if (!size)
		return n;
	if (!json_is_integer(size) || bytes >= n || texts < 2 || data[texts - 1])
		return 0;
	for (at = texts - 1; at > 0 && data[at - 1]; at--)
		;
	l->file = arena_strndup(l->arena, data + at, texts - 1 - at);
	l->text = memcpy(arena_alloc(l->arena, bytes + 1), data + texts, bytes);
	l->ntext = bytes;
	return at;
}

int layout_read(const json_t *head, const char *data, size_t n, struct layout *ret, struct err *err)
{
	struct layout l = {.arena = arena_create()};
	const char *name;
	json_t *nodes, *hosts, *ranks;
	int here, argc, bind, rc = -EINVAL;

	if (json_unpack((json_t *)head, "{s:s,s:i,s:i,s:b,s:o,s:o,s:o}", "name", &name, "here", &here, "argc", &argc,
			"bind", &bind, "nodes", &nodes, "hosts", &hosts, "ranks", &ranks) == 0 &&
	    argc > 0) {
		l.name = arena_strndup(l.arena, name, strlen(name));
		l.bind = bind;
		rc = texts_read(&l, data, sent_file_read(&l, head, data, n), (size_t)argc);
		if (rc == 0)
			rc = hosts_read(&l, nodes, hosts);
		if (rc == 0 && (here < 0 || (size_t)here >= l.host.n))
			rc = -EINVAL;
		if (rc == 0)
			rc = ranks_read(&l, ranks);
	}
	if (rc < 0) {
		layout_fini(&l);
		return err_set(err, rc, "the launcher's message can't be understood: it may be of another version");
	}
	l.here = (uint32_t)here;
	layout_derive(&l);
	*ret = l;
	return 0;
}
