/* mail.c - mails about jobs, and the programs that send them. */
#include "server/book/mail.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/outcome.h"
#include "base/text.h"
#include "base/timetext.h"
#include "base/vec.h"
#include "server/base/child.h"

#define AT_ONCE 4	  /* maximum programs that run at once */
#define WAITING_MAX 10000 /* maximum mails that wait */
#define SECONDS 60	  /* time after which a program is killed */
#define ADDRESS_MAX 254

/* ---- a mail ---- */

/* Returns true if the address has only characters that name people and hosts, and cannot be a
 * pipe, file or list of sendmail. */
static bool address_ok(const char *text, size_t n)
{
	if (n == 0 || n > ADDRESS_MAX || *text == '-' || *text == '@' || text[n - 1] == '@')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("._+-=@%&'~!#$", text[i]))
			return false;
	return true;
}

/* Appends one line of a header or body. */
static void line_add(struct strbuf *out, const char *label, const char *text)
{
	strbuf_puts(out, label);
	text_clean(out, text, strlen(text), TEXT_LINE);
	strbuf_puts(out, "\n");
}

static void recipients_add(const struct mail *m, struct strbuf *out)
{
	const char *domain = m->domain && address_ok(m->domain, strlen(m->domain)) ? m->domain : NULL;

	for (const char *p = m->to; *p; p += strspn(p, ", \t")) {
		size_t n = strcspn(p, ", \t");
		if (address_ok(p, n)) {
			strbuf_printf(out, "%s%.*s", out->n ? ", " : "", (int)n, p);
			if (domain && !memchr(p, '@', n))
				strbuf_printf(out, "@%s", domain);
		}
		p += n;
	}
}

/* Appends each line of `text`; a single dot ends nothing, since the program is called with -i. */
static void text_add(struct strbuf *out, const char *text)
{
	char *copy = mem_strdup(text), *rest = copy, *line;

	while ((line = strsep(&rest, "\n")))
		if (*line)
			line_add(out, "", line);
	free(copy);
}

static void used_add(const struct mail *m, struct strbuf *out)
{
	char text[32];

	strbuf_printf(out, "Exit_status=%lld\n", (long long)m->exit_status);
	if (m->cput >= 0)
		strbuf_printf(out, "resources_used.cput=%s\n", duration_format(m->cput, text, sizeof text));
	if (m->memory >= 0)
		strbuf_printf(out, "resources_used.mem=%lldkb\n", (long long)m->memory);
	if (m->walltime >= 0)
		strbuf_printf(out, "resources_used.walltime=%s\n", duration_format(m->walltime, text, sizeof text));
}

static const char *sender(const struct mail *m)
{
	return m->from && address_ok(m->from, strlen(m->from)) ? m->from : "adm";
}

static void job_add(const struct mail *m, struct strbuf *out)
{
	static const char *const event[] = {
		[MAIL_JOB_BEGUN] = "Begun execution",
		[MAIL_JOB_ENDED] = "Execution terminated",
		[MAIL_JOB_ABORTED] = "Aborted by PBS Server",
	};

	line_add(out, "PBS Job Id: ", m->id);
	line_add(out, "Job Name:   ", m->name);
	if (m->exec_host)
		line_add(out, "Exec host:  ", m->exec_host);
	line_add(out, "", event[m->kind]);
	if (m->kind == MAIL_JOB_ENDED)
		used_add(m, out);
	if (m->text)
		text_add(out, m->text);
	if (m->kind == MAIL_JOB_ENDED && m->advice) {
		strbuf_puts(out, "\n");
		text_add(out, m->advice);
	}
}

/* Appends "PBS JOB 12.pine (sim): failed (9)". Programs look for the first words. */
static void subject_add(const struct mail *m, struct strbuf *out)
{
	char outcome[64];

	if (m->kind == MAIL_NOTICE) {
		strbuf_puts(out, m->name);
		return;
	}
	strbuf_printf(out, "PBS JOB %s (%s): %s", m->id, m->name,
		      m->kind == MAIL_JOB_BEGUN ? "begun"
		      : m->kind == MAIL_JOB_ENDED
			      ? outcome_text(m->exit_status, m->cause ? m->cause : "", outcome, sizeof outcome)
			      : "aborted");
}

int mail_format(const struct mail *m, struct strbuf *out, struct err *err)
{
	struct strbuf to = {0}, subject = {0};

	recipients_add(m, &to);
	if (to.n == 0)
		return err_set(err, -EINVAL, "no address in \"%.80s\" that mail about %s%.40s could go to", m->to,
			       m->kind == MAIL_NOTICE ? "" : "job ", m->kind == MAIL_NOTICE ? m->name : m->id);
	line_add(out, "From: ", sender(m));
	line_add(out, "To: ", to.text);
	subject_add(m, &subject);
	line_add(out, "Subject: ", subject.text);
	strbuf_fini(&subject);
	strbuf_puts(out, "Auto-Submitted: auto-generated\nMIME-Version: 1.0\n"
			 "Content-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n\n");
	if (m->kind == MAIL_NOTICE)
		text_add(out, m->text);
	else
		job_add(m, out);
	strbuf_fini(&to);
	return 0;
}

