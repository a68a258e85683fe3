/*
 * chart.c - draws charts with gnuplot.
 *
 * A complete script, including the data, is written to a temporary file that becomes gnuplot's
 * standard input: there is no shell, and no pipe that could break.
 */
#include "sim/chart.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/program.h"
#include "base/strbuf.h"
#include "base/timetext.h"
#include "sim/chart_data.h"

#define WIDTH 1000 /* pixels */
#define GANTT_PROCS 512
#define GANTTS 3
#define WAIT_POINTS 200

/* Okabe and Ito's colours, which most colour-blind people can distinguish, without yellow: thin
 * yellow lines are invisible. */
static const char *const colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"};
#define COLOURS ((int)(sizeof colours / sizeof *colours))

/* Writes text in gnuplot's single quotes, where only the quote is special. */
static void quote(FILE *f, const char *text)
{
	fputc('\'', f);
	for (; *text; text++) {
		if (*text == '\'')
			fputc('\'', f);
		fputc((unsigned char)*text < ' ' ? ' ' : *text, f);
	}
	fputc('\'', f);
}

static bool ends_in(const char *path, const char *ending)
{
	const char *dot = strrchr(path, '.');

	return dot && strcmp(dot, ending) == 0;
}

static int script_open(const char *path, FILE **ret, struct err *err)
{
	if (!ends_in(path, ".svg") && !ends_in(path, ".png"))
		return err_set(err, -EINVAL, "%s: a picture's name must end in .svg or .png", path);
	/* Without a writable file, gnuplot would continue and write to standard output. */
	FILE *f = fopen(path, "we");
	if (!f)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	fclose(f);
	f = tmpfile();
	if (!f)
		return err_set(err, -errno, "no temporary file for gnuplot: %s", strerror(errno));
	*ret = f;
	return 0;
}

static void script_begin(FILE *f, const char *path, int height)
{
	fprintf(f, "set terminal %s size %d,%d noenhanced background rgb 'white'\n",
		ends_in(path, ".svg") ? "svg font 'sans-serif,13'" : "pngcairo font 'Sans,10'", WIDTH, height);
	fprintf(f, "set output ");
	quote(f, path);
	fprintf(f, "\nset encoding utf8\n"
		   "set border 3 lc rgb '#555555'\n"
		   "set tics nomirror out scale 0.5 textcolor rgb '#333333'\n"
		   "set grid y lt 1 lw 0.5 lc rgb '#DDDDDD'\n");
}

static const char *last_line(char *text)
{
	size_t n = strlen(text);

	while (n > 0 && strchr(" \n", text[n - 1]))
		text[--n] = '\0';
	const char *last = strrchr(text, '\n');
	return last ? last + strspn(last, " \n") : text;
}

/* Runs the script and closes it. gnuplot's error messages go to `err`. */
static int script_run(FILE *script, const char *path, struct err *err)
{
	char *const argv[] = {"gnuplot", NULL};
	FILE *complaints = tmpfile();
	char said[400] = "";
	int status = 0;
	pid_t pid;

	if (!complaints || fflush(script) != 0) {
		fclose(script);
		if (complaints)
			fclose(complaints);
		return err_set(err, -EIO, "no temporary file for gnuplot: %s", strerror(errno));
	}
	lseek(fileno(script), 0, SEEK_SET);
	int rc = program_start("gnuplot", argv, NULL, (int[]){fileno(script), PROGRAM_NULL, fileno(complaints)}, 3, 0,
			       &pid);
	fclose(script);
	if (rc == 0)
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	rewind(complaints);
	said[fread(said, 1, sizeof said - 1, complaints)] = '\0';
	fclose(complaints);

	if (rc != 0)
		return err_set(err, rc, "%s: gnuplot can't be run (%s): install gnuplot-nox", path, strerror(-rc));
	if (status != 0)
		return err_set(err, -EIO, "%s: gnuplot failed: %s", path, last_line(said));
	return 0;
}

/* The time axis, from 0, in a unit that gives few digits. */
struct axis {
	struct span span;
	double unit; /* seconds */
	const char *name;
	struct span window;  /* window of the Gantt charts */
	double longest_wait; /* longest wait in the Gantt charts */
};

static struct axis axis_of(struct span span)
{
	double length = (double)(span.to - span.from);

	if (length > 4 * 86400)
		return (struct axis){span, 86400, "days", span, 0};
	if (length > 3 * 3600)
		return (struct axis){span, 3600, "hours", span, 0};
	return (struct axis){span, 60, "minutes", span, 0};
}

