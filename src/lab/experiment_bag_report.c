/*
 * experiment_bag_report.c - results of the bag experiment as tables, JSON and charts.
 *
 * A *scenario* is a type of bag and a number of requests. Its speed-up is the base's mean time over
 * the heuristic's, as in the source, where the base is static. The 95% interval of a mean over
 * scenarios comes from a jackknife that leaves out a twentieth of the repetitions at a time, since
 * all bags of a repetition meet the same queue. The interval of a single scenario comes from its
 * pairs of times.
 */
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/table.h"
#include "lab/experiment_bag.h"
#include "lab/experiment_internal.h"

#define WIDTH 130
#define GROUPS 20 /* maximum groups of the jackknife */
#define SURE 5	  /* fewest bags for calling one heuristic surely slower */
#define KNOWN 10  /* fewest bags for calling a scenario's mean times known */

/* Sums over the bags that both the base and another heuristic ran. */
struct pairs {
	int64_t n;
	double base, time;	   /* sums of seconds: the base's, the heuristic's */
	double base2, time2, both; /* sums of squares and of products */
	double ratios;		   /* sum of base / time */
	double waste_base, waste;
};

static void pairs_add(struct pairs *p, double base, double time)
{
	p->n++;
	p->base += base;
	p->time += time;
	p->base2 += base * base;
	p->time2 += time * time;
	p->both += base * time;
	p->ratios += base / time;
}

/* Sums the bags of a scenario, leaving out the repetitions of group `without` (-1: none). */
static struct pairs pairs_of(const struct bag_results *r, int site, int type, int pending, int h, int without)
{
	struct pairs p = {0};

	for (int i = 0; i < r->repetitions; i++) {
		const struct bag_cell *c = bag_cell_at(r, site, i, type, pending);
		double s = c->seconds[r->base], x = c->seconds[h];

		if (!c->run || s <= 0 || x <= 0 || i % GROUPS == without)
			continue;
		pairs_add(&p, s, x);
		p.waste_base += c->wasted[r->base];
		p.waste += c->wasted[h];
	}
	return p;
}

/* Sums a type of bag over all numbers of requests: one pair per repetition, with the times added
 * up. */
static struct pairs type_pairs(const struct bag_results *r, int site, int type, int h)
{
	struct pairs p = {0};

	for (int i = 0; i < r->repetitions; i++) {
		double base = 0, time = 0;
		for (int k = 0; k < BAG_PENDING; k++) {
			const struct bag_cell *c = bag_cell_at(r, site, i, type, k);
			if (c->run && c->seconds[r->base] > 0 && c->seconds[h] > 0) {
				base += c->seconds[r->base];
				time += c->seconds[h];
			}
		}
		if (time > 0)
			pairs_add(&p, base, time);
	}
	return p;
}

/* Returns the speed-up of a scenario, and half of its interval. */
static double speedup(const struct pairs *p, double *ret_half)
{
	double ratio = p->base / p->time, n = (double)p->n;
	double squares = p->base2 - 2 * ratio * p->both + ratio * ratio * p->time2;

	*ret_half = p->n > 1 ? student(n - 1) * sqrt(fmax(0, squares) / (n - 1) * n) / p->time : 0;
	return ratio;
}

/* Returns half of the interval of the mean time, as a share of the mean. */
static double spread_of(const struct pairs *p)
{
	double n = (double)p->n, mean = p->time / n;

	return p->n > 1 ? student(n - 1) * sqrt(fmax(0, p->time2 - p->time * mean) / (n - 1) / n) / mean : 0;
}

bool bag_is_known(const struct bag_results *r, int site, int type, int pending, double share)
{
	bool known = true;

	for (int h = 0; h < ADAPTER_HEURISTICS && known; h++) {
		struct pairs p = pairs_of(r, site, type, pending, h, -1);
		if (r->heuristic[h] && (p.n || h == (int)r->base))
			known = p.n >= KNOWN && spread_of(&p) <= share;
	}
	return known;
}

