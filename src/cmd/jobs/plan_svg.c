/*
 * plan_svg.c - draws the plan as SVG: time to the right, CPUs downward, each node a band of its
 * CPUs.
 *
 * A node's jobs never need more CPUs at once than it has, so each piece gets CPUs that are free
 * when it starts; if these are not adjacent it is drawn in parts.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/strbuf.h"
#include "cmd/jobs/plan_model.h"
#include "cmd/lib/object.h"
#include "cmd/pbs/pbsattr.h"

#define WIDTH 1200
#define LEFT 110
#define TOP 40
#define BAND_MIN 18 /* minimum height of a node, pixels */
#define CPU_MAX 14
#define CPU_MIN 2
#define GAP 4
#define LEGEND 40

static double x_of(const struct plan_view *v, int64_t t)
{
	if (t < v->now)
		t = v->now;
	if (t > v->until)
		t = v->until;
	return LEFT + (double)(t - v->now) / (double)(v->until - v->now) * (WIDTH - LEFT - 10);
}

/* Returns the height of a CPU in pixels: small if a node has many. */
static double cpu_height(int64_t cpus)
{
	double h = 160.0 / (double)(cpus > 0 ? cpus : 1);

	return h > CPU_MAX ? CPU_MAX : h < CPU_MIN ? CPU_MIN : h;
}

static double band_height(const struct plan_node *n)
{
	double h = (double)n->cpus * cpu_height(n->cpus);

	return h < BAND_MIN ? BAND_MIN : h;
}

static void part_draw(const struct plan_view *v, const struct plan_piece *p, double y, double height, FILE *out)
{
	static const char *const style[] = {[PIECE_RUNNING] = "fill-opacity='0.95'",
					    [PIECE_GUARANTEED] = "fill-opacity='0.6' stroke-width='1.5'",
					    [PIECE_RESERVED] = "fill-opacity='0.35' stroke-dasharray='4 2'"};
	static const char *const words[] = {"running", "guaranteed", "planned"};
	double x = x_of(v, p->start), width = x_of(v, p->end) - x;
	struct strbuf text = {0};
	int hue = (int)((unsigned)p->number * 47u % 360u);
	char id[40];

	if (width < 1)
		width = 1;
	if (*p->job)
		strbuf_printf(&text, "%s %s (%s), ", p->job, p->name, p->owner);
	else
		strbuf_puts(&text, "another user's job, ");
	if (p->held)
		strbuf_printf(&text, "kept free, because the job holds the whole partition, %s", words[p->state]);
	else
		strbuf_printf(&text, "%" PRId64 " CPU%s, %s", p->cpus, p->cpus == 1 ? "" : "s", words[p->state]);
	fprintf(out, "<g><title>");
	struct strbuf quoted = {0};
	xml_quote(text.text, &quoted);
	fprintf(out,
		"%s</title><rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='hsl(%d,60%%,55%%)' stroke='hsl(%d,60%%,30%%)' %s/>",
		quoted.text, x, y, width, height, hue, hue, p->held ? "fill-opacity='0.2'" : style[p->state]);
	if (width > 40 && height >= 10)
		fprintf(out, "<text x='%.1f' y='%.1f'>%s</text>", x + 4, y + height / 2 + 4,
			id_short(p->job, id, sizeof id));
	fprintf(out, "</g>\n");
	strbuf_fini(&text);
	strbuf_fini(&quoted);
}

/* Gives the piece CPUs that are free at its start, and draws each run of adjacent ones. */
static void piece_draw(const struct plan_view *v, const struct plan_piece *p, int64_t *free_at, int64_t cpus, double y,
		       FILE *out)
{
	double height = cpu_height(cpus);
	int64_t left = p->cpus;

	for (int64_t i = 0; i < cpus && left > 0;) {
		if (free_at[i] > p->start) {
			i++;
			continue;
		}
		int64_t first = i;
		for (; i < cpus && left > 0 && free_at[i] <= p->start; i++, left--)
			free_at[i] = p->end;
		part_draw(v, p, y + (double)first * height, (double)(i - first) * height, out);
	}
}