static double axis_at(const struct axis *a, int64_t t)
{
	return (double)(t - a->span.from) / a->unit;
}

/* Begins a panel from `top` to `bottom`, pixels from the chart's upper edge. */
static void panel_begin(FILE *f, int height, int top, int bottom, const char *title, const char *ylabel)
{
	fprintf(f, "unset key\nunset logscale\nunset colorbox\nset autoscale\nset xtics autofreq\nset ytics autofreq\n"
		   "set format '%%h'\nset lmargin at screen 0.085\nset rmargin at screen 0.97\n");
	fprintf(f, "set tmargin at screen %f\nset bmargin at screen %f\n", 1 - (double)top / height,
		1 - (double)bottom / height);
	fprintf(f, "set label 1 ");
	quote(f, title);
	fprintf(f, " at graph 0,1 offset character 0,1 left font ',13'\nset ylabel ");
	quote(f, ylabel);
	fprintf(f, " offset 0.3\n");
}

static void key_draw(FILE *f, int nruns)
{
	if (nruns > 1)
		fprintf(f, "set key at graph 1,1 right bottom horizontal maxrows 1 samplen 1.5\n");
}

static void lines_plot(FILE *f, const struct chart_run *runs, int nruns, const char *data, int column)
{
	for (int r = 0; r < nruns; r++) {
		fprintf(f, "%s$%s%d using 1:%d with lines lw 1.4 lc rgb '%s' title ", r ? ", " : "plot ", data, r,
			column, colours[r % COLOURS]);
		quote(f, runs[r].name);
	}
	fprintf(f, "\n");
}

static void series_write(FILE *f, int r, const struct chart_series *s, const struct axis *a)
{
	double slice = (double)(a->span.to - a->span.from) / CHART_SAMPLES;

	fprintf(f, "$series%d << END\n", r);
	for (int i = 0; i < CHART_SAMPLES; i++)
		fprintf(f, "%.5g %.4g %.5g\n", (i + 0.5) * slice / a->unit, 100 * s->use[i], s->queue[i]);
	fprintf(f, "END\n");
}

static void time_range(FILE *f, const struct axis *a, bool labelled)
{
	fprintf(f, "set xrange [0:%g]\n", axis_at(a, a->span.to));
	if (labelled)
		fprintf(f, "set xlabel '%s' offset 0,0.5\n", a->name);
	else
		fprintf(f, "unset xlabel\nset format x ''\n");
}

/* Writes the waits; those below one second are drawn at one second, as the label says. */
static void waits_write(FILE *f, int r, const struct chart_run *run)
{
	double *wait;
	int64_t n = chart_waits(run, &wait);

	/* without any point gnuplot draws no picture */
	fprintf(f, "$waits%d << END\n%s", r, n ? "" : "1 0\n");
	for (int i = 0; n > 0 && i <= WAIT_POINTS; i++) {
		int64_t k = (n - 1) * i / WAIT_POINTS;
		fprintf(f, "%.6g %.5g\n", fmax(wait[k], 1), 100.0 * (double)(k + 1) / (double)n);
	}
	fprintf(f, "END\n");
	free(wait);
}

static void waits_draw(FILE *f, int height, int top, const struct chart_run *runs, int nruns)
{
	panel_begin(f, height, top, top + 230, "Jobs that started within ...", "% of jobs");
	fprintf(f, "set logscale x\nset xrange [1:*]\nset yrange [0:100]\nset xlabel 'wait' offset 0,0.5\n"
		   "set xtics ('0-1 s' 1, '10 s' 10, '1 min' 60, '10 min' 600, '1 h' 3600, '10 h' 36000, '1 d' 86400, "
		   "'1 week' 604800, '1 month' 2592000, '1 year' 31536000)\nset grid x\n");
	for (int r = 0; r < nruns; r++)
		waits_write(f, r, &runs[r]);
	lines_plot(f, runs, nruns, "waits", 2);
	fprintf(f, "unset grid\nset grid y lt 1 lw 0.5 lc rgb '#DDDDDD'\n");
}

/* Writes the boxes of the jobs with a deadline, or of those without; returns how many. They are
 * drawn slightly too small: white lines between them cost nothing, while edges would double the
 * file. */