enum number {
	MEAN_SPEEDUP, /* mean over scenarios of the base's mean time over the heuristic's */
	/* mean over scenarios of the mean ratio of the base's time to the heuristic's in the same
	 * bag */
	MEAN_RATIO,
	/* sum of the base's mean times over the sum of the heuristic's, each scenario with equal
	 * weight */
	SUM_RATIO,
	SMALL,	    /* MEAN_SPEEDUP of small bags only */
	FEW_LONG,   /* MEAN_SPEEDUP of bags with few long tasks only */
	WASTE,	    /* the heuristic's waste over the base's, each scenario with equal weight */
	WASTE_MEAN, /* mean over scenarios of the heuristic's waste over the base's */
	NUMBERS
};
static const char *const number_names[NUMBERS] = {"mean_speedup", "mean_ratio", "sum_ratio", "small",
						  "few_long",	  "waste",	"waste_mean"};

static bool is_few_long(int type)
{
	struct bag_type t = bag_type_of(type);

	return t.tasks <= 1000 && t.mean == 10000;
}

static void numbers_of(const struct bag_results *r, int site, int h, int without, double ret[NUMBERS])
{
	double base = 0, time = 0, waste_base = 0, waste = 0;
	int n[NUMBERS] = {0};

	for (int k = 0; k < NUMBERS; k++)
		ret[k] = 0;
	for (int i = 0; i < BAG_TYPES * BAG_PENDING; i++) {
		int type = i / BAG_PENDING;
		struct pairs p = pairs_of(r, site, type, i % BAG_PENDING, h, without);
		double add[NUMBERS], m = (double)p.n;

		if (!p.n)
			continue;
		add[MEAN_SPEEDUP] = add[SMALL] = add[FEW_LONG] = p.base / p.time;
		add[MEAN_RATIO] = p.ratios / m;
		add[WASTE_MEAN] = p.waste_base > 0 ? p.waste / p.waste_base : 1;
		add[SUM_RATIO] = add[WASTE] = 0;
		for (int k = 0; k < NUMBERS; k++)
			if ((k != SMALL || bag_type_small(type)) && (k != FEW_LONG || is_few_long(type))) {
				ret[k] += add[k];
				n[k]++;
			}
		base += p.base / m;
		time += p.time / m;
		waste_base += p.waste_base / m;
		waste += p.waste / m;
	}
	for (int k = 0; k < NUMBERS; k++)
		ret[k] /= n[k] ? n[k] : 1;
	ret[SUM_RATIO] = time > 0 ? base / time : 0;
	ret[WASTE] = waste_base > 0 ? waste / waste_base : 0;
}

/* Returns half of the interval of MEAN_SPEEDUP. */
static double mean_half(const struct bag_results *r, int site, int h)
{
	int n = r->repetitions < GROUPS ? r->repetitions : GROUPS;
	double x[GROUPS], mean = 0, squares = 0, f = n - 1;

	for (int g = 0; g < n; g++) {
		double v[NUMBERS];
		numbers_of(r, site, h, g, v);
		x[g] = v[MEAN_SPEEDUP];
		mean += x[g] / n;
	}
	for (int g = 0; g < n; g++)
		squares += (x[g] - mean) * (x[g] - mean);
	return student(f) * sqrt(squares * f / n);
}

/* Number of scenarios, and those in which the heuristic is slower than the base, is surely slower,
 * wastes more, or has a wide interval. */
struct counts {
	int scenarios, slower, surely, wasteful, wide;
	int types; /* types that are surely slower, over all numbers of requests together */
	double worst;
};

static bool is_slower(const struct pairs *p)
{
	double half, ratio = speedup(p, &half);

	return p->n >= SURE && ratio + half < 1;
}

static struct counts counts_of(const struct bag_results *r, int site, int h)
{
	struct counts c = {.worst = INFINITY};

