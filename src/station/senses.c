/*
 * senses.c - see senses.h.
 */
#include "station/senses.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/input.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <utmpx.h>

#include "base/mem.h"
#include "base/vec.h"

#define RESCAN_MS 1000 /* between scans for new devices */

struct device {
	struct senses *s;
	uv_poll_t poll;
	int fd;
	char name[64];
};

struct terminal_seen {
	char name[32]; /* "pts/3" */
	dev_t device;
	uid_t user;
	int64_t typed; /* seconds since 1970 */
	bool here;     /* seen in this scan */
};

struct senses {
	uv_loop_t *loop;
	struct senses_listener l;
	char *dev;
	VEC(struct device *) devices;
	VEC(struct terminal_seen) terminals;
	uint64_t scanned; /* uv_now() */
	bool looked;	  /* true after the first scan: terminals that appear later are new */
	int64_t input;
	char where[64], who[64];
	int open; /* open handles, plus one for the object itself */
};

static void released(struct senses *s)
{
	if (--s->open)
		return;
	vec_free(&s->devices);
	vec_free(&s->terminals);
	free(s->dev);
	free(s);
}

/* ---- users ---- */

/* Looks up the user of a terminal in the system's login records. */
static void login_find(const char *line, char *ret, size_t size)
{
	setutxent();
	for (struct utmpx *u; (u = getutxent());)
		if (u->ut_type == USER_PROCESS && strncmp(u->ut_line, line, sizeof u->ut_line) == 0)
			snprintf(ret, size, "%.*s", (int)sizeof u->ut_user, u->ut_user);
	endutxent();
}

static void input_note(struct senses *s, int64_t when, const char *where, const char *who)
{
	if (when < s->input)
		return;
	s->input = when;
	snprintf(s->where, sizeof s->where, "%s", where);
	snprintf(s->who, sizeof s->who, "%s", who);
	s->l.input(s->l.context);
}

/* ---- input devices ---- */

static void on_device_closed(uv_handle_t *h)
{
	struct device *d = h->data;

	close(d->fd);
	released(d->s);
	free(d);
}

static void device_drop(struct device *d)
{
	struct senses *s = d->s;

	for (size_t i = 0; i < s->devices.n; i++)
		if (s->devices.v[i] == d) {
			vec_remove(&s->devices, i);
			break;
		}
	uv_close((uv_handle_t *)&d->poll, on_device_closed);
}

static bool is_person(const struct input_event *e)
{
	return e->type == EV_KEY || e->type == EV_REL || e->type == EV_ABS;
}

static void on_event(uv_poll_t *p, int status, int events)
{
	struct device *d = p->data;
	struct input_event e[64];
	bool person = false;
	ssize_t n = status < 0 ? 0 : read(d->fd, e, sizeof e);

	for (size_t i = 0; n > 0 && i < (size_t)n / sizeof *e; i++)
		person |= is_person(&e[i]);
	if (person)
		input_note(d->s, (int64_t)uv_now(d->s->loop), "a keyboard, mouse or the like", "");
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		device_drop(d);
}

/* Returns true for motion sensors: carrying a laptop is not using it. */
static bool is_sensor(int fd)
{
	unsigned long props[INPUT_PROP_CNT / (8 * sizeof(long)) + 1] = {0};

	return ioctl(fd, EVIOCGPROP(sizeof props), props) >= 0 && (props[0] & 1UL << INPUT_PROP_ACCELEROMETER);
}

static void device_add(struct senses *s, const char *path, const char *name)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct device *d;

	if (fd < 0)
		return;
	d = mem_zalloc(sizeof *d);
	*d = (struct device){.s = s, .fd = fd};
	snprintf(d->name, sizeof d->name, "%.*s", (int)sizeof d->name - 1, name);
	if (is_sensor(fd) || uv_poll_init(s->loop, &d->poll, fd) < 0) {
		close(fd);
		free(d);
		return;
	}
	d->poll.data = d;
	uv_poll_start(&d->poll, UV_READABLE, on_event);
	s->open++;
	vec_push(&s->devices, d);
}

static bool device_known(const struct senses *s, const char *name)
{
	for (size_t i = 0; i < s->devices.n; i++)
		if (strcmp(s->devices.v[i]->name, name) == 0)
			return true;
	return false;
}

static void devices_scan(struct senses *s)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/input", s->dev);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));) {
		if (strncmp(e->d_name, "event", 5) != 0 || strlen(e->d_name) >= sizeof((struct device *)0)->name ||
		    device_known(s, e->d_name))
			continue;
		snprintf(path, sizeof path, "%s/input/%s", s->dev, e->d_name);
		device_add(s, path, e->d_name);
	}
	if (d)
		closedir(d);
}

int senses_devices(const struct senses *s)
{
	return (int)s->devices.n;
}

/* ---- terminals ---- */

static struct terminal_seen *terminal_find(struct senses *s, const char *name)
{
	for (size_t i = 0; i < s->terminals.n; i++)
		if (strcmp(s->terminals.v[i].name, name) == 0)
			return &s->terminals.v[i];
	return NULL;
}

/* Notes the time of the last key at a terminal: by the clock if it was before we started,
 * otherwise now. */
