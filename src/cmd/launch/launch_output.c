/*
 * launch_output.c - writes the output of ranks: as it arrives, or in whole lines labelled with the
 * rank, to our own standard output and error or to a file per rank.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cmd/launch/launch.h"

#define LINE_MAX_BYTES 65536 /* a longer line is written in pieces */

/* Expands "out-%r": %r is the rank, %n the node, %% a percent sign. */
static void name_make(const struct layout *l, const char *pattern, uint32_t rank, struct strbuf *out)
{
	for (const char *p = pattern; *p; p++) {
		if (p[0] != '%' || !p[1]) {
			strbuf_add(out, p, 1);
			continue;
		}
		p++;
		if (*p == 'r')
			strbuf_printf(out, "%u", rank);
		else if (*p == 'n')
			strbuf_puts(out, l->node.v[l->rank[rank].node]);
		else
			strbuf_add(out, *p == '%' ? p : p - 1, *p == '%' ? 1 : 2);
	}
}

/* Opens all files at once, so that failures show before anything runs; two ranks may share one. */
static int files_open(struct launch_output *o, const char *pattern, struct err *err)
{
	struct rlimit limit;
	struct strbuf name = {0};
	int rc = 0;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	o->file = mem_alloc(o->l->size * sizeof *o->file);
	for (uint32_t r = 0; r < o->l->size; r++)
		o->file[r] = -1;
	for (uint32_t r = 0; r < o->l->size && rc == 0; r++) {
		strbuf_clear(&name);
		name_make(o->l, pattern, r, &name);
		o->file[r] = open(strbuf_text(&name), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
		if (o->file[r] < 0)
			rc = err_set(err, -errno, "%s: %s", strbuf_text(&name), strerror(errno));
	}
	strbuf_fini(&name);
	return rc;
}

int output_init(struct launch_output *o, const struct layout *l, const struct launch_arguments *a, struct err *err)
{
	*o = (struct launch_output){.l = l, .sink = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}}};
	for (int i = 0; i < 2 && a->label; i++)
		o->line[i] = mem_zalloc(l->size * sizeof *o->line[i]);
	return a->output ? files_open(o, a->output, err) : 0;
}

/* Writes to the rank's final destination. */
static void text_put(struct launch_output *o, uint32_t rank, int which, const char *text, size_t n)
{
	if (!o->file) {
		strbuf_add(&o->sink[which].text, text, n);
		return;
	}
	while (n > 0) {
		ssize_t wrote = write(o->file[rank], text, n);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0) {
			output_note(o, "what rank %u writes can't be kept: %s", rank, strerror(errno));
			o->broken = true;
			return;
		}
		text += wrote;
		n -= (size_t)wrote;
	}
}

static void line_put(struct launch_output *o, uint32_t rank, int which)
{
	struct strbuf *line = &o->line[which][rank], text = {0};

	strbuf_printf(&text, "[%u] ", rank);
	strbuf_add(&text, strbuf_text(line), line->n);
	strbuf_puts(&text, "\n");
	text_put(o, rank, which, text.text, text.n);
	strbuf_fini(&text);
	strbuf_clear(line);
}

void output_write(struct launch_output *o, uint32_t rank, int which, const char *data, size_t n)
{
	if (!o->line[which]) {
		text_put(o, rank, which, data, n);
		return;
	}
	for (const char *end = data + n; data < end;) {
		const char *newline = memchr(data, '\n', (size_t)(end - data));
		size_t part = (size_t)((newline ? newline : end) - data);
		strbuf_add(&o->line[which][rank], data, part);
		if (newline || o->line[which][rank].n >= LINE_MAX_BYTES)
			line_put(o, rank, which);
		data += part + (newline != NULL);
	}
}

void output_note(struct launch_output *o, const char *fmt, ...)
{
	va_list ap;

	strbuf_puts(&o->sink[OUTPUT_ERR].text, "shunt launch: ");
	va_start(ap, fmt);
	strbuf_vprintf(&o->sink[OUTPUT_ERR].text, fmt, ap);
	va_end(ap);
	strbuf_puts(&o->sink[OUTPUT_ERR].text, "\n");
}

bool output_full(const struct launch_output *o)
{
	return sink_full(&o->sink[OUTPUT_OUT]) || sink_full(&o->sink[OUTPUT_ERR]);
}

void output_push(struct launch_output *o)
{
	for (int i = 0; i < 2; i++)
		if (sink_push(&o->sink[i]) < 0)
			o->broken = true;
}

void output_fini(struct launch_output *o)
{
	for (int i = 0; i < 2; i++) {
		for (uint32_t r = 0; o->line[i] && r < o->l->size; r++) {
			if (o->line[i][r].n)
				line_put(o, r, i);
			strbuf_fini(&o->line[i][r]);
		}
		free(o->line[i]);
		sink_flush(&o->sink[i]);
		sink_fini(&o->sink[i]);
	}
	for (uint32_t r = 0; o->file && r < o->l->size; r++)
		if (o->file[r] >= 0)
			close(o->file[r]);
	free(o->file);
}