static int boxes_write(FILE *f, const char *name, const chart_boxes *boxes, const struct axis *a, int64_t procs,
		       bool due)
{
	double dx = axis_at(a, a->window.to) - axis_at(a, a->window.from), dy = (double)procs;
	int n = 0;

	fprintf(f, "$%s << END\n", name);
	for (size_t i = 0; i < boxes->n; i++) {
		const struct chart_box *b = &boxes->v[i];
		const struct simulated *o = b->job;
		if ((o->deadline != TIME_NEVER) != due)
			continue;
		double x0 = axis_at(a, o->start > a->window.from ? o->start : a->window.from);
		double x1 = axis_at(a, o->end < a->window.to ? o->end : a->window.to);
		double y0 = (double)b->first, y1 = (double)b->last + 1;
		double gapx = fmin(0.0006 * dx, 0.2 * (x1 - x0)), gapy = fmin(0.002 * dy, 0.2 * (y1 - y0));
		fprintf(f, "%.6g %.6g %.6g %.6g %.4g\n", x0 + gapx, x1 - gapx, y0 + gapy, y1 - gapy,
			fmax((double)(o->start - o->submit) / 60, 1));
		n++;
	}
	fprintf(f, "END\n");
	return n;
}

/* Colours jobs by their wait, from light to dark. Jobs with a deadline have an orange edge,
 * which a label explains. */
static void gantt_draw(FILE *f, int height, int top, const struct chart_run *run, const struct axis *a)
{
	static const char plot[] = ", $%s using 1:3:1:2:3:4:5 with boxxyerror fs solid 1 %s lw 1.2 lc palette notitle";
	chart_boxes boxes = {0};
	struct strbuf title = {0};

	strbuf_printf(&title, "%s: who ran when in the busiest time, the darker the longer it waited", run->name);
	panel_begin(f, height, top, top + 190, strbuf_text(&title), "processors");
	fprintf(f, "set rmargin at screen 0.89\nset xrange [%g:%g]\nset yrange [0:%lld]\n", axis_at(a, a->window.from),
		axis_at(a, a->window.to), (long long)run->procs);
	fprintf(f, "set xlabel '%s' offset 0,0.5\n", a->name);
	fprintf(f,
		"set palette defined (0 '#FBE6A8', 0.35 '#9CC9D8', 0.7 '#3C7FB0', 1 '#12305C')\nset logscale cb\n"
		"set cbrange [1:%g]\nset colorbox user origin graph 1.03,0 size graph 0.02,1\n"
		"set cbtics ('≤1 min' 1, '10 min' 10, '1 h' 60, '10 h' 600, '4 d' 5760, '1 month' 43200)\n",
		fmax(a->longest_wait / 60, 60));
	chart_gantt(&boxes, run, a->window);
	int common = boxes_write(f, "common", &boxes, a, run->procs, false);
	int due = boxes_write(f, "due", &boxes, a, run->procs, true);
	if (due)
		fprintf(f,
			"set label 2 'orange edge: with a deadline' at graph 1,0 offset character 0,-2.2 right font ',10' "
			"textcolor rgb '#333333'\n");
	fprintf(f, "plot 0 lw 0 notitle");
	if (common)
		fprintf(f, plot, "common", "noborder");
	if (due)
		fprintf(f, plot, "due", "border lc rgb '#D55E00'");
	fprintf(f, "\nunset label 2\n");
	vec_free(&boxes);
	strbuf_fini(&title);
}

static double longest_wait(const struct chart_run *runs, int nruns, struct span window)
{
	double longest = 0;

	for (int r = 0; r < nruns; r++)
		for (int64_t i = 0; i < runs[r].n; i++) {
			const struct simulated *o = &runs[r].o[i];
			if (o->start >= 0 && o->start < window.to && o->end > window.from)
				longest = fmax(longest, (double)(o->start - o->submit));
		}
	return longest;
}

void chart_run_script(FILE *f, const char *path, const char *title, const struct chart_run *runs, int nruns)
{
	int gantts = nruns < GANTTS ? nruns : GANTTS, height = 50 + 2 * 210 + 300;
	struct axis all = axis_of(chart_span(runs, nruns));
	struct chart_series s;

	for (int r = 0; r < nruns; r++)
		if (runs[r].procs > GANTT_PROCS)
			gantts = 0;
	height += gantts * 260;
	script_begin(f, path, height);
	for (int r = nruns - 1; r >= 0; r--) {
		chart_series_compute(&s, &runs[r], all.span);
		series_write(f, r, &s, &all);
		if (r == 0)
			all.window = chart_window(&runs[r], &s, all.span);
	}

	fprintf(f, "set multiplot\nset label 2 ");
	quote(f, title);
	fprintf(f, " at screen 0.5,%f center font ',15'\n", 1 - 18.0 / height);
	int top = 65;
	panel_begin(f, height, top, top + 150, "Processors in use", "%");
	fprintf(f, "set yrange [0:100]\n");
	time_range(f, &all, false);
	key_draw(f, nruns);
	lines_plot(f, runs, nruns, "series", 2);
	fprintf(f, "unset label 2\n");

	top += 190;
	panel_begin(f, height, top, top + 150, "Jobs waiting", "jobs");
	fprintf(f, "set yrange [0:*]\n");
	time_range(f, &all, true);
	lines_plot(f, runs, nruns, "series", 3);
	top += 230;
	all.longest_wait = longest_wait(runs, gantts, all.window);
	for (int r = 0; r < gantts; r++, top += 260)
		gantt_draw(f, height, top, &runs[r], &all);
	waits_draw(f, height, top, runs, nruns);
	fprintf(f, "unset multiplot\n");
}

