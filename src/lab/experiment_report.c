/*
 * experiment_report.c - the push experiments as tables, JSON and charts, and the check of their
 * claims.
 *
 * A gain is a ratio of two policies' means on the same workload. Gains are averaged over the seeds
 * by the geometric mean, so that a / b and b / a agree, and shown with the 95% interval of that
 * mean.
 */
#include <math.h>
#include <stdarg.h>

#include "base/table.h"
#include "base/vec.h"
#include "lab/experiment_internal.h"

#define WIDTH 100
#define NOISE 3.0 /* standard errors; a smaller deterioration counts as noise */

struct estimate {
	double value;
	double error; /* standard error */
	double half;  /* half of the 95% interval */
};

static struct estimate estimate_of(const double *v, int n)
{
	struct estimate e = {0};
	double squares = 0;

	for (int i = 0; i < n; i++)
		e.value += v[i] / n;
	for (int i = 0; i < n; i++)
		squares += (v[i] - e.value) * (v[i] - e.value);
	e.error = sqrt(squares / (n - 1) / n);
	e.half = student(n - 1) * e.error;
	return e;
}

static struct estimate mean_of(const struct push_results *r, const struct cell *c, enum measure m)
{
	VEC(double) v = {0};

	for (int i = 0; i < r->seeds; i++)
		vec_push(&v, c[i].v[m]);
	struct estimate e = estimate_of(v.v, r->seeds);
	vec_free(&v);
	return e;
}

static double sum_of(const struct push_results *r, const struct cell *c, enum measure m)
{
	return mean_of(r, c, m).value * r->seeds;
}

/* Returns how many times better b is than a. Values below one second count as one second. */
static struct estimate gain_of(const struct push_results *r, const struct cell *a, const struct cell *b, enum measure m)
{
	VEC(double) v = {0};

	for (int i = 0; i < r->seeds; i++)
		vec_push(&v, log(fmax(a[i].v[m], 1) / fmax(b[i].v[m], 1)));
	struct estimate e = estimate_of(v.v, r->seeds);
	vec_free(&v);
	e.value = exp(e.value);
	e.error *= e.value;
	e.half *= e.value;
	return e;
}

/* Prints "1.43±.04", with as many decimals as fit and make sense. */
static void gain_cell(struct table *t, struct estimate e, int decimals)
{
	char half[32];

	if (e.half >= 0.995 && decimals > 1)
		decimals = 1;
	else if (e.half >= 0.0995 && decimals > 2)
		decimals = 2;
	snprintf(half, sizeof half, "%.*f", decimals, e.half);
	table_cell(t, "%.*f±%s", decimals, e.value, half[0] == '0' ? half + 1 : half);
}

static void gains_print(const struct push_results *r, int model, FILE *out)
{
	static const char *const columns[] = {"experiment", ">source", ">",	   ">oscar /", ">torque",
					      ">light /",   ">oscar",  ">shunt /", ">oscar"};
	struct table *t = table_create(columns, 9);

	fprintf(out, "\nModel %c: how many times shorter turnaround and response become under the first of two\n\n",
		model_letters[model]);
	table_cell(t, "%s", "");
	for (int i = 0; i < 4; i++) {
		table_cell(t, "turn");
		table_cell(t, "resp");
	}
	table_rule(t);
	for (int e = 0; e < EXPERIMENTS; e++) {
		const struct push_experiment *x = &push_experiments[e];
		const struct cell *c[V_MAIN];
		for (int v = 0; v < V_MAIN; v++)
			c[v] = push_cells(r, model, e, (enum variant)v);
		table_cell(t, "%s", x->name);
		table_cell(t, "%.2f", x->turnaround);
		table_cell(t, "%.2f", x->response);
		static const enum variant pairs[][2] = {{V_TORQUE, V_OSCAR}, {V_OSCAR, V_LIGHT}, {V_OSCAR, V_DEFAULT}};
		for (int k = 0; k < 3; k++)
			for (int m = M_TURNAROUND; m <= M_RESPONSE; m++)
				gain_cell(t, gain_of(r, c[pairs[k][0]], c[pairs[k][1]], (enum measure)m), 2);
	}
	table_print(t, out, WIDTH);
	table_destroy(t);
}

