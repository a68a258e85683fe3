/*
 * log.c - see log.h.
 */
#include "server/base/log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "server/base/post.h"
#include "server/server.h"

#define RESTORED_BYTES ((off_t)256 << 10) /* at the end of a file, where lines of an earlier server are looked for */
#define TEXT_MOST 1000			  /* bytes of a text that is kept or given to the event log */

struct log *log_create(enum severity least)
{
	struct log *l = mem_zalloc(sizeof *l);

	l->least = least;
	return l;
}

void log_destroy(struct log *l)
{
	for (size_t i = 0; i < LOG_KEPT; i++)
		free(l->line[i].text);
	free(l);
}

static void keep(struct log *l, const struct logline *x)
{
	struct log_kept *k = &l->line[l->n++ % LOG_KEPT];
	struct strbuf clean = {0};

	text_clean(&clean, x->text, strlen(x->text), TEXT_LINE);
	free(k->text);
	*k = (struct log_kept){x->time, x->severity, mem_strdup(strbuf_text(&clean))};
	strbuf_fini(&clean);
}

void log_restore(struct log *l, const char *path)
{
	struct stat st, err;
	struct logline x;
	char *next;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || fstat(STDERR_FILENO, &err) < 0 || st.st_dev != err.st_dev ||
	    st.st_ino != err.st_ino) {
		close(fd);
		return;
	}
	off_t from = st.st_size > RESTORED_BYTES ? st.st_size - RESTORED_BYTES : 0;
	char *text = mem_alloc(RESTORED_BYTES + 1);
	ssize_t n = pread(fd, text, RESTORED_BYTES, from);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	for (char *line = text; (next = strchr(line, '\n')); line = next + 1) {
		*next = '\0';
		if ((from == 0 || line > text) && logline_parse(line, &x)) /* the first may lack its beginning */
			keep(l, &x);
	}
	free(text);
}

void server_log(const struct server *s, enum severity severity, const char *fmt, ...)
{
	struct log *l = s ? s->log : NULL;
	struct strbuf text = {0};
	va_list ap;

	if (severity > (l ? l->least : SEVERITY_NOTICE))
		return;
	va_start(ap, fmt);
	strbuf_vprintf(&text, fmt, ap);
	va_end(ap);
	log_line(severity, "%s", strbuf_text(&text));
	if (text.n > TEXT_MOST)
		text.text[TEXT_MOST] = '\0';
	if (l)
		keep(l, &(struct logline){time(NULL), severity, strbuf_text(&text)});
	if (s && s->post && s->post->heard)
		s->post->heard((struct server *)s, severity, strbuf_text(&text));
	strbuf_fini(&text);
}

const struct log_kept *log_next(const struct log *l, enum severity least, uint64_t *at)
{
	if (l->n > LOG_KEPT && *at < l->n - LOG_KEPT)
		*at = l->n - LOG_KEPT;
	while (*at < l->n) {
		const struct log_kept *k = &l->line[(*at)++ % LOG_KEPT];
		if (k->severity <= least)
			return k;
	}
	return NULL;
}