int chart_run_draw(const char *path, const char *title, const struct chart_run *runs, int nruns, struct err *err)
{
	FILE *f;
	int rc = script_open(path, &f, err);

	if (rc < 0)
		return rc;
	chart_run_script(f, path, title, runs, nruns);
	return script_run(f, path, err);
}

/* Writes the colour of a series; the later ones of a row of shades are paler. */
static void series_colour(FILE *f, const struct chart_bars *b, int i)
{
	int shades = b->shades ? b->shades : 1;
	unsigned long c = strtoul(colours[i / shades % COLOURS] + 1, NULL, 16), paler = (unsigned long)(i % shades);

	for (int bit = 16; bit >= 0; bit -= 8) {
		unsigned long part = c >> bit & 255;
		fprintf(f, "%s%02lx", bit == 16 ? "#" : "", part + (255 - part) * paler / (unsigned long)shades);
	}
}

/* Sets tics at powers of two from the lowest to the highest ratio. */
static void ratio_tics(FILE *f, const struct chart_bars *b)
{
	int low = -1, high = 1;

	for (int i = 0; i < b->ngroups * b->nseries; i++) {
		low = log2(b->value[i]) < low ? (int)floor(log2(b->value[i])) : low;
		high = log2(b->value[i]) > high ? (int)ceil(log2(b->value[i])) : high;
	}
	fprintf(f, "set yrange [%d:%d]\nset xzeroaxis lt 1 lc rgb '#555555'\nset ytics (", low, high);
	for (int i = low; i <= high; i++)
		fprintf(f, "%s'%g' %d", i > low ? ", " : "", i < -2 ? round(1000 * exp2(i)) / 1000 : exp2(i), i);
	fprintf(f, ")\n");
}

void chart_bars_script(FILE *f, const char *path, const struct chart_bars *b)
{
	script_begin(f, path, 480);
	fprintf(f, "$bars << END\n");
	for (int g = 0; g < b->ngroups; g++) {
		fprintf(f, "\"%s\"", b->group[g]);
		for (int i = g * b->nseries; i < (g + 1) * b->nseries; i++)
			fprintf(f, " %.6g %.6g", b->ratios ? log2(b->value[i]) : b->value[i],
				b->deviation ? b->deviation[i] : 0);
		fprintf(f, "\n");
	}
	fprintf(f, "END\nset title ");
	quote(f, b->title);
	fprintf(f, " font ',15'\nset ylabel ");
	quote(f, b->ylabel);
	fprintf(f,
		"\nset style data histogram\nset style histogram %s\nset style fill solid 0.9 border rgb '#333333'\n"
		"set boxwidth 0.9 relative\nset yrange [0:*]\nset bars 0.6\n"
		"set key bmargin center horizontal samplen 1.5\nset xrange [-0.6:%g]\n",
		b->deviation ? "errorbars gap 1 lw 1.2" : "clustered gap 1", b->ngroups - 0.4);
	if (b->ratios)
		ratio_tics(f, b);
	for (int i = 0; i < b->nseries; i++) {
		fprintf(f, "%s$bars using %d:", i ? ", " : "plot ", 2 * i + 2);
		if (b->deviation)
			fprintf(f, "%d:", 2 * i + 3);
		fprintf(f, "xtic(1) lc rgb '");
		series_colour(f, b, i);
		fprintf(f, "' title ");
		quote(f, b->series[i]);
	}
	fprintf(f, "\n");
}

int chart_bars_draw(const char *path, const struct chart_bars *b, struct err *err)
{
	FILE *f;
	int rc = script_open(path, &f, err);

	if (rc < 0)
		return rc;
	chart_bars_script(f, path, b);
	return script_run(f, path, err);
}