static void waits_print(const struct push_results *r, int model, FILE *out)
{
	static const char *const columns[] = {"experiment", ">mean response", ">", ">", ">", ">longest wait", ">", ">",
					      ">"};
	static const char *const names[] = {"torque", "oscar", "light", "shunt"};
	struct table *t = table_create(columns, 9);

	fprintf(out, "\nModel %c: seconds, means over the seeds\n\n", model_letters[model]);
	table_cell(t, "%s", "");
	for (int i = 0; i < 8; i++)
		table_cell(t, "%s", names[i % 4]);
	table_rule(t);
	for (int e = 0; e < EXPERIMENTS; e++) {
		table_cell(t, "%s", push_experiments[e].name);
		for (int v = 0; v < V_MAIN; v++)
			table_cell(t, "%.0f", mean_of(r, push_cells(r, model, e, (enum variant)v), M_RESPONSE).value);
		for (int v = 0; v < V_MAIN; v++)
			table_cell(t, "%.0f", mean_of(r, push_cells(r, model, e, (enum variant)v), M_WAIT_MAX).value);
	}
	table_print(t, out, WIDTH);
	table_destroy(t);
}

static void deadlines_print(const struct push_results *r, FILE *out)
{
	static const char *const columns[] = {"deadlines", "policy",	 ">source",   ">of",	 ">met",
					      ">feasible", ">never ran", ">promised", ">broken", ">by power"};
	struct table *t = table_create(columns, 10);

	fprintf(out, "\nDeadlines, means over the seeds; what was feasible is an upper bound by the oracle\n\n");
	table_rule(t);
	for (int m = 0; m < MODELS; m++)
		for (int e = 0; e < EXPERIMENTS; e++)
			for (int v = 0; v < V_MAIN; v++) {
				const struct push_experiment *x = &push_experiments[e];
				const struct cell *c = push_cells(r, m, e, (enum variant)v);
				if (!x->met)
					continue;
				struct estimate met = mean_of(r, c, M_MET);
				table_cell(t, "%c: %s", model_letters[m], x->name);
				table_cell(t, "%s", v == V_OSCAR ? "oscar" : variant_names[v]);
				if (v >= V_LIGHT)
					table_cell(t, "-");
				else
					table_cell(t, "%d", v == V_TORQUE ? x->met_torque : x->met);
				table_cell(t, "%.0f", mean_of(r, c, M_DEADLINES).value);
				table_cell(t, "%.1f±%.1f", met.value, met.half);
				if (x->emergency)
					table_cell(t, "%.1f", mean_of(r, c, M_EMERGENCY_FEASIBLE).value);
				else
					table_cell(t, "-");
				table_cell(t, "%.1f", mean_of(r, c, M_EXPIRED).value);
				table_cell(t, "%.1f", mean_of(r, c, M_GUARANTEED).value);
				table_cell(t, "%.1f", mean_of(r, c, M_BROKEN).value);
				table_cell(t, "%.1f", mean_of(r, c, M_BROKEN_BY_POWER).value);
			}
	table_print(t, out, WIDTH);
	table_destroy(t);
}

/* Rows of the ablation, in the order of the report. */
static const enum variant ablation[] = {
	V_TORQUE,   V_TORQUE_WEIGHT, V_TORQUE_SHARED, V_DEPTH0, V_OSCAR,   V_DEPTH2,	    V_DEPTH3,
	V_SMALLEST, V_FIRST,	     V_APART,	      V_DRAIN,	V_OLDEST,  V_NO_STARVING,   V_DEFAULT,
	V_LIGHT,    V_LIGHT_NO_PUSH, V_LIGHT_NO_HEAD, V_FLAT,	V_MIGRATE, V_LIGHT_MIGRATE,
};
#define ABLATION ((int)(sizeof ablation / sizeof *ablation))

