/*
 * files.c - the called end of a file transfer: checks the ticket, has the nursery open the file as
 * the user, appends or reads.
 *
 * It keeps no record of what it has received: the sender does. It only remembers the latest attempt
 * of a job that wrote to a path, so that a host that was thought lost can't add to the output of
 * later attempts.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/chain.h"
#include "base/codec.h"
#include "base/fdio.h"
#include "base/members.h"
#include "base/ticks.h"
#include "engine/files_internal.h"
#include "engine/ticket.h"
#include "net/handle.h"
#include "run/spare.h"

#define GUESTS_MOST 4096
#define NOTES_MOST 100000

enum stage {
	IDLE,  /* waiting for the next file */
	OPENS, /* the nursery is opening the file */
	LOOKS, /* opening it again to read what has arrived */
	TAKES,
	GIVES
};

/* A connection, and the file being transferred. */
struct guest {
	struct files *f;
	struct guest *prev, *next;
	struct link *link;
	bool own; /* from this host itself */
	enum stage stage;
	struct arena *a; /* holds the ticket */
	struct ticket ticket;
	struct opener_user who;
	struct opening *opening;
	int fd;
	int64_t known;	/* put: size of the file that the other end last heard of; -1: it begins */
	int64_t at;	/* get: bytes sent */
	uint64_t moved; /* uv_now() of the last progress */
};

#define NAMED(member)                                                                                                  \
	{                                                                                                              \
#member, .is = SPARSE, MEMBER(struct file_frame, member)                                               \
	}

static const struct schema frames = {FIELDS(NAMED(ticket), NAMED(signature), NAMED(file), NAMED(boot), NAMED(asked),
					    {"size", .is = SPARSE, .missing = -1, MEMBER(struct file_frame, size)},
					    NAMED(extra), NAMED(crc), NAMED(mode), NAMED(to), NAMED(reason),
					    NAMED(again))};

void file_frame_send(struct link *l, const char *type, const struct file_frame *x, const void *data, size_t n)
{
	link_record_data(l, type, &frames, x, data, n);
}

void file_frame_read(const json_t *head, struct file_frame *ret)
{
	if (record_load(frames.fields, 0, head, ret, NULL, NULL) < 0)
		*ret = (struct file_frame){.size = -1};
}

/* Sends a frame without data. */
static void frame_send(struct link *l, const char *type, struct file_frame x)
{
	file_frame_send(l, type, &x, NULL, 0);
}

int64_t file_crc(int fd, int64_t from, int64_t n)
{
	static unsigned char part[65536]; /* single-threaded */
	unsigned long crc = crc32(0, NULL, 0);

	while (n > 0) {
		ssize_t got = pread(fd, part, n < (int64_t)sizeof part ? (size_t)n : sizeof part, from);
		if (got <= 0)
			return -1;
		crc = crc32(crc, part, (unsigned)got);
		from += got;
		n -= got;
	}
	return (int64_t)crc;
}

/* ---- one file ---- */

static void file_over(struct guest *g)
{
	opening_cancel(g->opening);
	g->opening = NULL;
	if (g->fd >= 0)
		close(g->fd);
	g->fd = -1;
	if (g->a)
		arena_destroy(g->a);
	g->a = NULL;
	g->stage = IDLE;
}

static void file_failed(struct guest *g, const char *reason)
{
	frame_send(g->link, "failed", (struct file_frame){.size = -1, .reason = reason});
	file_over(g);
}

/* Refuses a file for now: the client may ask again. */
static void file_not_now(struct guest *g, const char *reason)
{
	frame_send(g->link, "failed", (struct file_frame){.size = -1, .reason = reason, .again = true});
	file_over(g);
}

static void file_trouble(struct guest *g, int code)
{
	struct err err;

	err_set(&err, code, "%.300s: %s", g->ticket.path, strerror(-code));
	file_failed(g, err.text);
}

/* Returns false after it has reported the error. */
static bool size_now(struct guest *g, struct stat *ret)
{
	if (fstat(g->fd, ret) == 0)
		return true;
	file_trouble(g, -errno);
	return false;
}

static void put_begin(struct guest *g, int64_t extra, int64_t crc)
{
	struct stat st;

	if (!size_now(g, &st))
		return;
	g->stage = TAKES;
	frame_send(g->link, "have", (struct file_frame){.size = st.st_size, .extra = extra, .crc = crc});
}

static void on_look(void *context, int fd, const char *reason)
{
	struct guest *g = context;
	struct stat st;
	int64_t extra = 0, crc = -1;

	g->opening = NULL;
	if (fd >= 0 && fstat(g->fd, &st) == 0) {
		extra = st.st_size - g->known;
		crc = file_crc(fd, g->known, extra);
	}
	if (fd >= 0)
		close(fd);
	put_begin(g, crc < 0 ? 0 : extra, crc);
}