static void terminal_typed(struct senses *s, const struct terminal_seen *t)
{
	int64_t now = (int64_t)uv_now(s->loop), ago = s->looked ? 0 : ((int64_t)time(NULL) - t->typed) * 1000;
	char who[64] = "";

	if (!s->l.counts(s->l.context, t->device, t->user))
		return;
	login_find(t->name, who, sizeof who);
	if (!*who)
		snprintf(who, sizeof who, "user %u", (unsigned)t->user);
	input_note(s, now - (ago > 0 ? ago : 0), t->name, who);
}

/* Returns true if a user has typed at the terminal since it exists. The kernel creates all
 * consoles (ttyN) at boot with an access time equal to their creation; a pseudoterminal exists
 * only while it is in use. */
static bool is_used(const char *name, const struct stat *st)
{
	return strncmp(name, "tty", 3) != 0 || st->st_atime > st->st_ctime;
}

static void terminal_look(struct senses *s, const char *name)
{
	struct terminal_seen *known = terminal_find(s, name), t = {.here = true};
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof path, "%s/%s", s->dev, name);
	if (stat(path, &st) < 0)
		return;
	snprintf(t.name, sizeof t.name, "%s", name);
	t.device = st.st_rdev;
	t.user = st.st_uid;
	t.typed = st.st_atime;
	if (!known) {
		vec_push(&s->terminals, t);
		if (s->looked || is_used(name, &st))
			terminal_typed(s, &t);
		return;
	}
	bool typed = known->typed != t.typed || known->user != t.user;
	*known = t;
	if (typed)
		terminal_typed(s, &t);
}

static bool is_number(const char *text)
{
	size_t n = strspn(text, "0123456789");

	return n > 0 && n < 8 && !text[n];
}

/* Scans pts/N or ttyN; serial lines and the like are not seats. */
static void terminals_scan(struct senses *s, const char *folder, const char *prefix)
{
	char path[PATH_MAX], name[32];
	size_t n = strlen(prefix);

	snprintf(path, sizeof path, "%s%s", s->dev, folder);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));) {
		if (strncmp(e->d_name, prefix, n) != 0 || !is_number(e->d_name + n))
			continue;
		snprintf(name, sizeof name, "%s%.20s", *folder ? "pts/" : "", e->d_name);
		terminal_look(s, name);
	}
	if (d)
		closedir(d);
}

bool senses_logged_in(const struct senses *s, uid_t user)
{
	for (size_t i = 0; i < s->terminals.n; i++)
		if (s->terminals.v[i].user == user &&
		    s->l.counts(s->l.context, s->terminals.v[i].device, s->terminals.v[i].user))
			return true;
	return false;
}

void senses_look(struct senses *s)
{
	size_t kept = 0;

	if (!s->scanned || uv_now(s->loop) - s->scanned >= RESCAN_MS) {
		devices_scan(s);
		s->scanned = uv_now(s->loop) ? uv_now(s->loop) : 1;
	}
	for (size_t i = 0; i < s->terminals.n; i++)
		s->terminals.v[i].here = false;
	terminals_scan(s, "/pts", "");
	terminals_scan(s, "", "tty");
	for (size_t i = 0; i < s->terminals.n; i++)
		if (s->terminals.v[i].here)
			s->terminals.v[kept++] = s->terminals.v[i];
	s->terminals.n = kept;
	s->looked = true;
}

/* ---- processors and memory ---- */

/* Returns the number after `key` in a kernel file; -1: none. */
static double number_after(const char *path, const char *key)
{
	char text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	const char *at = strstr(text, key);
	return at ? strtod(at + strlen(key), NULL) : -1;
}

static int runnable(void)
{
	FILE *f = fopen("/proc/loadavg", "re");
	int n = 0;

	if (f && fscanf(f, "%*f %*f %*f %d/", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n > 1 ? n - 1 : 0;
}

void senses_get(const struct senses *s, struct seen *ret)
{
	double total = number_after("/proc/meminfo", "MemTotal:"),
	       available = number_after("/proc/meminfo", "MemAvailable:"),
	       stalls = number_after("/proc/pressure/memory", "some avg10=");

	*ret = (struct seen){.input = s->input, .runnable = runnable()};
	snprintf(ret->where, sizeof ret->where, "%s", s->where);
	snprintf(ret->who, sizeof ret->who, "%s", s->who);
	ret->memory_free = total > 0 && available >= 0 ? 100 * available / total : 100;
	ret->memory_stalls = stalls > 0 ? stalls : 0;
}

/* ---- life ---- */

struct senses *senses_create(uv_loop_t *loop, const char *dev, const struct senses_listener *l)
{
	struct senses *s = mem_zalloc(sizeof *s);

	s->loop = loop;
	s->dev = mem_strdup(dev);
	s->l = *l;
	s->input = OWNER_NO_INPUT;
	s->open = 1;
	return s;
}

void senses_remember(struct senses *s, int64_t ago)
{
	int64_t when = (int64_t)uv_now(s->loop) - (ago > 0 ? ago : 0);

	if (when > s->input)
		s->input = when;
	if (!*s->where)
		snprintf(s->where, sizeof s->where, "this machine");
}

void senses_destroy(struct senses *s)
{
	while (s->devices.n)
		device_drop(s->devices.v[s->devices.n - 1]);
	released(s);
}