static void ablation_print(const struct push_results *r, FILE *out)
{
	VEC(char *) titles = {0};
	char title[64];

	fprintf(out, "\nWhat brings what: mean response against oscar's, above 1 is better (experiments 3 common,\n"
		     "4 starving, 7 QoS; perfect packing knows no names of nodes, which helps model A)\n\n");
	vec_push(&titles, mem_strdup("response of oscar / of"));
	for (int m = 0; m < MODELS; m++)
		for (int e = 0; e < EXPERIMENTS; e++)
			if (push_experiments[e].ablation) {
				snprintf(title, sizeof title, ">%c%c", model_letters[m], push_experiments[e].name[0]);
				vec_push(&titles, mem_strdup(title));
			}
	struct table *t = table_create((const char *const *)titles.v, (int)titles.n);
	table_rule(t);
	for (int i = 0; i < ABLATION; i++) {
		table_cell(t, "%s", variant_names[ablation[i]]);
		for (int m = 0; m < MODELS; m++)
			for (int e = 0; e < EXPERIMENTS; e++) {
				const struct cell *c = push_cells(r, m, e, ablation[i]);
				if (!push_experiments[e].ablation)
					continue;
				gain_cell(t, gain_of(r, push_cells(r, m, e, V_OSCAR), c, M_RESPONSE), 3);
			}
		if (ablation[i] == V_DEPTH3 || ablation[i] == V_NO_STARVING || ablation[i] == V_LIGHT_NO_HEAD)
			table_rule(t);
	}
	table_print(t, out, WIDTH);
	table_destroy(t);
	for (size_t i = 0; i < titles.n; i++)
		free(titles.v[i]);
	vec_free(&titles);
}

static void oracle_print(const struct push_results *r, FILE *out)
{
	static const char *const columns[] = {"experiment", "policy", ">rescued", ">blocked",	 ">asked",
					      ">helpless",  ">",      ">open",	  ">could help", ">"};
	struct table *t = table_create(columns, 10);

	fprintf(out,
		"\nWhat push did and could still do: jobs started by pushing and attempts that were blocked, in a run;\n"
		"of the attempts asked about, how many no repacking of planned parts helps\n\n");
	table_rule(t);
	for (int m = 0; m < MODELS; m++)
		for (int e = 0; e < EXPERIMENTS; e++)
			for (int v = V_OSCAR; v <= V_DEFAULT; v++) {
				const struct cell *c = push_cells(r, m, e, (enum variant)v);
				double asked = sum_of(r, c, M_ASKED), yes = sum_of(r, c, M_HELPED),
				       open = sum_of(r, c, M_UNDECIDED), no = asked - yes - open;
				table_cell(t, "%c: %s", model_letters[m], push_experiments[e].name);
				table_cell(t, "%s", v == V_OSCAR ? "oscar" : variant_names[v]);
				table_cell(t, "%.2f", mean_of(r, c, M_RESCUED).value);
				table_cell(t, "%.0f", mean_of(r, c, M_BLOCKED).value);
				table_cell(t, "%.0f", asked);
				table_cell(t, "%.0f", no);
				table_cell(t, "%.2f%%", asked > 0 ? 100 * no / asked : 0);
				table_cell(t, "%.0f", open);
				table_cell(t, "%.0f", yes);
				table_cell(t, "%.2f%%", asked > 0 ? 100 * yes / asked : 0);
			}
	table_print(t, out, WIDTH);
	table_destroy(t);
}

struct claim {
	char text[128], value[160];
	bool held;
};
typedef VEC(struct claim) claim_vec;

