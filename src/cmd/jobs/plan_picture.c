/*
 * plan_picture.c - draws the plan as text: a band of lines per node, time to the right.
 *
 * Within a node's band a job is on the first line with room, so jobs that share a node are on lines
 * one above the other. Nodes without jobs share a line.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "cmd/jobs/plan_model.h"
#include "cmd/lib/object.h"
#include "cmd/lib/palette.h"
#include "cmd/lib/screen.h"

#define NARROWEST 40
#define LABEL_MAX 20
#define LANES_MAX 16
#define TICK_WIDTH 9

struct picture {
	const struct plan_view *v;
	FILE *out;
	bool colour, rich; /* rich: 256 colors */
	int label, width;  /* columns for names and for the time axis */
};

/* A line of a node's band. */
struct lane {
	char *text; /* width + 1 bytes */
	int *piece; /* index of the piece in each column, or -1 */
	int until;  /* columns in use */
};

static int column_of(const struct picture *p, int64_t t)
{
	int64_t length = p->v->until - p->v->now;

	if (t <= p->v->now)
		return 0;
	if (t >= p->v->until)
		return p->width;
	return (int)((double)(t - p->v->now) / (double)length * p->width);
}

static struct lane lane_make(const struct picture *p)
{
	struct lane l = {.text = mem_alloc((size_t)p->width + 1), .piece = mem_alloc((size_t)p->width * sizeof(int))};

	memset(l.text, ' ', (size_t)p->width);
	l.text[p->width] = '\0';
	for (int i = 0; i < p->width; i++)
		l.piece[i] = -1;
	return l;
}

/* Draws "####12 name####": as much of the label as fits. */
static void piece_draw(const struct picture *p, struct lane *l, int index, int from, int to)
{
	static const char fill[] = {[PIECE_RUNNING] = '#', [PIECE_GUARANTEED] = '=', [PIECE_RESERVED] = '-'};
	const struct plan_piece *piece = &p->v->pieces.v[index];
	char label[64], id[40];
	int n, room = to - from - 2;

	for (int i = from; i < to; i++) {
		l->text[i] = fill[piece->state];
		l->piece[i] = index;
	}
	snprintf(id, sizeof id, "another's");
	if (*piece->job) /* else the job is not visible to the user */
		id_short(piece->job, id, sizeof id);
	if (piece->held)
		n = snprintf(label, sizeof label, "%s held", id);
	else
		n = snprintf(label, sizeof label, "%s%s%s x%" PRId64, id, *piece->name ? " " : "", piece->name,
			     piece->cpus);
	if (n > room)
		n = snprintf(label, sizeof label, "%s", id);
	/* Non-ASCII letters would need more bytes than columns. */
	for (int i = 0; i < n && i < (int)sizeof label - 1; i++)
		if (label[i] < ' ' || label[i] > '~')
			label[i] = '?';
	if (n <= room || (n <= room + 2 && room + 2 > 0))
		memcpy(l->text + from + (n <= room ? 1 : 0), label, (size_t)n);
	l->until = to;
}

static void lane_print(const struct picture *p, const struct lane *l)
{
	/* For terminals with few colors: black text is legible on these in the usual palettes, but
	 * not on blue (44). */
	enum { NBACKGROUNDS = 4 };
	static const int backgrounds[NBACKGROUNDS] = {42, 43, 46, 45};

	if (!p->colour) {
		int n = p->width;
		while (n > 0 && l->text[n - 1] == ' ')
			n--;
		fprintf(p->out, "%.*s\n", n, l->text);
		return;
	}
	for (int i = 0; i < p->width; i++) {
		int now = l->piece[i], before = i ? l->piece[i - 1] : -1;
		bool plain = now < 0 || p->v->pieces.v[now].state == PIECE_RESERVED;
		if (now != before && plain)
			screen_style(p->out, "\033[0m");
		else if (now != before && p->rich)
			screen_style(p->out, "\033[0;38;5;16;48;5;%dm",
				     palette_job[p->v->pieces.v[now].number % PALETTE_JOBS]);
		else if (now != before)
			screen_style(p->out, "\033[0;30;%dm", backgrounds[p->v->pieces.v[now].number % NBACKGROUNDS]);
		fputc(l->text[i], p->out);
	}
	screen_style(p->out, "\033[0m");
	fputc('\n', p->out);
}

static bool kept_same(const struct plan_node *a, const struct plan_node *b)
{
	return (!json_array_size(a->kept) && !json_array_size(b->kept)) ||
	       (a->kept && b->kept && json_equal(a->kept, b->kept));
}

/* Prints "reservation course from 08:00 to 12:00". */
static void kept_print(const struct picture *p, const struct plan_node *node, const char *before)
{
	const json_t *x;
	size_t i;

	json_array_foreach(node->kept, i, x)
	{
		int64_t start = object_number(x, "start", 0), end = object_number(x, "end", -1);
		char text[40];
		if (start >= p->v->until && i > 0)
			break;
		fprintf(p->out, "%sreservation %s", i ? ", " : before, object_text(x, "name"));
		if (start > p->v->now)
			fprintf(p->out, " from %s", instant_near(start, p->v->now, text, sizeof text));
		if (end >= 0)
			fprintf(p->out, " to %s", instant_near(end, p->v->now, text, sizeof text));
	}
}