	for (int i = 0; i < BAG_TYPES * BAG_PENDING; i++) {
		struct pairs p = pairs_of(r, site, i / BAG_PENDING, i % BAG_PENDING, h, -1);
		double half, ratio;

		if (!p.n)
			continue;
		ratio = speedup(&p, &half);
		c.scenarios++;
		c.slower += ratio < 1;
		c.surely += is_slower(&p);
		c.wasteful += p.waste > p.waste_base;
		c.wide += p.n < SURE || spread_of(&p) > 0.05;
		c.worst = fmin(c.worst, ratio);
	}
	for (int type = 0; type < BAG_TYPES; type++) {
		struct pairs p = type_pairs(r, site, type, h);
		c.types += is_slower(&p);
	}
	return c;
}

static void number_cell(struct table *t, bool shown, int digits, double x)
{
	if (shown)
		table_cell(t, "%.*f", digits, x);
	else
		table_cell(t, "%s", "");
}

/* Returns the source's speed-up of a heuristic over static; 0: it has none. */
static double published(int site, int h)
{
	bool mixed = h == ADAPTER_MIXED || h == ADAPTER_MIXED_MAX;

	return mixed || h == ADAPTER_ADAPTIVE ? bag_sites[site].source[mixed] : 0;
}

static void site_rows(const struct bag_results *r, int site, struct table *t)
{
	for (int h = 0; h < ADAPTER_HEURISTICS; h++) {
		struct counts c = counts_of(r, site, h);
		/* `initial` runs small bags only, so its means are not comparable */
		bool all = h != ADAPTER_INITIAL;
		double v[NUMBERS];

		if (!c.scenarios || h == (int)r->base)
			continue;
		numbers_of(r, site, h, -1, v);
		table_cell(t, "%s", bag_sites[site].name);
		table_cell(t, "%s", adapter_name((enum adapter_heuristic)h));
		number_cell(t, all, 2, v[MEAN_SPEEDUP]);
		number_cell(t, all, 2, mean_half(r, site, h));
		number_cell(t, published(site, h) > 0, 2, published(site, h));
		number_cell(t, all, 2, v[MEAN_RATIO]);
		number_cell(t, all, 3, v[SUM_RATIO]);
		number_cell(t, true, 2, v[SMALL]);
		number_cell(t, all, 2, v[FEW_LONG]);
		table_cell(t, "%d/%d", c.slower, c.scenarios);
		table_cell(t, "%d", c.surely);
		table_cell(t, "%d", c.types);
		table_cell(t, "%.2f", c.worst);
		number_cell(t, all, 2, v[WASTE]);
		number_cell(t, all, 2, v[WASTE_MEAN]);
		table_cell(t, "%d", c.wasteful);
		table_cell(t, "%d", c.wide);
	}
}

static void types_print(const struct bag_results *r, int site, FILE *out)
{
	static const char *const columns[] = {">tasks",	   ">mean, s", ">spread", ">requests", ">bags", ">base, s",
					      "heuristic", ">time, s", ">±%",	  ">speed-up", ">±",	">waste"};
	struct table *t = table_create(columns, 12);

	fprintf(out, "\n%s\n\n", bag_sites[site].name);
	for (int i = 0; i < BAG_TYPES * BAG_PENDING; i++) {
		struct bag_type type = bag_type_of(i / BAG_PENDING);
		for (int h = 0; h < ADAPTER_HEURISTICS; h++) {
			struct pairs p = pairs_of(r, site, i / BAG_PENDING, i % BAG_PENDING, h, -1);
			double half, ratio;

			if (!p.n || h == (int)r->base)
				continue;
			ratio = speedup(&p, &half);
			table_cell(t, "%lld", (long long)type.tasks);
			table_cell(t, "%lld", (long long)type.mean);
			table_cell(t, "%d", type.spread);
			table_cell(t, "%d", i % BAG_PENDING + 1);
			table_cell(t, "%lld", (long long)p.n);
			table_cell(t, "%.0f", p.base / (double)p.n);
			table_cell(t, "%s", adapter_name((enum adapter_heuristic)h));
			table_cell(t, "%.0f", p.time / (double)p.n);
			table_cell(t, "%.1f", 100 * spread_of(&p));
			table_cell(t, "%.3f", ratio);
			table_cell(t, "%.3f", half);
			table_cell(t, "%.2f", p.waste_base > 0 ? p.waste / p.waste_base : 1);
		}
	}
	table_print(t, out, WIDTH);
	table_destroy(t);
}

