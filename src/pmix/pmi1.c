/*
 * pmi1.c - PMI-1 for the ranks of one host.
 *
 * A rank has at most one request pending, and waits for the answer. Answers are small: if one does
 * not fit into the socket, the rank is not reading, and its socket is closed.
 */
#include "pmix/pmi1.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEY_MAX 64
#define VALUE_MAX 1024
#define MAPPING "PMI_process_mapping"

/* ---- keys and values ---- */

static void value_set(struct pmi1 *p, const char *key, const char *value)
{
	uint32_t id = names_add(&p->keys, key);

	while (p->values.n <= id)
		vec_push(&p->values, NULL);
	free(p->values.v[id]);
	p->values.v[id] = mem_strdup(value);
}

static const char *value_get(const struct pmi1 *p, const char *key)
{
	uint32_t id;

	return names_find(&p->keys, key, &id) ? p->values.v[id] : NULL;
}

/* Sets the mapping "(vector,(0,3,2))", ranks in blocks as in hydra: first host, number of hosts,
 * ranks on each. If it would be too long it is left out; ranks then exchange the names of their
 * hosts. */
static void mapping_set(struct pmi1 *p)
{
	const struct layout *l = p->l;
	struct {
		uint32_t first, hosts, ranks;
	} b = {0};
	struct strbuf text = {0};

	strbuf_puts(&text, "(vector");
	for (uint32_t r = 0, n; r < l->size; r += n) {
		uint32_t host = l->rank[r].host;
		for (n = 1; r + n < l->size && l->rank[r + n].host == host; n++)
			;
		if (b.hosts && host == b.first + b.hosts && n == b.ranks) {
			b.hosts++;
			continue;
		}
		if (b.hosts)
			strbuf_printf(&text, ",(%u,%u,%u)", b.first, b.hosts, b.ranks);
		b.first = host;
		b.hosts = 1;
		b.ranks = n;
	}
	strbuf_printf(&text, ",(%u,%u,%u))", b.first, b.hosts, b.ranks);
	if (text.n < VALUE_MAX)
		value_set(p, MAPPING, text.text);
	strbuf_fini(&text);
}

/* ---- a line ---- */

/* Copies the value of "key=", up to the next blank, or with `rest` to the end of the line.
 * Returns false if it is missing or too long. */
static bool word_get(const char *line, const char *key, bool rest, char *ret, size_t size)
{
	size_t n = strlen(key);

	for (const char *p = line; p; p = strchr(p, ' ') ? strchr(p, ' ') + 1 : NULL)
		if (strncmp(p, key, n) == 0 && p[n] == '=') {
			size_t length = rest ? strlen(p + n + 1) : strcspn(p + n + 1, " ");
			if (length >= size)
				return false;
			memcpy(ret, p + n + 1, length);
			ret[length] = '\0';
			return true;
		}
	return false;
}

static long number_get(const char *line, const char *key)
{
	char text[32];

	return word_get(line, key, false, text, sizeof text) ? strtol(text, NULL, 10) : 0;
}

static enum pmi1_deed on_init(struct pmi1 *p, const char *line, struct strbuf *answer)
{
	long version = number_get(line, "pmi_version");

	strbuf_printf(answer, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=%d\n", version == 1 ? 0 : -1);
	if (version == 1)
		return PMI1_CONNECTED;
	snprintf(p->reason, sizeof p->reason,
		 "its MPI library speaks PMI %ld, and shunt launch PMIx and PMI 1: start it with its own mpiexec",
		 version);
	return PMI1_UNFIT;
}

static void on_put(struct pmi1 *p, const char *line, struct strbuf *answer)
{
	char key[KEY_MAX + 1], value[VALUE_MAX + 1];
	bool good = word_get(line, "key", false, key, sizeof key) && *key && !strchr(key, '=') &&
		    word_get(line, "value", true, value, sizeof value);

	if (good) {
		value_set(p, key, value);
		strbuf_printf(&p->fresh, "%s=%s\n", key, value);
	}
	strbuf_printf(answer, "cmd=put_result rc=%d msg=%s\n", good ? 0 : -1, good ? "success" : "bad_key_or_value");
}

static void on_get(const struct pmi1 *p, const char *line, struct strbuf *answer)
{
	char key[KEY_MAX + 1] = "";
	const char *value = word_get(line, "key", false, key, sizeof key) ? value_get(p, key) : NULL;

	if (value)
		strbuf_printf(answer, "cmd=get_result rc=0 msg=success value=%s\n", value);
	else
		strbuf_printf(answer, "cmd=get_result rc=-1 msg=key_%s_not_found value=unknown\n", key);
}

static enum pmi1_deed on_barrier(struct pmi1 *p, size_t local)
{
	if (!p->rank.v[local].waits)
		p->waiting++;
	p->rank.v[local].waits = true;
	return p->waiting == p->rank.n ? PMI1_FENCE : PMI1_NOTHING;
}

/* Answers requests that depend on no earlier ones. %s: the run's name; %u: its size. */
static bool on_simple(const struct pmi1 *p, const char *command, struct strbuf *answer)
{
	if (strcmp(command, "get_maxes") == 0)
		strbuf_printf(answer, "cmd=maxes kvsname_max=256 keylen_max=%d vallen_max=%d\n", KEY_MAX, VALUE_MAX);
	else if (strcmp(command, "get_appnum") == 0)
		strbuf_puts(answer, "cmd=appnum appnum=0\n");
	else if (strcmp(command, "get_my_kvsname") == 0)
		strbuf_printf(answer, "cmd=my_kvsname kvsname=kvs_%s\n", p->l->name);
	else if (strcmp(command, "get_universe_size") == 0)
		strbuf_printf(answer, "cmd=universe_size size=%u\n", p->l->size);
	else if (strcmp(command, "publish_name") == 0)
		strbuf_puts(answer, "cmd=publish_result rc=-1 msg=not_supported\n");
	else if (strcmp(command, "unpublish_name") == 0)
		strbuf_puts(answer, "cmd=unpublish_result rc=-1 msg=not_supported\n");
	else if (strcmp(command, "lookup_name") == 0)
		strbuf_puts(answer, "cmd=lookup_result rc=-1 msg=not_supported\n");
	else
		return false;
	return true;
}

enum pmi1_deed pmi1_line(struct pmi1 *p, size_t local, const char *line, struct strbuf *answer)
{
	char command[64] = "";