static struct opening *file_ask(struct guest *g, int flags, void (*done)(void *context, int fd, const char *reason))
{
	return opener_ask(g->f->opener, &g->who, g->ticket.path, flags, g->ticket.mode, done, g);
}

/* Compares the size: bytes may have arrived that the other end did not hear of. We truncate the
 * file ourselves instead of with O_TRUNC: the opener is a separate process and could do it after
 * someone else has begun. */
static void put_opened(struct guest *g)
{
	struct stat st;

	if (g->known < 0 && !g->ticket.append && ftruncate(g->fd, 0) < 0) {
		file_trouble(g, -errno);
		return;
	}
	if (!size_now(g, &st))
		return;
	if (g->known < 0 || st.st_size <= g->known || st.st_size - g->known > CRC_MOST) {
		put_begin(g, 0, 0);
	} else if (strchr(g->ticket.path, '/')) {
		g->stage = LOOKS;
		g->opening = file_ask(g, O_RDONLY, on_look);
	} else {
		int64_t crc = file_crc(g->fd, g->known, st.st_size - g->known);
		put_begin(g, crc < 0 ? 0 : st.st_size - g->known, crc);
	}
}

static void get_more(struct guest *g)
{
	static char part[CHUNK]; /* static, since one thread alone serves files */

	while (g->stage == GIVES && link_queued(g->link) < SEND_AHEAD) {
		ssize_t n = pread(g->fd, part, sizeof part, g->at);
		if (n < 0) {
			file_trouble(g, -errno);
		} else if (n == 0) {
			frame_send(g->link, "end", (struct file_frame){.size = g->at});
			file_over(g);
		} else {
			file_frame_send(g->link, "data", &(struct file_frame){.size = -1}, part, (size_t)n);
			g->at += n;
		}
	}
}

static void get_opened(struct guest *g)
{
	struct stat st;

	if (!size_now(g, &st))
		return;
	g->stage = GIVES;
	g->at = 0;
	frame_send(g->link, "have", (struct file_frame){.size = st.st_size, .mode = (int)(st.st_mode & 0777)});
	get_more(g);
}

static void on_opened(void *context, int fd, const char *reason)
{
	struct guest *g = context;

	g->opening = NULL;
	g->fd = fd;
	if (fd < 0)
		file_failed(g, reason);
	else if (g->ticket.put)
		put_opened(g);
	else
		get_opened(g);
}