void bag_report(const struct bag_results *r, bool types, FILE *out)
{
	static const char *const columns[] = {"trace",	  "heuristic", ">speed-up", ">±",      ">source", ">of ratios",
					      ">of sums", ">small",    ">few long", ">slower", ">surely", ">types",
					      ">worst",	  ">waste",    ">of types", ">more",   ">wide"};
	struct table *t = table_create(columns, 17);

	for (int site = 0; site < BAG_SITES; site++) {
		if (!r->cell[site])
			continue;
		table_rule(t);
		site_rows(r, site, t);
	}
	table_print(t, out, WIDTH + 30);
	table_destroy(t);
	fprintf(out,
		"\nspeed-up: the mean time of %s over the heuristic's, mean over types of bags and numbers of requests; ±: half of its 95%% interval; source: published; of ratios: the same of the\n"
		"ratios of single bags; of sums: of all times together; small: up to 1,000 tasks of up to 1,000 s; few long: up to 1,000 tasks of 10,000 s; slower: scenarios with a speed-up\n"
		"below 1; surely: with their whole interval below; types: types of bags whose interval is below 1 with all numbers of requests together; waste: processor time allocated and not\n"
		"used, over that of %s, all together and mean of types; more: scenarios that waste more than it; wide: scenarios whose mean time is known to 5%% or worse; initial runs small\n"
		"bags only\n",
		adapter_name(r->base), adapter_name(r->base));
	for (int site = 0; site < BAG_SITES; site++)
		if (r->cell[site])
			fprintf(out, "%s: %lld processors, offered load %.0f%%\n", bag_sites[site].name,
				(long long)bag_sites[site].procs, 100 * r->load[site]);
	if (r->missing)
		fprintf(out, "%lld bags are not simulated yet.\n", (long long)r->missing);
	for (int site = 0; site < BAG_SITES && types; site++)
		if (r->cell[site])
			types_print(r, site, out);
}

void bag_report_json(const struct bag_results *r, FILE *out)
{
	struct strbuf text = {0};
	struct json j;

	json_init(&j, &text, true);
	json_open_array(&j, NULL);
	for (int i = 0; i < BAG_SITES * ADAPTER_HEURISTICS; i++) {
		int site = i / ADAPTER_HEURISTICS, h = i % ADAPTER_HEURISTICS;
		double v[NUMBERS];

		if (!r->cell[site] || h == (int)r->base || !counts_of(r, site, h).scenarios)
			continue;

		struct counts c = counts_of(r, site, h);

		numbers_of(r, site, h, -1, v);
		json_open_object(&j, NULL);
		json_text(&j, "trace", bag_sites[site].name);
		json_double(&j, "load", r->load[site]);
		json_text(&j, "heuristic", adapter_name((enum adapter_heuristic)h));
		for (int k = 0; k < NUMBERS; k++)
			json_double(&j, number_names[k], v[k]);
		json_double(&j, "mean_speedup_half", mean_half(r, site, h));
		json_int(&j, "scenarios", c.scenarios);
		json_int(&j, "slower", c.slower);
		json_int(&j, "surely_slower", c.surely);
		json_int(&j, "types_surely_slower", c.types);
		json_double(&j, "worst", c.worst);
		json_int(&j, "waste_more", c.wasteful);
		json_close_object(&j);
	}
	json_close_array(&j);
	fprintf(out, "%s\n", strbuf_text(&text));
	strbuf_fini(&text);
}

/* ---- charts: as in the source, a group per number of requests and a bar per kind of bag;
 * logarithmic, as gains range from 1 to 100 ---- */

