/*
 * advice.c - see advice.h.
 */
#include "core/advice.h"

#include "base/amount.h"
#include "base/timetext.h"
#include "core/reqtext.h"

#define MIB INT64_C(1024)
#define GIB (1024 * MIB)
#define BRIEF_MS 1000 /* shorter runs give no meaningful CPU utilisation */

/* ---- measured use ---- */

/* Use over all runs: maxima, and sums of CPU time. */
struct used {
	int64_t ran_ms, peak_kib;
	int64_t cpu_ms, could_ms, all_ms; /* CPU time used, CPU time available, and run time */
	bool out_of_time, out_of_memory;
};

static struct used used_of(const struct advice_run *runs, size_t n)
{
	struct used u = {0};

	for (size_t i = 0; i < n; i++) {
		const struct advice_run *r = &runs[i];
		u.ran_ms = r->ran_ms > u.ran_ms ? r->ran_ms : u.ran_ms;
		u.peak_kib = r->peak_kib > u.peak_kib ? r->peak_kib : u.peak_kib;
		u.cpu_ms += r->cpu_ms;
		u.could_ms += r->ran_ms * r->cpus;
		u.all_ms += r->ran_ms;
		u.out_of_time |= r->out_of_time;
		u.out_of_memory |= r->out_of_memory;
	}
	return u;
}

/* ---- advice ---- */

static int64_t round_up(int64_t n, int64_t step)
{
	return (n + step - 1) / step * step;
}

static int64_t nice_memory(int64_t kib)
{
	return round_up(kib, kib < 64 * MIB ? 16 * MIB : kib < GIB ? 64 * MIB : kib < 8 * GIB ? 256 * MIB : GIB);
}

static int64_t nice_time(int64_t seconds)
{
	return round_up(seconds, seconds < 600 ? 60 : seconds < 3600 ? 300 : seconds < 86400 ? 900 : 3600);
}

static int64_t memory_advice(const struct used *u, int64_t requested)
{
	if (u->out_of_memory)
		return nice_memory(2 * requested);
	return u->peak_kib > 0 ? nice_memory(u->peak_kib + u->peak_kib / 5) : 0;
}

static int64_t time_advice(const struct used *u, int64_t requested)
{
	int64_t seconds = (u->ran_ms + 999) / 1000;

	return nice_time(u->out_of_time ? 2 * requested : seconds + seconds / 5);
}

/* Suggests the average number of busy CPUs plus a tenth. Gives none for jobs on several nodes,
 * because a total says nothing about CPUs per node. */
static int64_t cpu_advice(const struct used *u, const struct advice_run *run)
{
	if (run->nodes > 1 || u->all_ms < BRIEF_MS)
		return 0;
	int64_t busy = (u->cpu_ms * 11 + u->all_ms * 10 - 1) / (u->all_ms * 10);
	return busy < 1 ? 1 : busy;
}

/* Drops advice that hardly differs from the request. */
static int64_t worth(int64_t advice, int64_t requested)
{
	return advice > requested - requested / 5 && advice <= requested ? 0 : advice;
}

struct advice advice_make(const struct advice_run *runs, size_t n)
{
	struct used u = used_of(runs, n);
	struct advice a = {.cpus = cpu_advice(&u, runs),
			   .memory_kib = worth(memory_advice(&u, runs->memory_kib), runs->memory_kib),
			   .walltime = worth(time_advice(&u, runs->walltime), runs->walltime)};

	/* more CPUs might make it faster, but the runs do not show that */
	if (a.cpus >= runs->cpus)
		a.cpus = 0;
	return a;
}

bool advice_fails(const struct advice *a, const struct advice_run *run)
{
	int64_t memory = run->out_of_memory ? run->memory_kib + 1 : run->peak_kib;
	int64_t time_ms = run->out_of_time ? run->walltime * 1000 + 1 : run->ran_ms;

	return (a->memory_kib && memory > a->memory_kib) || (a->walltime && time_ms > a->walltime * 1000);
}

/* ---- text ---- */

static int percent(int64_t part, int64_t whole)
{
	return (int)(100.0 * (double)part / (double)whole + 0.5);
}

void advice_compare(const struct advice_run *runs, size_t n, struct strbuf *out)
{
	struct used u = used_of(runs, n);
	char asked[40], used[40];

	strbuf_printf(out, "CPUs      %lld requested", (long long)runs->cpus);
	if (u.could_ms > 0)
		strbuf_printf(out, ", %.1f busy on average (%d%%)", (double)u.cpu_ms / (double)u.all_ms,
			      percent(u.cpu_ms, u.could_ms));
	memory_human(runs->memory_kib, asked, sizeof asked);
	memory_human(u.peak_kib, used, sizeof used);
	if (runs->memory_kib > 0)
		strbuf_printf(out, "\nmemory    %s requested, %s used at most (%d%%)%s\n", asked, used,
			      percent(u.peak_kib, runs->memory_kib), u.out_of_memory ? ": it was not enough" : "");
	else
		strbuf_printf(out, "\nmemory    none requested, %s used at most\n", used);
	duration_human(runs->walltime, asked, sizeof asked);
	duration_human(u.ran_ms / 1000, used, sizeof used);
	if (runs->walltime > 0)
		strbuf_printf(out, "walltime  %s requested, %s used at most (%d%%)%s\n", asked, used,
			      percent(u.ran_ms, runs->walltime * 1000), u.out_of_time ? ": it was not enough" : "");
	else
		strbuf_printf(out, "walltime  none requested, %s used at most\n", used);
}

void advice_request(const struct advice *a, struct strbuf *out)
{
	char text[40];

	if (a->memory_kib)
		strbuf_printf(out, "mem=%s", memory_format(a->memory_kib, text, sizeof text));
	if (a->walltime)
		strbuf_printf(out, "%swalltime=%s", a->memory_kib ? "," : "",
			      duration_format(a->walltime, text, sizeof text));
}

void advice_text(const struct advice *a, const struct advice_run *runs, size_t n, struct strbuf *out)
{
	struct strbuf request = {0};

	advice_request(a, &request);
	if (!request.n && !a->cpus)
		strbuf_puts(out, "The request fits.");
	else
		strbuf_puts(out, "Next time request ");
	if (a->cpus)
		strbuf_printf(out, "%lld CPU%s instead of %lld%s", (long long)a->cpus, a->cpus == 1 ? "" : "s",
			      (long long)runs->cpus, request.n ? ", and " : ".");
	if (request.n)
		strbuf_printf(out, "-l %s", request.text);
	strbuf_fini(&request);
}