/* Draws the reservations of a node, with their names. */
static void kept_draw(const struct plan_view *v, const struct plan_node *node, double y, FILE *out)
{
	const json_t *x;
	size_t i;

	json_array_foreach(node->kept, i, x)
	{
		int64_t start = object_number(x, "start", 0), end = object_number(x, "end", INT64_MAX);
		struct strbuf name = {0};
		start = start > v->now ? start : v->now;
		end = end < v->until ? end : v->until;
		if (start >= end)
			continue;
		xml_quote(object_text(x, "name"), &name);
		fprintf(out,
			"<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='#d9e4f6' stroke='#7a96c8'><title>reservation %s</title></rect>\n",
			x_of(v, start), y, x_of(v, end) - x_of(v, start), band_height(node), strbuf_text(&name));
		strbuf_fini(&name);
	}
}

static void node_draw(const struct plan_view *v, const struct plan_node *node, double y, FILE *out)
{
	int64_t *free_at = mem_zalloc((size_t)(node->cpus > 0 ? node->cpus : 1) * sizeof *free_at);
	struct strbuf name = {0};

	xml_quote(node->partition, &name);
	strbuf_puts(&name, *node->partition ? " " : "");
	xml_quote(node->name, &name);
	fprintf(out, "<rect x='%d' y='%.1f' width='%d' height='%.1f' fill='%s'/><text x='4' y='%.1f'>%s</text>\n", LEFT,
		y, WIDTH - LEFT - 10, band_height(node), node->up ? "#f2f2f2" : "#f6d5d5", y + 13, strbuf_text(&name));
	if (node->leaves < v->until)
		fprintf(out, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='#f6d5d5'/>\n",
			x_of(v, node->leaves), y, WIDTH - 10 - x_of(v, node->leaves), band_height(node));
	kept_draw(v, node, y, out);
	for (size_t i = node->first; i < node->first + node->n; i++)
		if (v->pieces.v[i].start < v->until)
			piece_draw(v, &v->pieces.v[i], free_at, node->cpus, y, out);
	strbuf_fini(&name);
	free(free_at);
}

static void axis_draw(const struct plan_view *v, double bottom, FILE *out)
{
	int64_t step = plan_ticks(v, 12);
	char text[40];

	fprintf(out, "<text x='%d' y='%d'>now, %s</text>\n", LEFT, 14, instant_ctime(v->now, text, sizeof text));
	for (int64_t t = plan_tick_after(v->now, step); t < v->until; t += step)
		fprintf(out,
			"<line x1='%.1f' y1='%d' x2='%.1f' y2='%.1f' stroke='#bbb'/><text x='%.1f' y='%d'>%s</text>\n",
			x_of(v, t), TOP - 4, x_of(v, t), bottom, x_of(v, t) + 2, TOP - 8,
			plan_tick_text(t, step, text, sizeof text));
}

void plan_svg(const struct plan_view *v, FILE *out)
{
	double height = TOP, y = TOP;

	for (size_t i = 0; i < v->nodes.n; i++)
		height += band_height(&v->nodes.v[i]) + GAP;
	fprintf(out,
		"<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%.0f' viewBox='0 0 %d %.0f' font-family='sans-serif' "
		"font-size='11'>\n<rect width='100%%' height='100%%' fill='white'/>\n",
		WIDTH, height + LEGEND, WIDTH, height + LEGEND);
	for (size_t i = 0; i < v->nodes.n; i++) {
		node_draw(v, &v->nodes.v[i], y, out);
		y += band_height(&v->nodes.v[i]) + GAP;
	}
	axis_draw(v, height, out);
	fprintf(out,
		"<text x='%d' y='%.0f'>solid: running; framed: start guaranteed; dashed: planned, may change</text>\n</svg>\n",
		LEFT, height + 20);
}
