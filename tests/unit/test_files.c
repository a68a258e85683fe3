/*
 * test_files.c - files between hosts: tickets; and three hosts in one process, each with a nursery,
 * errands and a port of its own: n1 runs jobs, n2 is home, the third is the server. Nurseries, jobs
 * and TLS are real; a host can be stopped and started at any moment.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "engine/errands_internal.h"
#include "engine/ticket.h"
#include "net/listener.h"
#include "run/lease.h"
#include "support/nest.h"
#include "support/wire.h"

#define HOSTS 3
#define RUNS 0 /* n1: where jobs run */
#define HOME 1 /* n2 */
#define SERVER 2
#define LATER INT64_C(4102444800) /* an instant that tests don't live to see */

struct host {
	struct world *w;
	int i;
	struct cert_names who;
	struct nest *n;
	uv_loop_t *loop; /* one for each life: what was in the last is not looked at any more */
	struct errands *errands;
	struct listener *listener;
	char spool[160], keep[160], address[32];
	struct revoked revoked;
};

struct told {
	bool started, refused, ended, lost;
	char *reason;
	struct result r;
};

struct world {
	struct trust trust;
	struct host host[HOSTS];
	struct told told; /* reports about the only job */
	struct arena *a;
};

#define AWAIT(w, condition)                                                                                            \
	do {                                                                                                           \
		uint64_t end_ = uv_hrtime() + 60 * (uint64_t)1000000000;                                               \
		while (!(condition)) {                                                                                 \
			world_turn(w);                                                                                 \
			if (uv_hrtime() > end_)                                                                        \
				fail_msg("a minute later still not: %s", #condition);                                  \
		}                                                                                                      \
	} while (0)

static void world_turn(struct world *w)
{
	for (int i = 0; i < HOSTS; i++)
		if (w->host[i].errands)
			uv_run(w->host[i].loop, UV_RUN_NOWAIT);
	nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

/* ---- hosts ---- */

static void reason_note(struct world *w, const char *reason)
{
	w->told.reason = reason ? arena_strndup(w->a, reason, strlen(reason)) : NULL;
}

static void on_news(void *context, const struct news *n)
{
	struct world *w = ((struct host *)context)->w;

	w->told.started |= n->report == SAYS_STARTED;
	w->told.lost |= n->report == SAYS_LOST;
	if (n->report == SAYS_REFUSED) {
		w->told.refused = true;
		reason_note(w, n->reason);
	} else if (n->report == SAYS_ENDED) {
		w->told.ended = true;
		w->told.r = *n->r;
		reason_note(w, n->r->reason);
	}
}

static void on_failed(void *context, const char *reason)
{
	fail_msg("%s", reason);
}

static void on_first(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct host *h = context;

	files_serve(errands_files(h->errands), l, head);
}

static void on_link(void *context, struct link *l)
{
	static const struct link_events events = {.frame = on_first};

	link_trust(l);
	link_events_set(l, &events, context);
}

static VEC(uv_loop_t *) loops;

static void host_begin(struct host *h)
{
	static const struct listener_limits limits = {.connections = 1000,
						      .strangers = 1000,
						      .strangers_per_address = 1000,
						      .handshake_seconds = 10,
						      .idle_seconds = 10};
	struct local_options o = {
		.program = "/proc/self/exe", .live = h->n->live, .socket = h->n->socket, .cgroup = "none"};
	struct local_listener l = {.heard = on_news, .failed = on_failed, .context = h};
	struct listener_events events = {.link = on_link};
	struct tls_context *calls = trust_issue(&h->w->trust, &h->who, 3600, false),
			   *listens = trust_issue(&h->w->trust, &h->who, 3600, true);
	struct files_identity id = {.name = h->i == SERVER ? "" : h->who.name,
				    .ca = h->w->trust.authority_cert.text,
				    .keep = h->i == SERVER ? h->keep : NULL,
				    .tls = calls,
				    .revoked = &h->revoked};
	struct err err;

	h->loop = mem_zalloc(sizeof *h->loop);
	uv_loop_init(h->loop);
	vec_push(&loops, h->loop);
	if (errands_start(h->loop, &o, h->spool, &l, &h->errands, &err) < 0 ||
	    listener_open(h->loop, *h->address ? h->address : "127.0.0.1:0", listens, &limits, &events, h, &h->listener,
			  &err) < 0)
		fail_msg("%s", err.text);
	files_identify(errands_files(h->errands), &id);
	snprintf(h->address, sizeof h->address, "127.0.0.1:%d", listener_port(h->listener));
	tls_context_free(calls);
	tls_context_free(listens);
}

static void host_end(struct host *h)
{
	listener_close(h->listener);
	errands_stop(h->errands);
	for (int i = 0; i < 20; i++)
		uv_run(h->loop, UV_RUN_NOWAIT);
	h->errands = NULL;
}

static int setup(void **state)
{
	struct world *w = mem_zalloc(sizeof *w);

	w->a = arena_create();
	trust_init(&w->trust);
	for (int i = 0; i < HOSTS; i++) {
		struct host *h = &w->host[i];
		*h = (struct host){.w = w, .i = i, .n = nest_create("none")};
		h->who.role = i == SERVER ? CERT_SERVER : CERT_NODE;
		h->who.join = i == SERVER ? 0 : (uint64_t)i + 7;
		snprintf(h->who.name, sizeof h->who.name, "%s", i == SERVER ? "test" : i == HOME ? "n2" : "n1");
		snprintf(h->spool, sizeof h->spool, "%s/spool", h->n->dir);
		snprintf(h->keep, sizeof h->keep, "%s/keep", h->n->dir);
		assert_int_equal(mkdir(h->spool, 0711), 0);
		assert_int_equal(mkdir(h->keep, 0700), 0);
		nest_stop(h->n); /* its errands have their own */
		nest_deafen(h->n);
		host_begin(h);
	}
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < HOSTS; i++) {
		void *nest = w->host[i].n;
		if (w->host[i].errands)
			host_end(&w->host[i]);
		nest_teardown(&nest);
		revoked_fini(&w->host[i].revoked);
	}
	trust_fini(&w->trust);
	arena_destroy(w->a);
	free(w);
	return 0;
}

/* ---- jobs ---- */

static struct order_file file_to(struct world *w, enum file_use use, const char *here, int there, const char *path)
{
	struct host *h = &w->host[there];

	return (struct order_file){.use = use,
				   .here = here,
				   .path = path,
				   .host = there == SERVER ? "" : h->who.name,
				   .title = h->who.name,
				   .address = h->address,
				   .join = h->who.join};
}

static const char *at(struct world *w, int host, const char *name)
{
	return arena_printf(w->a, "%s/%s", w->host[host].n->work, name);
}

/* An order with these files, and a ticket for them. */
static struct order job(struct world *w, const char *tag, const char *script, struct order_file *files, int n)
{
	struct order o = nest_order(w->host[RUNS].n, arena_printf(w->a, "%s", tag), script);
	struct ticket_terms terms = {.by = "n1",
				     .join = w->host[RUNS].who.join,
				     .until = LATER,
				     .authority_key = w->trust.authority_key.text};
	struct err err;

	o.carry.carried = files;
	o.carry.ncarried = n;
	o.carry.deliver_for = 60;
	o.append = strcmp(strrchr(tag, '.'), ".1") != 0;
	if (ticket_write(&o, &terms, w->a, &err) < 0)
		fail_msg("%s", err.text);
	return o;
}

static void order_give(struct world *w, const struct order *o)
{
	w->told = (struct told){0};
	errands_order(w->host[RUNS].errands, o);
	errands_flush(w->host[RUNS].errands);
}

static void forget(struct world *w, const char *tag)
{
	errands_forget(w->host[RUNS].errands, tag);
	errands_flush(w->host[RUNS].errands);
}

/* To its end, which must come. */
static void job_run(struct world *w, const struct order *o)
{
	order_give(w, o);
	AWAIT(w, w->told.ended || w->told.refused || w->told.lost);
	if (!w->told.ended)
		fail_msg("refused: %s", w->told.reason ? w->told.reason : "lost");
	forget(w, o->tag);
}

static char *text(struct world *w, int host, const char *name)
{
	return nest_read(w->host[host].n, at(w, host, name));
}

static void write_file(struct world *w, int host, const char *name, const char *content)
{
	const struct nest *n = w->host[host].n;

	nest_write(w->host[host].n, at(w, host, name), content, strlen(content), 0600);
	if (geteuid() == 0)
		assert_int_equal(chown(at(w, host, name), n->uid, n->gid), 0);
}

static int spooled(struct world *w, const char *name)
{
	return access(arena_printf(w->a, "%s/%s", w->host[RUNS].spool, name), F_OK) == 0;
}

/* ---- tickets ---- */

static void test_tickets(void **state)
{
	struct world *w = *state;
	struct order_file f[] = {file_to(w, FILE_OUT, NULL, HOME, "/home/a/out"),
				 file_to(w, FILE_IN, "in", SERVER, "/home/a/in")};
	struct order o = job(w, "12.1", "true\n", f, 2);
	const struct ticket_question good = {.text = o.carry.ticket,
					     .signature = o.carry.signature,
					     .authority = w->trust.authority_cert.text,
					     .at = "n2",
					     .peer = &w->host[RUNS].who,
					     .now = LATER - 1};
	struct ticket_question q = good;
	struct cert_names other = w->host[RUNS].who;
	struct strbuf key = {0}, cert = {0}, forged = {0}, changed = {0};
	struct ticket t;
	struct err err;

	assert_int_equal(ticket_check(&q, w->a, &t, &err), 0);
	assert_string_equal(t.path, "/home/a/out");
	assert_string_equal(t.tag, "12.1");
	assert_true(t.put && !t.append && t.mode == 0600);
	q.file = 1; /* the server's */
	assert_int_equal(ticket_check(&q, w->a, &t, &err), -EPERM);
	q.at = "";
	assert_int_equal(ticket_check(&q, w->a, &t, &err), 0);
	assert_false(t.put);
	q = good;
	q.file = 2;
	assert_int_equal(ticket_check(&q, w->a, &t, &err), -EINVAL);
	q.file = -1;
	assert_int_equal(ticket_check(&q, w->a, &t, &err), -EINVAL);
	q = good;
	q.now = LATER + 1;
	assert_int_equal(ticket_check(&q, w->a, &t, &err), -EKEYEXPIRED);
	q = good; /* by another host, by another join of the same, by one without a certificate, by a server */
	q.peer = &w->host[HOME].who;
	assert_int_equal(ticket_check(&q, w->a, &t, &err), -EPERM);
	q.peer = &other;
	other.join++;
	assert_int_equal(ticket_check(&q, w->a, &t, &err), -EPERM);
	other = (struct cert_names){0};
	assert_int_equal(ticket_check(&q, w->a, &t, &err), -EPERM);
	other.role = CERT_SERVER;
	assert_int_equal(ticket_check(&q, w->a, &t, &err), -EPERM);

	/* changed: any byte of it; forged: by another authority; of another ticket */
	for (size_t i = 0; i < strlen(o.carry.ticket); i += 7) {
		strbuf_clear(&changed);
		strbuf_puts(&changed, o.carry.ticket);
		changed.text[i] ^= 1;
		q = good;
		q.text = changed.text;
		assert_int_equal(ticket_check(&q, w->a, &t, &err), -EKEYREJECTED);
	}
	assert_int_equal(pki_authority("test", &key, &cert, &err), 0);
	assert_int_equal(pki_sign(key.text, o.carry.ticket, strlen(o.carry.ticket), &forged, &err), 0);
	q = good;
	q.signature = forged.text;
	assert_int_equal(ticket_check(&q, w->a, &t, &err), -EKEYREJECTED);
	q.signature = job(w, "12.2", "true\n", f, 2).carry.signature;
	assert_int_equal(ticket_check(&q, w->a, &t, &err), -EKEYREJECTED);
	static const char *const nonsense[] = {"", "!", "AAAA", "=", "MEUCIQ=="};
	for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
		q.signature = nonsense[i];
		assert_int_equal(ticket_check(&q, w->a, &t, &err), -EKEYREJECTED);
	}
	/* signed, and no ticket all the same */
	static const char *const odd[] = {
		"",
		"{}",
		"[]",
		"{\"by\":\"n1:7\",\"until\":5000000000}",
		"{\"by\":\"n1:7\",\"until\":5000000000,\"files\":[{\"at\":\"n2\",\"op\":\"put\"}]}",
		"{\"by\":\"n1:7\",\"until\":5000000000,\"files\":[7]}"};
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		strbuf_clear(&forged);
		assert_int_equal(pki_sign(w->trust.authority_key.text, odd[i], strlen(odd[i]), &forged, &err), 0);
		q = good;
		q.text = odd[i];
		q.signature = forged.text;
		assert_true(ticket_check(&q, w->a, &t, &err) < 0);
	}
	strbuf_fini(&key);
	strbuf_fini(&cert);
	strbuf_fini(&forged);
	strbuf_fini(&changed);
}