static void node_print(const struct picture *p, const struct plan_node *node)
{
	struct lane lanes[LANES_MAX];
	int n = 0, left_out = 0;
	char cpus[40];

	for (size_t i = node->first; i < node->first + node->n; i++) {
		const struct plan_piece *piece = &p->v->pieces.v[i];
		int from = column_of(p, piece->start), to = column_of(p, piece->end), k = 0;
		if (from >= p->width)
			continue;
		if (to <= from)
			to = from + 1;
		while (k < n && lanes[k].until > from)
			k++;
		if (k == LANES_MAX) {
			left_out++;
			continue;
		}
		if (k == n)
			lanes[n++] = lane_make(p);
		piece_draw(p, &lanes[k], (int)i, from, to);
	}
	snprintf(cpus, sizeof cpus, "%s%" PRId64 " CPU%s", node->up ? "" : "down, ", node->cpus,
		 node->cpus == 1 ? "" : "s");
	for (int k = 0; k < n; k++) {
		fprintf(p->out, "%-*.*s |", p->label, p->label, k == 0 ? node->name : k == 1 ? cpus : "");
		lane_print(p, &lanes[k]);
		free(lanes[k].text);
		free(lanes[k].piece);
	}
	if (left_out)
		fprintf(p->out, "%-*s | and %d more\n", p->label, "", left_out);
	if (node->leaves != INT64_MAX)
		fprintf(p->out, "%-*s | out of service at %s\n", p->label, "",
			instant_format(node->leaves, cpus, sizeof cpus));
	if (json_array_size(node->kept)) {
		fprintf(p->out, "%-*s | ", p->label, "");
		kept_print(p, node, "");
		fprintf(p->out, "\n");
	}
}

/* Prints the nodes from `i` on that have nothing planned on one line. Returns the next node. */
static size_t idle_print(const struct picture *p, size_t i)
{
	VEC(char *) names = {0};
	struct strbuf text = {0};
	char when[40];
	size_t first = i;

	for (;
	     i < p->v->nodes.n && p->v->nodes.v[i].n == 0 &&
	     strcmp(p->v->nodes.v[i].partition, p->v->nodes.v[first].partition) == 0 &&
	     p->v->nodes.v[i].up == p->v->nodes.v[first].up && p->v->nodes.v[i].leaves == p->v->nodes.v[first].leaves &&
	     kept_same(&p->v->nodes.v[i], &p->v->nodes.v[first]);
	     i++)
		vec_push(&names, (char *)p->v->nodes.v[i].name);
	hostlist_format(names.v, names.n, &text);
	fprintf(p->out, "%-*.*s | %s", p->label, p->label, text.text, p->v->nodes.v[first].up ? "free" : "down");
	if (p->v->nodes.v[first].leaves != INT64_MAX)
		fprintf(p->out, ", out of service at %s",
			instant_format(p->v->nodes.v[first].leaves, when, sizeof when));
	kept_print(p, &p->v->nodes.v[first], "; ");
	fprintf(p->out, "\n");
	strbuf_fini(&text);
	vec_free(&names);
	return i;
}

static void axis_print(const struct picture *p)
{
	int64_t step = plan_ticks(p->v, p->width / TICK_WIDTH > 1 ? p->width / TICK_WIDTH : 1);
	char *labels = mem_alloc((size_t)p->width + 16), *marks = mem_alloc((size_t)p->width + 1), text[32];

	memset(labels, ' ', (size_t)p->width + 16);
	memset(marks, '-', (size_t)p->width);
	memcpy(labels, "now", 3);
	marks[0] = '+';
	labels[p->width + 15] = marks[p->width] = '\0';
	for (int64_t t = plan_tick_after(p->v->now, step); t < p->v->until; t += step) {
		int at = column_of(p, t), n = (int)strlen(plan_tick_text(t, step, text, sizeof text));
		marks[at] = '+';
		if (at >= 4 && at + n <= p->width)
			memcpy(labels + at, text, (size_t)n);
	}
	for (int n = p->width + 15; n > 0 && labels[n - 1] == ' '; n--)
		labels[n - 1] = '\0';
	fprintf(p->out, "%-*s |%s\n%-*s |%s\n", p->label, "", labels, p->label, "node", marks);
	free(labels);
	free(marks);
}

void plan_picture(const struct plan_view *v, int width, bool colour, FILE *out)
{
	struct picture p = {.v = v, .out = out, .colour = colour, .rich = palette_has(), .label = 8};

	for (size_t i = 0; i < v->nodes.n; i++) {
		int n = (int)strlen(v->nodes.v[i].name);
		if (n > p.label)
			p.label = n;
	}
	if (p.label > LABEL_MAX)
		p.label = LABEL_MAX;
	p.width = (width > NARROWEST ? width : NARROWEST) - p.label - 2;
	axis_print(&p);
	for (size_t i = 0; i < v->nodes.n;) {
		const char *in = v->nodes.v[i].partition;
		if (v->divided && (i == 0 || strcmp(v->nodes.v[i - 1].partition, in) != 0))
			fprintf(out, "%s%s\n", *in ? "partition " : "other nodes", in);
		if (v->nodes.v[i].n == 0)
			i = idle_print(&p, i);
		else
			node_print(&p, &v->nodes.v[i++]);
	}
	fprintf(out, "\n# running   = start guaranteed   - planned, may change%s\n",
		colour && width >= 80 ? "   (a color for each job)" : "");
	for (size_t i = 0; i < v->pieces.n; i++)
		if (v->pieces.v[i].held) {
			fprintf(out, "held: kept free, because the job holds the whole partition\n");
			break;
		}
}