/* ---- mail programs ---- */

struct letter {
	char *program, *from;
	struct strbuf text;
};

/* A running mail program. */
struct carrier {
	struct mailer *mailer;
	struct child_order order;
	struct child *child; /* NULL: none */
	char *program;
};

struct mailer {
	uv_loop_t *loop;
	void (*say)(void *context, const char *text);
	void *context;
	VEC(struct letter) waiting;
	size_t first; /* index in `waiting` of the first letter not sent */
	struct carrier carrier[AT_ONCE];
	bool said_missing;
};

static void letters_start(struct mailer *m);

static void letter_fini(struct letter *l)
{
	free(l->program);
	free(l->from);
	strbuf_fini(&l->text);
}

struct mailer *mailer_start(uv_loop_t *loop, void (*say)(void *context, const char *text), void *context)
{
	struct mailer *m = mem_zalloc(sizeof *m);

	*m = (struct mailer){.loop = loop, .say = say, .context = context};
	for (int i = 0; i < AT_ONCE; i++)
		m->carrier[i].mailer = m;
	return m;
}

static void on_carried(void *context, const struct child_end *end)
{
	struct carrier *c = context;
	struct mailer *m = c->mailer;
	char fault[100], text[512];

	if (child_fault(&c->order, end, fault, sizeof fault)) {
		snprintf(text, sizeof text, "the mail program %.300s %s; a mail may be lost", c->program, fault);
		m->say(m->context, text);
	}
	free(c->program);
	c->child = NULL;
	letters_start(m);
}

/* Returns a descriptor of the mail in memory, positioned at its beginning; or -errno. */
static int letter_file(const struct letter *l)
{
	int fd = memfd_create("mail", MFD_CLOEXEC), rc = fd < 0 ? -errno : fd_write(fd, l->text.text, l->text.n);

	if (rc < 0 && fd >= 0)
		close(fd);
	if (rc < 0)
		return rc;
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* Returns 0 or -errno. */
static int carrier_start(struct carrier *c, const struct letter *l)
{
	char *argv[] = {l->program, "-i", "-t", "-f", l->from, NULL};
	int fd = letter_file(l), rc;

	if (fd < 0)
		return fd;
	c->program = mem_strdup(l->program);
	c->order = (struct child_order){.program = c->program,
					.argv = argv,
					.in = fd,
					.seconds = SECONDS,
					.apart = true,
					.done = on_carried,
					.context = c};
	rc = child_start(c->mailer->loop, &c->order, &c->child);
	if (rc < 0)
		free(c->program);
	close(fd);
	return rc;
}

static void spawn_failed(struct mailer *m, const struct letter *l, int rc)
{
	char text[512];

	if (m->said_missing)
		return;
	m->said_missing = true;
	snprintf(text, sizeof text,
		 "no mail is sent: %.300s: %s; install a mail program, or set mail.program in the configuration file",
		 l->program, strerror(-rc));
	m->say(m->context, text);
}

static void letters_start(struct mailer *m)
{
	for (int i = 0; i < AT_ONCE; i++)
		while (!m->carrier[i].child && m->first < m->waiting.n) {
			struct letter *l = &m->waiting.v[m->first++];
			int rc = carrier_start(&m->carrier[i], l);
			if (rc < 0)
				spawn_failed(m, l, rc);
			letter_fini(l);
		}
	if (m->first > m->waiting.n / 2) { /* drops the sent letters from time to time */
		m->waiting.n -= m->first;
		memmove(m->waiting.v, m->waiting.v + m->first, m->waiting.n * sizeof *m->waiting.v);
		m->first = 0;
	}
}

int mailer_send(struct mailer *m, const char *program, const struct mail *mail, struct err *err)
{
	struct letter l = {0};

	if (mail->domain && strcasecmp(mail->domain, "never") == 0)
		return 0;
	if (m->waiting.n - m->first >= WAITING_MAX)
		return err_set(err, -ENOSPC, "%d mails wait for the mail program: the one about job %.40s is dropped",
			       WAITING_MAX, mail->id);
	int rc = mail_format(mail, &l.text, err);
	if (rc < 0)
		return rc;
	l.program = mem_strdup(program);
	l.from = mem_strdup(sender(mail));
	vec_push(&m->waiting, l);
	letters_start(m);
	return 0;
}

int mailer_busy(const struct mailer *m)
{
	int n = (int)(m->waiting.n - m->first);

	for (int i = 0; i < AT_ONCE; i++)
		n += m->carrier[i].child != NULL;
	return n;
}

void mailer_stop(struct mailer *m)
{
	if (!m)
		return;
	for (int i = 0; i < AT_ONCE; i++)
		if (m->carrier[i].child) {
			child_stop(m->carrier[i].child);
			free(m->carrier[i].program);
		}
	for (; m->first < m->waiting.n; m->first++)
		letter_fini(&m->waiting.v[m->first]);
	vec_free(&m->waiting);
	free(m);
}