/* Opens a file that the server itself keeps. */
static void kept_open(struct guest *g, int flags)
{
	char path[4096];
	const char *name = g->ticket.path;

	if (!g->ticket.put || !g->f->keep || *name == '.' || strlen(name) > 255) {
		file_failed(g, "the ticket names a file that this host does not keep");
		return;
	}
	snprintf(path, sizeof path, "%s/%s", g->f->keep, name);
	g->fd = open(path, (flags & ~O_WRONLY) | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (g->fd < 0)
		file_trouble(g, -errno);
	else
		put_opened(g);
}

/* Returns where a value about a file of a job is stored. */
static uint64_t *noted(struct files *f, const char *what, const struct ticket *t)
{
	const char *dot = strrchr(t->tag, '.');
	struct strbuf key = {0};

	if (f->notes.n >= NOTES_MOST) {
		map_fini(&f->notes);
		f->notes = (struct map){0};
	}
	strbuf_printf(&key, "%s %.*s %s", what, dot ? (int)(dot - t->tag) : 0, t->tag, t->path);
	uint64_t *at = map_at(&f->notes, hash_bytes(key.text, key.n));
	strbuf_fini(&key);
	return at;
}

/* Returns true if the host was given up: another attempt has written there since. */
static bool is_late(struct files *f, const struct ticket *t)
{
	const char *dot = strrchr(t->tag, '.');
	uint64_t attempt = dot ? strtoull(dot + 1, NULL, 10) : 0, *last = noted(f, "attempt", t);

	if (attempt < *last)
		return true;
	*last = attempt;
	return false;
}

static void file_open(struct guest *g)
{
	struct ticket *t = &g->ticket;
	int flags = t->put ? O_WRONLY | O_CREAT | O_APPEND : O_RDONLY;

	if (t->put && is_late(g->f, t)) {
		file_failed(g, "a later attempt of the job has written there since");
	} else if (!strchr(t->path, '/')) {
		kept_open(g, flags);
	} else {
		g->who = (struct opener_user){.uid = BY_NAME, .name = t->user};
		g->stage = OPENS;
		g->opening = file_ask(g, flags, on_opened);
	}
}

void files_clock(struct files *f, int64_t now)
{
	f->booted = now - clock_seconds(CLOCK_BOOTTIME);
}

/* Returns the time by the server's clock; by this host's before the server's first word and on the
 * server's own machine. */
static int64_t now_of(const struct files *f)
{
	return f->booted ? f->booted + clock_seconds(CLOCK_BOOTTIME) : (int64_t)time(NULL);
}

/* ---- only the latest request for a file counts ---- */

static void guest_end(struct guest *g);

/* Returns true for a request that was in flight when its connection broke and that its host has
 * repeated since: it must not start the file again. The other end numbers requests by its time
 * since boot; connections don't survive a reboot. */
static bool is_stale(struct files *f, const struct ticket *t, const struct file_frame *x)
{
	uint64_t asked = (uint64_t)x->asked, *last;
	char what[96];

	snprintf(what, sizeof what, "boot %.64s", x->boot ? x->boot : "");
	last = noted(f, what, t);
	if (asked < *last)
		return true;
	*last = asked;
	return false;
}

/* Ends other connections for the same file. A client that asks again has lost its connection, even
 * if we have not noticed: data still in it must not be added. */
static void others_end(struct guest *g)
{
	struct guest *next;

	for (struct guest *x = g->f->guests; x; x = next) {
		next = x->next;
		if (x != g && x->a && x->ticket.put && strcmp(x->ticket.tag, g->ticket.tag) == 0 &&
		    strcmp(x->ticket.path, g->ticket.path) == 0)
			guest_end(x);
	}
}

/* Returns false if a later request has overtaken this one. */
static bool is_latest(struct guest *g, const struct file_frame *x)
{
	if (is_stale(g->f, &g->ticket, x))
		return false;
	others_end(g);
	return true;
}

/* ---- trust ---- */

void files_trust(struct files *f, int64_t seconds)
{
	f->trusted = clock_seconds(CLOCK_BOOTTIME) + seconds;
}

bool files_doubt(const struct files *f)
{
	return f->trusted && clock_seconds(CLOCK_BOOTTIME) > f->trusted;
}

/* Returns true for another node's connection while we can't know whether that node was removed. */
static bool is_doubtful(const struct guest *g)
{
	struct cert_names peer;

	if (g->own || !files_doubt(g->f))
		return false;
	link_peer(g->link, &peer);
	return peer.role != CERT_SERVER;
}

void files_revoke(struct files *f)
{
	struct cert_names peer;
	struct guest *next;

	for (struct guest *g = f->guests; g; g = next) {
		next = g->next;
		link_peer(g->link, &peer);
		if (!revoked_has(f->revoked, &peer))
			continue;
		/* also drops what is queued for it */
		link_abort(g->link, "this node was removed from the cluster");
		guest_end(g);
	}
	carries_revoke(f);
}

/* ---- the first frame ---- */

static void file_begin(struct guest *g, const struct file_frame *x)
{
	struct cert_names peer = {0};
	struct ticket_question q = {.text = x->ticket ? x->ticket : "",
				    .signature = x->signature ? x->signature : "",
				    .file = x->file,
				    .authority = g->f->ca,
				    .at = g->f->name,
				    .peer = g->own ? NULL : &peer,
				    .now = now_of(g->f)};
	struct err err;
	int rc;

	file_over(g);
	if (!g->f->ca) {
		file_not_now(g, "this host is not ready for files");
		return;
	}
	if (!g->own)
		link_peer(g->link, &peer);
	g->a = arena_create();
	g->known = x->size >= 0 ? x->size : -1;
	rc = ticket_check(&q, g->a, &g->ticket, &err);
	if (revoked_has(g->f->revoked, &peer))
		file_failed(g, "your host was removed from the cluster");
	else if (is_doubtful(g))
		file_not_now(g, DOUBT);
	/* if the clock is right: an agent that has just started does not know the server's */
	else if (rc == -EKEYEXPIRED)
		file_not_now(g, err.text);
	else if (rc < 0)
		file_failed(g, err.text);
	else if (g->ticket.put && !is_latest(g, x))
		file_failed(g, "this was asked again since");
	else
		file_open(g);
}

static void data_take(struct guest *g, int64_t to, const char *data, size_t n)
{
	struct stat st;

	/* Files that the server itself keeps are next to its store: one file may be as large as one
	 * user's spare output (run/spare.h). */
	if (!strchr(g->ticket.path, '/')) {
		if (!size_now(g, &st))
			return;
		int64_t size = st.st_size + (int64_t)n;
		if (size > SPARE_PER_USER || size > spare_most(g->fd, st.st_size)) {
			file_trouble(g, -ENOSPC);
			return;
		}
	}
	int rc = fd_write(g->fd, data, n);
	if (rc < 0)
		file_trouble(g, rc);
	else if (size_now(g, &st))
		frame_send(g->link, "took", (struct file_frame){.to = to, .size = st.st_size});
}

static void put_end(struct guest *g)
{
	struct stat st;

	if (!size_now(g, &st))
		return;
	frame_send(g->link, "done", (struct file_frame){.size = st.st_size});
	file_over(g);
}

/* ---- a connection ---- */

static void guest_end(struct guest *g)
{
	static const struct link_events nobody = {0};

	file_over(g);
	if (g->link) {
		link_events_set(g->link, &nobody, NULL);
		link_close(g->link, "it is over");
	}
	chain_remove(g->f->guests, g);
	g->f->nguests--;
	free(g);
}

static void on_frame(void *context, struct link *l, json_t *head, const char *data, size_t n)
{
	struct guest *g = context;
	const char *type = member_text(head, "t");
	struct file_frame x;

	g->moved = uv_now(g->f->loop);
	file_frame_read(head, &x);
	if (strcmp(type, "file") == 0)
		file_begin(g, &x);
	else if (g->stage == TAKES && strcmp(type, "data") == 0)
		data_take(g, x.to, data, n);
	else if (g->stage == TAKES && strcmp(type, "end") == 0)
		put_end(g);
}

static void on_drained(void *context, struct link *l)
{
	struct guest *g = context;

	g->moved = uv_now(g->f->loop);
	get_more(g);
}

static void on_closed(void *context, struct link *l, const char *reason)
{
	struct guest *g = context;

	g->link = NULL;
	guest_end(g);
}

static struct guest *guest_create(struct files *f, struct link *l)
{
	static const struct link_events events = {.frame = on_frame, .drained = on_drained, .closed = on_closed};
	struct guest *g = mem_zalloc(sizeof *g);

	*g = (struct guest){.f = f, .link = l, .fd = -1, .moved = uv_now(f->loop)};
	chain_add(f->guests, g);
	f->nguests++;
	link_events_set(l, &events, g);
	link_trust(l);
	files_watch(f);
	return g;
}

void files_serve(struct files *f, struct link *l, json_t *first)
{
	static const struct link_events nobody = {0};

	if (f->nguests >= GUESTS_MOST) {
		link_events_set(l, &nobody, NULL);
		link_close(l, "too many files are under way to this host");
		return;
	}
	on_frame(guest_create(f, l), l, first, NULL, 0);
}

void files_serve_own(struct files *f, struct link *l)
{
	guest_create(f, l)->own = true;
}

/* ---- life ---- */

static void on_timer(uv_timer_t *t)
{
	struct files *f = t->data;
	struct guest *next;

	for (struct guest *g = f->guests; g; g = next) {
		next = g->next;
		if (uv_now(f->loop) - g->moved > GUEST_MS || is_doubtful(g))
			guest_end(g);
	}
	carries_tick(f);
	if (!f->guests && !f->carries && !f->spare.n) /* an idle host does nothing */
		uv_timer_stop(t);
}

void files_watch(struct files *f)
{
	if (!uv_is_active((uv_handle_t *)&f->timer))
		uv_timer_start(&f->timer, on_timer, LINGER_MS / 2, LINGER_MS / 2);
}

struct files *files_create(uv_loop_t *loop, struct opener *opener)
{
	struct files *f = mem_zalloc(sizeof *f);

	f->loop = loop;
	f->opener = opener;
	uv_timer_init(loop, &f->timer);
	f->timer.data = f;
	uv_unref((uv_handle_t *)&f->timer);
	return f;
}

static void text_set(char **at, const char *text)
{
	char *copy = text ? mem_strdup(text) : NULL;

	free(*at);
	*at = copy;
}

void files_identify(struct files *f, const struct files_identity *i)
{
	text_set(&f->name, i->name);
	text_set(&f->ca, i->ca);
	text_set(&f->keep, i->keep);
	f->revoked = i->revoked;
	if (f->tls)
		tls_context_free(f->tls);
	f->tls = i->tls ? tls_context_ref(i->tls) : NULL;
}

void files_stop(struct files *f)
{
	while (f->guests)
		guest_end(f->guests);
	carries_stop(f);
	map_fini(&f->notes);
	if (f->tls)
		tls_context_free(f->tls);
	free(f->name);
	free(f->ca);
	free(f->keep);
	uv_close((uv_handle_t *)&f->timer, handle_data_free);
}