static void claim_add(claim_vec *v, bool held, const char *text, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static void claim_add(claim_vec *v, bool held, const char *text, const char *fmt, ...)
{
	struct claim c = {.held = held};
	va_list ap;

	snprintf(c.text, sizeof c.text, "%s", text);
	va_start(ap, fmt);
	vsnprintf(c.value, sizeof c.value, fmt, ap);
	va_end(ap);
	vec_push(v, c);
}

/* The case in which a claim is closest to failing; printed like "C4". */
struct worst {
	double value, error;
	int model, experiment;
};

static void worst_take(struct worst *w, double value, double error, int model, int experiment)
{
	if (value < w->value)
		*w = (struct worst){value, error, model, experiment};
}

#define WORST_NONE ((struct worst){.value = INFINITY})
#define WHERE(w) model_letters[(w).model], (w).experiment + 1

static void claim_oscar(const struct push_results *r, claim_vec *v)
{
	int model = 1; /* model C */
	struct worst turn = WORST_NONE, response = WORST_NONE;

	for (int e = 0; e < 4; e++) {
		const struct cell *a = push_cells(r, model, e, V_TORQUE), *b = push_cells(r, model, e, V_OSCAR);
		worst_take(&turn, gain_of(r, a, b, M_TURNAROUND).value, 0, model, e);
		worst_take(&response, gain_of(r, a, b, M_RESPONSE).value, 0, model, e);
	}
	claim_add(v, turn.value >= 1.25, "model C, 1-4: oscar 1.25 times better than torque in turnaround",
		  "least %.2f in %c%d", turn.value, WHERE(turn));
	claim_add(v, response.value >= 1.4, "model C, 1-4: oscar 1.4 times better than torque in response",
		  "least %.2f in %c%d", response.value, WHERE(response));
}

static void claim_depths(const struct push_results *r, claim_vec *v)
{
	static const enum variant depths[] = {V_DEPTH0, V_OSCAR, V_DEPTH2, V_DEPTH3};
	struct worst w = WORST_NONE;
	bool held = true;
	int depth = 0;

	for (int d = 1; d < 4; d++)
		for (int m = 0; m < MODELS; m++)
			for (int e = 0; e < EXPERIMENTS; e++) {
				if (!push_experiments[e].ablation)
					continue;
				struct estimate g = gain_of(r, push_cells(r, m, e, V_DEPTH0),
							    push_cells(r, m, e, depths[d]), M_RESPONSE);
				held &= g.value + NOISE * g.error >= 1;
				if (g.value < w.value)
					depth = d;
				worst_take(&w, g.value, g.error, m, e);
			}
	claim_add(v, held, "no depth of push worse than none, beyond noise", "least %.4f±%.4f, depth %d in %c%d",
		  w.value, 2 * w.error, depth, WHERE(w));
}

static void claim_deadlines(const struct push_results *r, claim_vec *v)
{
	struct worst qos = WORST_NONE;
	double broken = 0, met = 0, feasible = 0, all = 0;

	for (int m = 0; m < MODELS; m++)
		for (int e = 0; e < EXPERIMENTS; e++)
			for (int k = V_OSCAR; k <= V_DEFAULT; k++) {
				const struct cell *c = push_cells(r, m, e, (enum variant)k);
				broken += sum_of(r, c, M_BROKEN) - sum_of(r, c, M_BROKEN_BY_POWER);
				met += sum_of(r, c, M_EMERGENCY_MET);
				feasible += sum_of(r, c, M_EMERGENCY_FEASIBLE);
				all += sum_of(r, c, M_EMERGENCY);
				if (push_experiments[e].qos)
					worst_take(&qos, sum_of(r, c, M_MET) / sum_of(r, c, M_DEADLINES), 0, m, e);
			}
	claim_add(v, qos.value >= 0.85, "85% of QoS deadlines met by oscar, shunt-light and shunt",
		  "least %.1f%% in %c%d", 100 * qos.value, WHERE(qos));
	claim_add(v, broken == 0, "no guarantee broken but by an emergency job with the power", "%.0f broken", broken);
	claim_add(v, met == feasible, "every feasible emergency deadline met by oscar, shunt-light and shunt",
		  "%.0f met / %.0f feasible / %.0f in all", met, feasible, all);
}

static void claim_light(const struct push_results *r, claim_vec *v)
{
	struct worst loaded = WORST_NONE, other = WORST_NONE, wait = WORST_NONE;
	bool not_worse = true, no_longer = true;

	for (int m = 0; m < MODELS; m++)
		for (int e = 0; e < EXPERIMENTS; e++) {
			const struct cell *a = push_cells(r, m, e, V_OSCAR), *b = push_cells(r, m, e, V_LIGHT);
			struct estimate g = gain_of(r, a, b, M_RESPONSE), w = gain_of(r, a, b, M_WAIT_MAX);
			if (push_experiments[e].starving && push_experiments[e].mean_gap < 100) {
				worst_take(&loaded, g.value, g.error, m, e);
			} else {
				worst_take(&other, g.value, g.error, m, e);
				not_worse &= g.value + NOISE * g.error >= 1;
			}
			worst_take(&wait, w.value, w.error, m, e);
			no_longer &= w.value + NOISE * w.error >= 1;
		}
	claim_add(v, loaded.value >= 1.1, "shunt-light 1.1 times better than oscar in response in 2, 4, 7 and 8",
		  "least %.2f±%.2f in %c%d", loaded.value, 2 * loaded.error, WHERE(loaded));
	claim_add(v, not_worse, "shunt-light no worse than oscar in 1, 3, 5 and 6, beyond noise",
		  "least %.3f±%.3f in %c%d", other.value, 2 * other.error, WHERE(other));
	claim_add(v, no_longer, "longest wait under shunt-light not above oscar's, beyond noise",
		  "oscar's / shunt-light's at least %.3f±%.3f in %c%d", wait.value, 2 * wait.error, WHERE(wait));
}

/* Compares mean responses in seconds, not their ratios: seconds are what a new user notices. */
static void claim_default(const struct push_results *r, claim_vec *v)
{
	struct worst w = WORST_NONE;

	for (int m = 0; m < MODELS; m++)
		for (int e = 0; e < EXPERIMENTS; e++) {
			double torque = mean_of(r, push_cells(r, m, e, V_TORQUE), M_RESPONSE).value,
			       ours = mean_of(r, push_cells(r, m, e, V_DEFAULT), M_RESPONSE).value;
			worst_take(&w, torque / ours, 0, m, e);
		}
	claim_add(v, w.value >= 1, "mean response under shunt no longer than under torque", "least %.2f in %c%d",
		  w.value, WHERE(w));
}

/* Checks all claims; returns true if all of them held. */
static bool claims_make(const struct push_results *r, claim_vec *v)
{
	bool all = true;

	claim_oscar(r, v);
	claim_depths(r, v);
	claim_deadlines(r, v);
	claim_light(r, v);
	claim_default(r, v);
	for (size_t i = 0; i < v->n; i++)
		all &= v->v[i].held;
	return all;
}

bool push_report(const struct push_results *r, FILE *out)
{
	claim_vec claims = {0};

	fprintf(out,
		"Push experiments: %d jobs on 40 nodes x 8 CPUs, %d seeds; gains are geometric means over the seeds\n"
		"with 95%% intervals, of jobs that ran (a QoS job that can't make its deadline does not).\n"
		"shunt is the default policy as it is; light is shunt with the experiment's starve_after (or none), which\n"
		"turns its due dates off: lightest first, as the source's push.\n",
		r->jobs, r->seeds);
	for (int m = 0; m < MODELS; m++) {
		gains_print(r, m, out);
		waits_print(r, m, out);
	}
	deadlines_print(r, out);
	ablation_print(r, out);
	oracle_print(r, out);

	bool all = claims_make(r, &claims);
	fprintf(out, "\nClaims\n\n");
	for (size_t i = 0; i < claims.n; i++)
		fprintf(out, "%s: %s (%s)\n", claims.v[i].text, claims.v[i].held ? "yes" : "no", claims.v[i].value);
	fprintf(out, "\n%.1f s\n", r->seconds);
	vec_free(&claims);
	return all;
}

static void json_estimate(struct json *j, const char *key, struct estimate e)
{
	json_open_object(j, key);
	json_double(j, "value", e.value);
	json_double(j, "interval95", e.half);
	json_close_object(j);
}

static void json_run(struct json *j, const struct push_results *r, int m, int e, enum variant v)
{
	const struct cell *c = push_cells(r, m, e, v);
	char model[2] = {model_letters[m], '\0'};
	const char *name = variant_names[v];

	while (*name == ' ')
		name++;
	json_open_object(j, NULL);
	json_text(j, "model", model);
	json_int(j, "experiment", e + 1);
	json_text(j, "about", push_experiments[e].name + 2);
	json_text(j, "policy", name);
	json_open_object(j, "mean");
	for (int k = 0; k < MEASURES; k++)
		json_estimate(j, measure_names[k], mean_of(r, c, (enum measure)k));
	json_close_object(j);
	json_open_object(j, "gain_over_torque");
	json_estimate(j, "turnaround", gain_of(r, push_cells(r, m, e, V_TORQUE), c, M_TURNAROUND));
	json_estimate(j, "response", gain_of(r, push_cells(r, m, e, V_TORQUE), c, M_RESPONSE));
	json_close_object(j);
	json_open_object(j, "gain_over_oscar");
	json_estimate(j, "turnaround", gain_of(r, push_cells(r, m, e, V_OSCAR), c, M_TURNAROUND));
	json_estimate(j, "response", gain_of(r, push_cells(r, m, e, V_OSCAR), c, M_RESPONSE));
	json_close_object(j);
	json_close_object(j);
}

static void json_source(struct json *j)
{
	json_open_array(j, "source");
	for (int e = 0; e < EXPERIMENTS; e++) {
		const struct push_experiment *x = &push_experiments[e];
		json_open_object(j, NULL);
		json_int(j, "experiment", e + 1);
		json_double(j, "turnaround", x->turnaround);
		json_double(j, "response", x->response);
		if (x->met) {
			json_int(j, "deadlines_met", x->met);
			json_int(j, "deadlines_met_torque", x->met_torque);
		}
		json_close_object(j);
	}
	json_close_array(j);
}

bool push_report_json(const struct push_results *r, FILE *out)
{
	struct strbuf text = {0};
	claim_vec claims = {0};
	struct json j;
	bool all = claims_make(r, &claims);

	json_init(&j, &text, true);
	json_open_object(&j, NULL);
	json_int(&j, "seeds", r->seeds);
	json_double(&j, "seconds", r->seconds);
	json_source(&j);
	json_open_array(&j, "runs");
	for (int m = 0; m < MODELS; m++)
		for (int e = 0; e < EXPERIMENTS; e++)
			for (int v = 0; v < VARIANTS; v++)
				if (push_cells(r, m, e, (enum variant)v))
					json_run(&j, r, m, e, (enum variant)v);
	json_close_array(&j);
	json_open_array(&j, "claims");
	for (size_t i = 0; i < claims.n; i++) {
		json_open_object(&j, NULL);
		json_text(&j, "claim", claims.v[i].text);
		json_bool(&j, "held", claims.v[i].held);
		json_text(&j, "value", claims.v[i].value);
		json_close_object(&j);
	}
	json_close_array(&j);
	json_close_object(&j);
	fprintf(out, "%s\n", strbuf_text(&text));
	strbuf_fini(&text);
	vec_free(&claims);
	return all;
}

/* Draws the response of every policy in seconds; the gains are too far apart for one chart. */
static int chart_model(const struct push_results *r, int model, const char *dir, struct err *err)
{
	static const char *const series[] = {"torque", "oscar", "shunt-light", "shunt"};
	const char *group[EXPERIMENTS];
	double value[EXPERIMENTS * V_MAIN], deviation[EXPERIMENTS * V_MAIN];
	char name[16], title[64];

	for (int e = 0; e < EXPERIMENTS; e++) {
		group[e] = push_experiments[e].name;
		for (int v = 0; v < V_MAIN; v++) {
			struct estimate x = mean_of(r, push_cells(r, model, e, (enum variant)v), M_RESPONSE);
			value[e * V_MAIN + v] = x.value;
			deviation[e * V_MAIN + v] = x.half;
		}
	}
	struct chart_bars b = {
		.title = title,
		.ylabel = "mean response, seconds",
		.group = group,
		.series = series,
		.ngroups = EXPERIMENTS,
		.nseries = V_MAIN,
		.value = value,
		.deviation = deviation,
	};
	snprintf(title, sizeof title, "Push experiments, model %c", model_letters[model]);
	snprintf(name, sizeof name, "push-%c", model_letters[model]);
	return charts_draw(dir, name, &b, err);
}

static int chart_ablation(const struct push_results *r, const char *dir, struct err *err)
{
	static const char *const series[] = {"A, starving", "C, starving"};
	const char *group[ABLATION];
	double value[ABLATION * MODELS], deviation[ABLATION * MODELS];

	for (int i = 0; i < ABLATION; i++) {
		group[i] = variant_names[ablation[i]];
		for (int m = 0; m < MODELS; m++) {
			struct estimate x =
				gain_of(r, push_cells(r, m, 3, V_OSCAR), push_cells(r, m, 3, ablation[i]), M_RESPONSE);
			value[i * MODELS + m] = x.value;
			deviation[i * MODELS + m] = x.half;
		}
	}
	struct chart_bars b = {
		.title = "What brings what (experiment 4)",
		.ylabel = "mean response, oscar = 1, more is better",
		.group = group,
		.series = series,
		.ngroups = ABLATION,
		.nseries = MODELS,
		.value = value,
		.deviation = deviation,
	};
	return charts_draw(dir, "push-ablation", &b, err);
}

int push_charts(const struct push_results *r, const char *dir, struct err *err)
{
	int rc = 0;

	for (int m = 0; m < MODELS && rc == 0; m++)
		rc = chart_model(r, m, dir, err);
	return rc < 0 ? rc : chart_ablation(r, dir, err);
}