/* ---- output ---- */

static void test_home(void **state)
{
	struct world *w = *state;
	struct order_file f[] = {file_to(w, FILE_OUT, NULL, HOME, at(w, HOME, "x.o")),
				 file_to(w, FILE_ERR, NULL, HOME, at(w, HOME, "x.e"))};
	struct order o = job(w, "1.1", "echo out; echo err >&2; exit 3\n", f, 2);
	struct stat st;

	job_run(w, &o);
	assert_int_equal(w->told.r.status, 3);
	assert_null(w->told.reason);
	assert_string_equal(text(w, HOME, "x.o"), "out\n");
	assert_string_equal(text(w, HOME, "x.e"), "err\n");
	assert_int_equal(stat(at(w, HOME, "x.o"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(st.st_uid, w->host[HOME].n->uid);
	assert_false(spooled(w, "1.1.out") || spooled(w, "1.1.err") || spooled(w, "1.1.json"));
	assert_null(text(w, RUNS, "1.1.out"));

	o = job(w, "1.2", "echo again\n", f, 2); /* another attempt appends */
	job_run(w, &o);
	assert_string_equal(text(w, HOME, "x.o"), "out\nagain\n");
	o = job(w, "2.1", "true\n", f, 1); /* another job does not */
	job_run(w, &o);
	assert_string_equal(text(w, HOME, "x.o"), "");
}

static void test_running(void **state)
{
	struct world *w = *state;
	struct order_file f[] = {file_to(w, FILE_OUT, NULL, HOME, at(w, HOME, "x.o"))};
	struct order o = job(w, "1.1", "echo one; while [ ! -e go ]; do sleep 0.1; done; echo two\n", f, 1);
	char *seen;

	order_give(w, &o);
	AWAIT(w, (seen = text(w, HOME, "x.o")) && strcmp(seen, "one\n") == 0);
	assert_false(w->told.ended);
	write_file(w, RUNS, "go", "");
	AWAIT(w, w->told.ended);
	assert_string_equal(text(w, HOME, "x.o"), "one\ntwo\n");
	forget(w, "1.1");
}

/* Who deletes, cuts or adds to his file while the job runs gets all that comes after, and keeps
 * what is his. */
static void test_meddling(void **state)
{
	struct world *w = *state;
	struct order_file f[] = {file_to(w, FILE_OUT, NULL, HOME, at(w, HOME, "x.o"))};
	struct order o =
		job(w, "1.1", "for i in 1 2 3 4; do echo $i; while [ ! -e go$i ]; do sleep 0.1; done; done\n", f, 1);
	char *seen;

	order_give(w, &o);
	AWAIT(w, (seen = text(w, HOME, "x.o")) && strcmp(seen, "1\n") == 0);
	write_file(w, HOME, "x.o", "1\nuser\n");
	write_file(w, RUNS, "go1", "");
	AWAIT(w, (seen = text(w, HOME, "x.o")) && strcmp(seen, "1\nuser\n2\n") == 0);
	write_file(w, HOME, "x.o", "");
	write_file(w, RUNS, "go2", "");
	AWAIT(w, (seen = text(w, HOME, "x.o")) && strcmp(seen, "3\n") == 0);
	unlink(at(w, HOME, "x.o"));
	write_file(w, RUNS, "go3", "");
	write_file(w, RUNS, "go4", "");
	AWAIT(w, w->told.ended);
	assert_string_equal(text(w, HOME, "x.o"), "4\n");
	forget(w, "1.1");
}

static bool is_big(struct world *w, const char *name, int lines)
{
	FILE *f = fopen(at(w, HOME, name), "r");
	char line[64], expected[64];
	int n = 0;

	while (f && fgets(line, sizeof line, f)) {
		snprintf(expected, sizeof expected, "%d\n", ++n);
		if (strcmp(line, expected) != 0)
			fail_msg("line %d is %s", n, line);
	}
	if (f)
		fclose(f);
	return n == lines;
}

/* Home goes and comes back in the middle of it, and so does the host where it runs, at random
 * moments. */
static void test_broken_off(void **state)
{
	struct world *w = *state;
	struct order_file f[] = {file_to(w, FILE_OUT, NULL, HOME, at(w, HOME, "x.o"))};
	struct order o = job(w, "1.1", "seq 1 1200000\n", f, 1);
	const char *seed = getenv("SHUNT_SEED");
	struct rng rng;

	rng_seed(&rng, seed ? strtoull(seed, NULL, 10) : 7);
	order_give(w, &o);
	for (int i = 0; i < 12 && !w->told.ended; i++) {
		struct host *h = &w->host[i % 2 ? RUNS : HOME];
		for (uint64_t turns = rng_below(&rng, 400); turns-- > 0 && !w->told.ended;)
			world_turn(w);
		host_end(h);
		for (uint64_t turns = rng_below(&rng, 50); turns-- > 0;)
			world_turn(w);
		host_begin(h);
		if (h == &w->host[RUNS] && !w->told.ended)
			errands_attach(h->errands, "1.1");
	}
	AWAIT(w, w->told.ended);
	assert_null(w->told.reason);
	assert_true(is_big(w, "x.o", 1200000));
	forget(w, "1.1");
}

static void list_note(void *context, const struct local_item *i)
{
	*(enum attempt_state *)context = i->state;
}

static enum attempt_state listed(struct world *w)
{
	enum attempt_state s = ATTEMPT_NEVER;

	errands_list(w->host[RUNS].errands, list_note, &s);
	return s;
}

/* The agent where jobs run restarts, and what it has kept of job 2 is `days` days old. */
static void host_again(struct world *w, int days)
{
	struct timespec then[] = {{.tv_sec = time(NULL) - days * 86400}, {.tv_sec = time(NULL) - days * 86400}};

	assert_int_equal(utimensat(AT_FDCWD, at(w, RUNS, "../spool/2.1.out"), then, 0), 0);
	host_end(&w->host[RUNS]);
	host_begin(&w->host[RUNS]);
}

/* A file has looked old for a day. */
static void day_pass(struct world *w, const char *name)
{
	struct errands *e = w->host[RUNS].errands;
	const char *path = arena_printf(w->a, "%s/%s", w->host[RUNS].spool, name);
	uint64_t *since = map_at(&e->aging, hash_bytes(path, strlen(path)));

	assert_true(*since > 0);
	*since -= DAY_MS;
	spool_sweep(e);
}

static void test_away(void **state)
{
	struct world *w = *state;
	struct order_file f[] = {file_to(w, FILE_OUT, NULL, HOME, at(w, HOME, "x.o"))};
	struct order o = job(w, "1.1", "echo out\n", f, 1);

	host_end(&w->host[HOME]);
	order_give(w, &o);
	AWAIT(w, access(at(w, RUNS, "../spool/1.1.out"), F_OK) == 0);
	for (int i = 0; i < 3000; i++)
		world_turn(w);
	assert_false(w->told.ended);
	assert_int_equal(listed(w), ATTEMPT_RUNS);
	host_end(&w->host[RUNS]); /* what comes after it continues */
	host_begin(&w->host[RUNS]);
	assert_int_equal(errands_attach(w->host[RUNS].errands, "1.1"), ATTEMPT_RUNS);
	assert_int_equal(listed(w), ATTEMPT_RUNS);
	host_begin(&w->host[HOME]);
	AWAIT(w, w->told.ended);
	assert_int_equal(listed(w), ATTEMPT_ENDED);
	assert_string_equal(text(w, HOME, "x.o"), "out\n");
	forget(w, "1.1");

	host_end(&w->host[HOME]); /* nobody waits for ever */
	o = job(w, "2.1", "echo kept\n", f, 1);
	o.carry.deliver_for = 1;
	order_give(w, &o);
	AWAIT(w, w->told.ended);
	assert_non_null(strstr(w->told.reason, "could not be delivered to n2:"));
	assert_non_null(strstr(w->told.reason, "/spool/2.1.out"));
	host_end(&w->host[RUNS]); /* another start reports the same */
	host_begin(&w->host[RUNS]);
	w->told = (struct told){0};
	assert_int_equal(errands_attach(w->host[RUNS].errands, "2.1"), ATTEMPT_ENDED);
	assert_non_null(strstr(w->told.reason, "could not be delivered to n2:"));
	forget(w, "2.1");
	assert_false(spooled(w, "2.1.json"));
	host_again(w, 29); /* for a month, */
	assert_true(spooled(w, "2.1.out"));
	host_again(w, 31); /* and longer, since the clock may be wrong */
	assert_true(spooled(w, "2.1.out"));
	day_pass(w, "2.1.out"); /* but not for ever */
	assert_false(spooled(w, "2.1.out"));

	o = job(w, "3.1", "echo kept\n", f, 1); /* an order to stop is obeyed */
	order_give(w, &o);
	AWAIT(w, w->told.started);
	AWAIT(w, live_look(w->host[RUNS].n->live, "3.1", w->a, &w->told.r, &(pid_t){0}) == LIVE_ENDED);
	for (int i = 0; i < 100; i++)
		world_turn(w);
	errands_signal(w->host[RUNS].errands, "3.1", SIGKILL);
	AWAIT(w, w->told.ended);
	assert_non_null(w->told.reason);
	forget(w, "3.1");
}

/* A host that its server may have given up brings nothing home, until it has heard of it again. */
static void test_lapsed(void **state)
{
	struct world *w = *state;
	struct order_file f[] = {file_to(w, FILE_OUT, NULL, HOME, at(w, HOME, "x.o"))};
	struct order o = job(w, "1.1", "echo out\n", f, 1);
	struct err err;

	o.lease = 2;
	assert_int_equal(lease_write(w->host[RUNS].n->live, boot_us(), false, &err), 0);
	host_end(&w->host[HOME]);
	order_give(w, &o);
	AWAIT(w, lease_word(w->host[RUNS].n->live) < boot_us() - 2500000);
	host_end(&w->host[RUNS]); /* an agent that was restarted also knows it */
	host_begin(&w->host[RUNS]);
	assert_int_equal(errands_attach(w->host[RUNS].errands, "1.1"), ATTEMPT_RUNS);
	host_begin(&w->host[HOME]);
	for (int i = 0; i < 3000; i++)
		world_turn(w);
	assert_false(w->told.ended);
	assert_null(text(w, HOME, "x.o"));
	assert_int_equal(lease_write(w->host[RUNS].n->live, INT64_MAX, true, &err), 0);
	AWAIT(w, w->told.ended);
	assert_string_equal(text(w, HOME, "x.o"), "out\n");
	forget(w, "1.1");
}

/* By a clock that is wrong tickets have expired, until the server says what time it is. */
static void test_wrong_clock(void **state)
{
	struct world *w = *state;
	struct order_file f[] = {file_to(w, FILE_OUT, NULL, HOME, at(w, HOME, "x.o"))};
	struct order o = job(w, "1.1", "echo out\n", f, 1);

	files_clock(errands_files(w->host[HOME].errands), LATER + 1);
	order_give(w, &o);
	AWAIT(w, live_look(w->host[RUNS].n->live, "1.1", w->a, &w->told.r, &(pid_t){0}) == LIVE_ENDED);
	for (int i = 0; i < 1000; i++)
		world_turn(w);
	assert_false(w->told.ended);
	files_clock(errands_files(w->host[HOME].errands), time(NULL));
	AWAIT(w, w->told.ended);
	assert_null(w->told.reason);
	assert_string_equal(text(w, HOME, "x.o"), "out\n");
	forget(w, "1.1");
}

static void test_bad_home(void **state)
{
	struct world *w = *state;
	struct order_file f[] = {file_to(w, FILE_OUT, NULL, HOME, at(w, HOME, "nowhere/x.o")),
				 file_to(w, FILE_ERR, NULL, HOME, at(w, HOME, "x.e"))};
	struct order o = job(w, "1.1", "echo out; echo err >&2\n", f, 2);

	job_run(w, &o);
	assert_non_null(strstr(w->told.reason, "No such file or directory"));
	assert_string_equal(text(w, HOME, "x.e"), "err\n");
	assert_true(spooled(w, "1.1.out"));
	assert_false(spooled(w, "1.1.err"));
}

/* An attempt that was given up must not add to what came after it. */
static bool knows(void *context, const char *tag)
{
	return context && strcmp(context, tag) == 0;
}

/* After a restart the server may not know an attempt any more: it is ended, and nothing is
 * delivered. */
static void test_unknown(void **state)
{
	struct world *w = *state;
	struct order_file files[] = {file_to(w, FILE_OUT, NULL, HOME, at(w, HOME, "o"))};
	struct order o = job(w, "1.1", "echo x; exec sleep 1000", files, 1);
	struct host *h = &w->host[RUNS];
	struct result r;
	pid_t pid;

	order_give(w, &o);
	AWAIT(w, w->told.started);
	host_end(h);
	host_begin(h);
	assert_int_equal(errands_attach(h->errands, "1.1"), ATTEMPT_RUNS);
	errands_sweep(h->errands, knows, (char *)"1.1");
	assert_true(spooled(w, "1.1.json"));
	errands_sweep(h->errands, knows, NULL);
	assert_false(spooled(w, "1.1.json"));
	AWAIT(w, w->told.ended);
	assert_int_equal(w->told.r.status, SIGKILL);
	assert_null(text(w, HOME, "o"));
	forget(w, "1.1");
	AWAIT(w, live_look(h->n->live, "1.1", w->a, &r, &pid) == LIVE_NONE);
}

static void test_late(void **state)
{
	struct world *w = *state;
	struct order_file f[] = {file_to(w, FILE_OUT, NULL, HOME, at(w, HOME, "x.o"))};
	struct order o = job(w, "1.2", "echo second\n", f, 1);

	job_run(w, &o);
	o = job(w, "1.1", "echo first\n", f, 1);
	job_run(w, &o);
	assert_non_null(strstr(w->told.reason, "a later attempt of the job"));
	assert_string_equal(text(w, HOME, "x.o"), "second\n");
}

static void test_kept(void **state)
{
	struct world *w = *state;
	struct order_file f[] = {file_to(w, FILE_OUT, NULL, SERVER, "1.out")};
	struct order o = job(w, "1.1", "echo remote\n", f, 1);
	struct order_file bad[] = {file_to(w, FILE_OUT, NULL, SERVER, "..")},
			  node[] = {file_to(w, FILE_OUT, NULL, HOME, "1.out")};

	job_run(w, &o);
	assert_null(w->told.reason);
	assert_string_equal(nest_read(w->host[SERVER].n, arena_printf(w->a, "%s/1.out", w->host[SERVER].keep)),
			    "remote\n");
	o = job(w, "2.1", "echo remote\n", bad, 1);
	job_run(w, &o);
	assert_non_null(w->told.reason);
	o = job(w, "3.1", "echo remote\n", node, 1); /* nodes keep nothing of others */
	job_run(w, &o);
	assert_non_null(w->told.reason);
}

/* ---- staging ---- */

static void test_staging(void **state)
{
	struct world *w = *state;
	struct order_file f[] = {file_to(w, FILE_IN, "in", HOME, at(w, HOME, "data")),
				 file_to(w, FILE_IN, at(w, RUNS, "own"), RUNS, at(w, RUNS, "original")),
				 file_to(w, FILE_BACK, "out", HOME, at(w, HOME, "result")),
				 file_to(w, FILE_BACK, "out", RUNS, at(w, RUNS, "copy"))};
	struct order o = job(w, "1.1", "cat in own >out\n", f, 4);

	write_file(w, HOME, "data", "data\n");
	write_file(w, RUNS, "original", "original\n");
	job_run(w, &o);
	assert_null(w->told.reason);
	assert_string_equal(text(w, HOME, "result"), "data\noriginal\n");
	assert_string_equal(text(w, RUNS, "copy"), "data\noriginal\n");

	o = job(w, "2.1", "cat in own >out\n", f, 4);
	o.workdir = "/nowhere/at/all"; /* then relative paths begin where the job does */
	unlink(at(w, HOME, "result"));
	job_run(w, &o);
	assert_string_equal(text(w, HOME, "result"), "data\noriginal\n");

	o = job(w, "3.1", "rm -f out\n", f, 4);
	job_run(w, &o);
	assert_non_null(strstr(w->told.reason, "stageout of out to n2:"));
	assert_non_null(strstr(w->told.reason, "stageout of out to n1:"));
}

static void test_not_started(void **state)
{
	struct world *w = *state;
	struct order_file f[] = {file_to(w, FILE_IN, "in", HOME, at(w, HOME, "none")),
				 file_to(w, FILE_IN, "in2", HOME, at(w, HOME, "data"))};
	struct order o = job(w, "1.1", "touch ran\n", f, 2);
	struct order_file other[] = {file_to(w, FILE_IN, "in", HOME, at(w, HOME, "data"))};

	write_file(w, HOME, "data", "data\n");
	order_give(w, &o);
	AWAIT(w, w->told.refused);
	assert_non_null(strstr(w->told.reason, "stagein of in from n2:"));
	assert_non_null(strstr(w->told.reason, "No such file or directory"));
	assert_null(text(w, RUNS, "ran"));
	assert_int_equal(listed(w), ATTEMPT_NEVER);

	o = job(w, "2.1", "touch ran\n", other, 1); /* without a ticket nothing is given away */
	o.carry.ticket = job(w, "3.1", "", f, 2).carry.ticket;
	order_give(w, &o);
	AWAIT(w, w->told.refused);
	assert_non_null(strstr(w->told.reason, "not signed"));

	host_end(&w->host[HOME]); /* told to end before it began */
	o = job(w, "4.1", "touch ran\n", other, 1);
	order_give(w, &o);
	for (int i = 0; i < 100; i++)
		world_turn(w);
	assert_int_equal(listed(w), ATTEMPT_RUNS);
	errands_signal(w->host[RUNS].errands, "4.1", SIGTERM);
	assert_false(w->told.refused);
	AWAIT(w, w->told.refused);
	assert_null(w->told.reason);
	assert_null(text(w, RUNS, "ran"));
}

/* ---- those who lie ---- */

static const char *answer_to(struct world *w, struct tls_context *who, const struct order *o, const char *first,
			     const char *second)
{
	struct end e = {0};
	struct link *l = link_connect(w->host[RUNS].loop, who, w->host[HOME].address, CERT_NODE, &end_events, &e);
	const char *ret;

	e.link = l;
	AWAIT(w, e.readies || e.closes);
	if (e.closes)
		return "closed";
	link_trust(l);
	if (first)
		link_send(l, first, strlen(first), NULL, 0);
	else
		link_pack(l, NULL, 0, "{s:s,s:s,s:s,s:i,s:i}", "t", "file", "ticket", o->carry.ticket, "signature",
			  o->carry.signature, "file", 0, "size", -1);
	if (second)
		link_send(l, second, strlen(second), "data", 4);
	AWAIT(w, e.frames.n > 0 || e.closes);
	ret = e.frames.n ? arena_printf(w->a, "%s", e.frames.v[0].head) : "closed";
	if (!e.closes)
		link_close(l, "it is over");
	AWAIT(w, e.closes);
	end_fini(&e);
	return ret;
}

static void test_liars(void **state)
{
	struct world *w = *state;
	struct order_file f[] = {file_to(w, FILE_OUT, NULL, HOME, at(w, HOME, "x.o"))};
	struct order o = job(w, "1.1", "true\n", f, 1);
	struct cert_names n3 = {.role = CERT_NODE, .name = "n3", .join = 9}, n1 = w->host[RUNS].who;
	struct tls_context *other = trust_issue(&w->trust, &n3, 3600, false),
			   *own = trust_issue(&w->trust, &n1, 3600, false);

	assert_non_null(strstr(answer_to(w, other, &o, NULL, NULL), "given to another host"));
	assert_null(text(w, HOME, "x.o"));
	assert_non_null(strstr(answer_to(w, own, &o, "{\"t\":\"file\"}", NULL), "not signed"));
	assert_non_null(
		strstr(answer_to(w, own, &o, "{\"t\":\"file\",\"ticket\":7,\"signature\":[],\"file\":\"x\"}", NULL),
		       "not signed"));
	assert_non_null(strstr(answer_to(w, own, &o, NULL, "{\"t\":\"data\"}"), "have")); /* data too early: ignored */
	assert_string_equal(text(w, HOME, "x.o"), "");
	tls_context_free(other);
	tls_context_free(own);
}

/* ---- those who were removed ---- */

static struct end *end_call(struct world *w, struct tls_context *who)
{
	struct end *e = mem_zalloc(sizeof *e);

	e->link = link_connect(w->host[RUNS].loop, who, w->host[HOME].address, CERT_NODE, &end_events, e);
	AWAIT(w, e->readies || e->closes);
	return e;
}

static void end_ask(struct world *w, struct end *e, const struct order *o)
{
	size_t n = e->frames.n;

	link_pack(e->link, NULL, 0, "{s:s,s:s,s:s,s:i,s:i}", "t", "file", "ticket", o->carry.ticket, "signature",
		  o->carry.signature, "file", 0, "size", -1);
	AWAIT(w, e->frames.n > n || e->closes);
}

static void end_free(struct world *w, struct end *e)
{
	if (!e->closes)
		link_close(e->link, "it is over");
	AWAIT(w, e->closes);
	end_fini(e);
	free(e);
}

/* A connection that was there before ends; a ticket does not help; a later join of the same name
 * is another node. */
static void test_revoked(void **state)
{
	struct world *w = *state;
	struct host *home = &w->host[HOME];
	struct order_file f[] = {file_to(w, FILE_IN, "in", HOME, at(w, HOME, "data"))};
	struct order o = job(w, "1.1", "true\n", f, 1);
	struct tls_context *own = trust_issue(&w->trust, &w->host[RUNS].who, 3600, false);
	struct end *e = end_call(w, own), *other = end_call(w, own);

	write_file(w, HOME, "data", "secret\n");
	end_ask(w, e, &o);
	assert_non_null(strstr(e->frames.v[0].head, "have"));
	revoked_add(&home->revoked, "n1", w->host[RUNS].who.join - 1);
	listener_revoke(home->listener, &home->revoked);
	files_revoke(errands_files(home->errands));
	end_ask(w, e, &o);
	assert_false(e->closes); /* an earlier machine of this name */
	revoked_add(&home->revoked, "n1", w->host[RUNS].who.join);
	files_revoke(errands_files(home->errands));
	AWAIT(w, e->closes);
	assert_false(other->closes); /* it had not said what it is for */
	end_ask(w, other, &o);
	assert_non_null(strstr(other->frames.v[0].head, "your host was removed from the cluster"));
	listener_revoke(home->listener, &home->revoked);
	AWAIT(w, other->closes);
	end_free(w, e);
	end_free(w, other);
	tls_context_free(own);
}

/* The other way: nothing is brought to a host that was removed. */
static void test_revoked_home(void **state)
{
	struct world *w = *state;
	struct host *runs = &w->host[RUNS];
	struct order_file f[] = {file_to(w, FILE_OUT, NULL, HOME, at(w, HOME, "x.o"))};
	struct order o = job(w, "1.1", "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two\n", f, 1);

	order_give(w, &o);
	AWAIT(w, text(w, HOME, "x.o") && *text(w, HOME, "x.o"));
	revoked_add(&runs->revoked, "n2", w->host[HOME].who.join);
	files_revoke(errands_files(runs->errands));
	write_file(w, RUNS, "go", "");
	AWAIT(w, live_look(runs->n->live, "1.1", w->a, &w->told.r, &(pid_t){0}) == LIVE_ENDED);
	for (int i = 0; i < 3000; i++)
		world_turn(w);
	assert_false(w->told.ended);
	assert_string_equal(text(w, HOME, "x.o"), "one\n");
	errands_signal(runs->errands, "1.1", SIGKILL);
	AWAIT(w, w->told.ended);
	assert_non_null(strstr(w->told.reason, "removed from the cluster"));
	forget(w, "1.1");
}

/* A host that has not heard from the server can't know who was removed. */
static void test_doubt(void **state)
{
	struct world *w = *state;
	struct order_file f[] = {file_to(w, FILE_OUT, NULL, HOME, at(w, HOME, "x.o"))};
	struct order o = job(w, "1.1", "echo out\n", f, 1);

	for (int host = HOME; host >= RUNS; host--) {
		o.tag = host == HOME ? "1.1" : "2.1";
		o = job(w, o.tag, "echo out\n", f, 1);
		unlink(at(w, HOME, "x.o"));
		files_trust(errands_files(w->host[host].errands), -1);
		order_give(w, &o);
		AWAIT(w, live_look(w->host[RUNS].n->live, o.tag, w->a, &w->told.r, &(pid_t){0}) == LIVE_ENDED);
		for (int i = 0; i < 1000; i++)
			world_turn(w);
		assert_false(w->told.ended);
		assert_null(text(w, HOME, "x.o"));
		files_trust(errands_files(w->host[host].errands), 600);
		AWAIT(w, w->told.ended);
		assert_null(w->told.reason);
		assert_string_equal(text(w, HOME, "x.o"), "out\n");
		forget(w, o.tag);
	}
}

/* The server is still trusted: its request is judged, here that the ticket is not its own. */
static void test_doubt_of_server(void **state)
{
	struct world *w = *state;
	struct order_file f[] = {file_to(w, FILE_OUT, NULL, HOME, at(w, HOME, "x.o"))};
	struct order o = job(w, "1.1", "true\n", f, 1);
	struct tls_context *node = trust_issue(&w->trust, &w->host[RUNS].who, 3600, false),
			   *server = trust_issue(&w->trust, &w->host[SERVER].who, 3600, false);

	files_trust(errands_files(w->host[HOME].errands), -1);
	assert_non_null(strstr(answer_to(w, node, &o, NULL, NULL), "has not heard from the server"));
	assert_non_null(strstr(answer_to(w, server, &o, NULL, NULL), "given to another host"));
	tls_context_free(node);
	tls_context_free(server);
}

static int tests_run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tickets, setup, teardown),
		cmocka_unit_test_setup_teardown(test_home, setup, teardown),
		cmocka_unit_test_setup_teardown(test_running, setup, teardown),
		cmocka_unit_test_setup_teardown(test_meddling, setup, teardown),
		cmocka_unit_test_setup_teardown(test_broken_off, setup, teardown),
		cmocka_unit_test_setup_teardown(test_away, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lapsed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong_clock, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_home, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_staging, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_started, setup, teardown),
		cmocka_unit_test_setup_teardown(test_liars, setup, teardown),
		cmocka_unit_test_setup_teardown(test_revoked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_revoked_home, setup, teardown),
		cmocka_unit_test_setup_teardown(test_doubt, setup, teardown),
		cmocka_unit_test_setup_teardown(test_doubt_of_server, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	return nest_main(argc, argv, tests_run);
}
