/*
 * parcel.c - one file of an errand: tried until it is delivered, or can't be.
 *
 * While the job is running, a failure only causes a delay: the next try may succeed. After its end,
 * a host that does not answer is tried until the errand's deadline; a refusal is final.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/errands_internal.h"

bool parcel_is_output(const struct parcel *p)
{
	return p->f->use == FILE_OUT || p->f->use == FILE_ERR;
}

static void why_set(struct parcel *p, const char *why)
{
	char *copy = mem_strdup(why ? why : "");

	free(p->why);
	p->why = copy;
}

static void on_moved(void *context, int64_t took, int64_t size)
{
	struct parcel *p = context;

	p->took = took;
	p->size = size;
	spool_write(p->e);
}

/* Waits 1, 2, 4, ... seconds. */
static void pause_set(struct parcel *p)
{
	uint64_t pause = p->failures > 5 ? PAUSE_MOST : (uint64_t)TICK_MS << p->failures;

	p->failures++;
	p->next = uv_now(p->e->all->loop) + (pause > PAUSE_MOST ? PAUSE_MOST : pause);
}

void parcel_give_up(struct parcel *p)
{
	parcel_drop(p);
	if (!p->why)
		why_set(p, "it was told to stop");
	p->over = p->stays = true;
}

static void on_over(void *context, enum carry_end how, const char *reason)
{
	struct parcel *p = context;
	struct errand *e = p->e;
	uint64_t now = uv_now(e->all->loop);

	p->carry = NULL;
	if (how == CARRY_DONE) {
		p->failures = 0;
		p->next = now; /* checked again at the next tick */
		p->over = e->state == ERRAND_FETCHES || (e->state == ERRAND_BRINGS && p->last);
		if (e->state == ERRAND_BRINGS && !p->over)
			parcel_bring(p);
	} else {
		why_set(p, reason);
		pause_set(p);
		if (e->state != ERRAND_RUNS && (how == CARRY_FAILED || p->next > e->deadline))
			parcel_give_up(p);
	}
	if (e->state != ERRAND_RUNS)
		errand_step(e);
}

void parcel_begin(struct parcel *p)
{
	struct errand *e = p->e;
	struct carry_order o = {.file = p->f,
				.index = (int)(p - e->parcel),
				.ticket = e->o.carry.ticket ? e->o.carry.ticket : "",
				.signature = e->o.carry.signature ? e->o.carry.signature : "",
				.who = errand_user(e),
				.here = p->here,
				.took = p->took,
				.size = p->size};
	struct carry_events events = {.moved = on_moved, .over = on_over, .context = p};

	if (!errand_may(e))
		return; /* perhaps at the next tick */
	p->last = e->state == ERRAND_BRINGS;
	p->carry = carry_start(e->all->files, &o, &events);
}

void parcel_drop(struct parcel *p)
{
	carry_cancel(p->carry);
	p->carry = NULL;
}

/* Returns the bytes in the spool that are not delivered yet; -1: there is no file. A file that was
 * not begun must be created, even if it stays empty. */
static int64_t parcel_waits(const struct parcel *p)
{
	struct stat st;

	if (stat(p->here, &st) < 0)
		return -1;
	return p->size < 0 ? st.st_size + 1 : st.st_size - p->took;
}

void parcel_turn(struct parcel *p)
{
	if (p->over || p->carry || uv_now(p->e->all->loop) < p->next)
		return;
	if (p->e->state == ERRAND_RUNS && (!parcel_is_output(p) || parcel_waits(p) <= 0))
		return;
	if (p->e->state == ERRAND_FETCHES && p->f->use != FILE_IN)
		return;
	parcel_begin(p);
}

void parcel_bring(struct parcel *p)
{
	if (p->over || p->carry)
		return;
	p->failures = 0;
	p->next = 0;
	if (parcel_is_output(p) && parcel_waits(p) <= 0)
		p->over = true;
	else
		parcel_begin(p);
}

void parcel_say(const struct parcel *p, struct strbuf *out)
{
	static const char *const words[] = {"output", "error output", "stagein", "stageout"};
	const struct order_file *f = p->f;
	bool kept = !strchr(f->path, '/');

	if (out->n)
		strbuf_puts(out, ". ");
	if (f->use == FILE_IN)
		strbuf_printf(out, "stagein of %s from %s:%s: %s", f->here, f->title, f->path, p->why);
	else if (f->use == FILE_BACK)
		strbuf_printf(out, "stageout of %s to %s:%s: %s", f->here, f->title, f->path, p->why);
	else
		strbuf_printf(out,
			      "the %s could not be delivered to %s%s%s (%s); it is in %s on the host where the job ran",
			      words[f->use], kept ? "the server" : f->title, kept ? "" : ":", kept ? "" : f->path,
			      p->why, p->here);
}