static int site_chart(const struct bag_results *r, int site, int h, bool waste, const char *dir, struct err *err)
{
	enum { KINDS = BAG_SIZES * BAG_MEANS };
	static const char *const requests[BAG_PENDING] = {"1", "2", "3", "4", "5", "6"};
	char names[KINDS][48], name[64], title[160];
	const char *series[KINDS], *group[BAG_PENDING];
	double value[BAG_PENDING * KINDS];
	int groups = 0;

	for (int k = 0; k < KINDS; k++) {
		struct bag_type t = bag_type_of(k * BAG_SPREADS);
		snprintf(names[k], sizeof names[k], "%lld x %lld s", (long long)t.tasks, (long long)t.mean);
		series[k] = names[k];
	}
	for (int p = 0; p < BAG_PENDING; p++) {
		double any = 0;
		for (int k = 0; k < KINDS; k++) {
			double base = 0, x = 0;
			for (int s = 0; s < BAG_SPREADS; s++) {
				struct pairs a = pairs_of(r, site, k * BAG_SPREADS + s, p, h, -1);
				base += waste ? a.waste_base : a.base;
				x += waste ? a.waste : a.time;
			}
			value[groups * KINDS + k] = base > 0 && x > 0 ? base / x : 1;
			any += x;
		}
		group[groups] = requests[p];
		groups += any > 0;
	}
	if (!groups)
		return 0;
	snprintf(name, sizeof name, "bag-%s-%s%s", bag_sites[site].name, adapter_name((enum adapter_heuristic)h),
		 waste ? "-waste" : "");
	snprintf(title, sizeof title, "%s: %s, %s over %s, by requests at a time", bag_sites[site].name,
		 waste ? "wasted processor time" : "time of a bag", adapter_name(r->base),
		 adapter_name((enum adapter_heuristic)h));
	return charts_draw(dir, name,
			   &(struct chart_bars){.title = title,
						.ylabel = "ratio",
						.group = group,
						.series = series,
						.ngroups = groups,
						.nseries = KINDS,
						.value = value,
						.ratios = true,
						.shades = BAG_MEANS},
			   err);
}

/* Returns true if the summary shows a heuristic; `initial` runs small bags only. */
static bool is_drawn(const struct bag_results *r, int h)
{
	return r->heuristic[h] && h != (int)r->base && h != ADAPTER_INITIAL;
}

static int summary_chart(const struct bag_results *r, const char *dir, struct err *err)
{
	const char *group[BAG_SITES], *series[ADAPTER_HEURISTICS];
	double value[BAG_SITES * ADAPTER_HEURISTICS], half[BAG_SITES * ADAPTER_HEURISTICS];
	int groups = 0, n = 0;

	for (int h = 0; h < ADAPTER_HEURISTICS; h++)
		if (is_drawn(r, h))
			series[n++] = adapter_name((enum adapter_heuristic)h);
	for (int site = 0; site < BAG_SITES && n; site++) {
		int k = 0;
		if (!r->cell[site])
			continue;
		group[groups] = bag_sites[site].name;
		for (int h = 0; h < ADAPTER_HEURISTICS; h++) {
			double v[NUMBERS];
			if (!is_drawn(r, h))
				continue;
			numbers_of(r, site, h, -1, v);
			value[groups * n + k] = v[MEAN_SPEEDUP];
			half[groups * n + k++] = mean_half(r, site, h);
		}
		groups++;
	}
	if (!n)
		return 0;
	return charts_draw(
		dir, "bag",
		&(struct chart_bars){.title = "Time of a bag, the base over each heuristic, mean over types of bags",
				     .ylabel = "speed-up",
				     .group = group,
				     .series = series,
				     .ngroups = groups,
				     .nseries = n,
				     .value = value,
				     .deviation = half},
		err);
}

int bag_charts(const struct bag_results *r, const char *dir, struct err *err)
{
	int rc = summary_chart(r, dir, err);

	for (int site = 0; site < BAG_SITES; site++)
		for (int h = 0; h < ADAPTER_HEURISTICS && r->cell[site]; h++)
			for (int waste = 0; waste < 2 && rc == 0 && r->heuristic[h] && h != (int)r->base; waste++)
				rc = site_chart(r, site, h, waste, dir, err);
	return rc;
}