	if (strncmp(line, "mcmd=", 5) == 0) /* the only command with several lines */
		return PMI1_SPAWN;
	word_get(line, "cmd", false, command, sizeof command);
	if (on_simple(p, command, answer))
		return PMI1_NOTHING;
	if (strcmp(command, "init") == 0)
		return on_init(p, line, answer);
	if (strcmp(command, "barrier_in") == 0)
		return on_barrier(p, local);
	if (strcmp(command, "put") == 0) {
		on_put(p, line, answer);
		return PMI1_NOTHING;
	}
	if (strcmp(command, "get") == 0) {
		on_get(p, line, answer);
		return PMI1_NOTHING;
	}
	if (strcmp(command, "finalize") == 0) {
		strbuf_puts(answer, "cmd=finalize_ack\n");
		return PMI1_FINALIZED;
	}
	if (strcmp(command, "abort") == 0) {
		p->status = (int)number_get(line, "exitcode");
		return PMI1_ABORT;
	}
	snprintf(p->reason, sizeof p->reason, "its MPI library asks for \"%.40s\", which shunt launch does not have",
		 command);
	return PMI1_UNFIT;
}

/* ---- the socket ---- */

static void rank_close(struct pmi1_rank *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	strbuf_fini(&r->in);
}

static void rank_send(struct pmi1_rank *r, const char *text, size_t n)
{
	if (n && r->fd >= 0 && send(r->fd, text, n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n)
		rank_close(r);
}

void pmi1_read(struct pmi1 *p, size_t local)
{
	struct pmi1_rank *r = &p->rank.v[local];
	char piece[4096];
	ssize_t n = recv(r->fd, piece, sizeof piece, MSG_DONTWAIT);

	if (n > 0 && r->in.n + (size_t)n <= PMI1_LINE)
		strbuf_add(&r->in, piece, (size_t)n);
	else if (n >= 0 || (errno != EAGAIN && errno != EINTR))
		rank_close(r);
}

bool pmi1_next(struct pmi1 *p, size_t local, enum pmi1_deed *ret)
{
	struct pmi1_rank *r = &p->rank.v[local];
	char *end = r->in.n ? memchr(r->in.text, '\n', r->in.n) : NULL;
	struct strbuf answer = {0};

	if (!end || r->fd < 0)
		return false;
	*end = '\0';
	*ret = pmi1_line(p, local, r->in.text, &answer);
	size_t took = (size_t)(end + 1 - r->in.text);
	r->in.n -= took;
	memmove(r->in.text, end + 1, r->in.n);
	rank_send(r, answer.text, answer.n);
	strbuf_fini(&answer);
	return true;
}

int pmi1_open(struct pmi1 *p, size_t local)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	p->rank.v[local].fd = fds[0];
	return fds[1];
}

/* Stores lines of "key=value" from all hosts, our own included. */
static void data_take(struct pmi1 *p, const char *data, size_t n)
{
	for (const char *end; n && (end = memchr(data, '\n', n)); n -= (size_t)(end + 1 - data), data = end + 1) {
		char line[KEY_MAX + VALUE_MAX + 8];
		size_t length = (size_t)(end - data);
		char *value;
		if (length >= sizeof line)
			continue;
		memcpy(line, data, length);
		line[length] = '\0';
		if (!(value = strchr(line, '=')))
			continue;
		*value++ = '\0';
		value_set(p, line, value);
	}
}

void pmi1_pass(struct pmi1 *p, const char *data, size_t n)
{
	static const char out[] = "cmd=barrier_out\n";

	data_take(p, data, n);
	strbuf_clear(&p->fresh);
	p->waiting = 0;
	for (size_t i = 0; i < p->rank.n; i++)
		if (p->rank.v[i].waits) {
			p->rank.v[i].waits = false;
			rank_send(&p->rank.v[i], out, sizeof out - 1);
		}
}

void pmi1_init(struct pmi1 *p, const struct layout *l)
{
	*p = (struct pmi1){.l = l};
	for (size_t i = 0; i < l->host.v[l->here].rank.n; i++)
		vec_push(&p->rank, (struct pmi1_rank){.fd = -1});
	mapping_set(p);
}

void pmi1_fini(struct pmi1 *p)
{
	for (size_t i = 0; i < p->rank.n; i++)
		rank_close(&p->rank.v[i]);
	for (size_t i = 0; i < p->values.n; i++)
		free(p->values.v[i]);
	vec_free(&p->rank);
	vec_free(&p->values);
	names_fini(&p->keys);
	strbuf_fini(&p->fresh);
}
