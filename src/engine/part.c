/*
 * part.c - one host's part of an attempt: requests to it, and news of it.
 *
 * A part's state changes only here and at the end of its gang (gang.c), and never because of a
 * request: only its host knows.
 */
#include <signal.h>
#include <stdio.h>

#include "engine/engine_internal.h"
#include "run/task.h"

bool part_is_over(const struct part *p)
{
	return p->state >= PART_ENDED;
}

bool part_is_under_way(const struct part *p)
{
	return p->state > PART_WAITS && p->state < PART_ENDED;
}

bool part_failed(const struct part *p)
{
	if (p->asked)
		return false;
	return p->state == PART_LOST ||
	       (p->state == PART_ENDED && (p->result->cause == CAUSE_MEMORY || cause_is_hosts(p->result->cause)));
}

/* ---- sentences ---- */

static char *sentence(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static char *sentence(const char *fmt, ...)
{
	struct strbuf b = {0};
	va_list ap;

	va_start(ap, fmt);
	strbuf_vprintf(&b, fmt, ap);
	va_end(ap);
	return b.text;
}

/* Adds the host's name to the words in an attempt on several hosts. */
static char *part_sentence(const struct part *p, const char *words)
{
	return p->gang->n > 1 ? sentence("%s: %s", host_title(p->host), words) : mem_strdup(words);
}

char *part_refusal(const struct part *p)
{
	const struct result *r = p->result;

	if (p->state == PART_NEVER)
		return p->why ? mem_strdup(p->why) : NULL;
	if (!r || r->how != RESULT_NOT_STARTED || r->cause == CAUSE_ORDERED || !r->reason)
		return NULL;
	return part_sentence(p, r->reason);
}

char *part_epitaph(const struct part *p)
{
	const char *host = host_title(p->host), *why = p->why;

	if (p->state != PART_ENDED)
		return why ? sentence("%s", why)
			   : sentence("its part on %s was lost (killed from outside, or the machine went down)", host);
	why = p->result->reason			   ? p->result->reason
	      : p->result->cause == CAUSE_MEMORY   ? "it used more memory than it may"
	      : p->result->cause == CAUSE_LEASE	   ? "that host had no word from the server for too long"
	      : p->result->cause == CAUSE_SHUTDOWN ? "that host was shut down"
	      : p->result->cause == CAUSE_WALLTIME ? "its time was over"
						   : NULL;
	return why ? sentence("its part on %s ended: %s", host, why) : sentence("its part on %s ended", host);
}

/* ---- requests ---- */

void part_never(struct engine *e, struct part *p)
{
	p->state = PART_NEVER;
	gang_touch(e, p->gang);
}

void part_begin(struct engine *e, struct part *p)
{
	if (!host_is_there(e, p->host)) {
		p->refused = true;
		part_never(e, p);
		return;
	}
	p->state = PART_ORDERED;
	host_order(e, p);
	strbuf_fini(&p->order);
	strbuf_fini(&p->script);
	if (!part_is_under_way(p))
		return;
	host_limit(e, p);
	host_save(e, p);
	if (p->wanted)
		host_signals(e, p);
}

/* Returns true if something can be sent to it and it is known to have its order. */
static bool part_listens(const struct engine *e, const struct part *p)
{
	return part_is_under_way(p) && p->state != PART_AWAY && host_is_there(e, p->host);
}

void part_signal(struct engine *e, struct part *p, int signal)
{
	uint64_t settled = signal == SIGKILL			    ? ~UINT64_C(0)
			   : signal == SIGCONT || signal == SIGSTOP ? SIGNAL_BIT(SIGCONT) | SIGNAL_BIT(SIGSTOP)
								    : 0;

	if (signal == TASKS_WORD) { /* useful only now */
		if (part_listens(e, p))
			host_signal(e, p->host, p->gang->tag, signal);
		return;
	}
	p->wanted = (p->wanted & ~settled) | SIGNAL_BIT(signal);
	p->given &= ~settled;
	if (part_listens(e, p))
		host_signals(e, p);
}

void part_limit(struct engine *e, struct part *p, int64_t walltime)
{
	p->limit = walltime;
	if (part_listens(e, p))
		host_limit(e, p);
}

void part_save(struct engine *e, struct part *p, enum checkpoint_cause cause, int64_t seconds)
{
	if (p->state == PART_WAITS && cause_is_final(cause)) { /* there is nothing to save */
		part_never(e, p);
		return;
	}
	p->save = save_word(cause, seconds);
	if (part_listens(e, p))
		host_save(e, p);
}

/* ---- news ---- */

static struct result *result_copy(const struct result *r)
{
	struct result *copy = mem_alloc(sizeof *copy);

	*copy = *r;
	copy->tag = NULL;
	copy->reason = r->reason && *r->reason ? mem_strdup(r->reason) : NULL;
	return copy;
}

/* Handles news after the end. A part that was given up with its host must be ended; but until the
 * loss is stored, its live file is the only proof that it ever ran. A part that never started here
 * belongs to another attempt of the same name. */
static void part_hear_late(struct engine *e, struct part *p, const struct news *n)
{
	bool runs = n->report == SAYS_STARTED || n->report == SAYS_READY;

	if (p->host->here)
		return;
	if (p->state == PART_LOST && runs)
		host_signal(e, p->host, p->gang->tag, SIGKILL);
	else if (p->state == PART_NEVER && (runs || n->report == SAYS_ENDED))
		host_clean(e, p->host, p->gang->tag);
}

void part_hear(struct engine *e, struct part *p, const struct news *n)
{
	bool script = p == &p->gang->part[0], ran = p->state == PART_OPENING || p->state == PART_RUNS;

	if (n->report == SAYS_SAVED) {
		p->saves = *n->saves;
		p->gang->saved |= script && !p->gang->told;
		gang_touch(e, p->gang);
		return;
	}
	if (n->report == SAYS_USED) {
		p->cpu_ms = n->r->cpu_ms;
		p->memory_kib = n->r->memory_kib;
		gang_used(e, p->gang);
		return;
	}
	if (part_is_over(p)) {
		part_hear_late(e, p, n);
		return;
	}
	if (p->state == PART_WAITS) /* another attempt of that name; our order will be refused */
		return;
	switch (n->report) {
	case SAYS_STARTED:
		if (script && n->pid)
			p->gang->pid = n->pid;
		if (p->state != PART_RUNS)
			p->state = script ? PART_RUNS : PART_OPENING;
		break;
	case SAYS_READY:
		p->state = PART_RUNS;
		break;
	case SAYS_REFUSED:
		part_never(e, p);
		p->refused = true;
		p->unclear = n->unclear;
		p->why = n->reason ? part_sentence(p, n->reason) : NULL;
		break;
	case SAYS_ENDED:
		p->state = PART_ENDED;
		p->result = result_copy(n->r);
		break;
	case SAYS_LOST:
		p->state = PART_LOST;
		break;
	case SAYS_SAVED:
	case SAYS_USED:
		break;
	/* the order was lost with a connection, or the host lost its record of it */
	case SAYS_NOTHING:
		p->state = ran ? PART_LOST : PART_NEVER;
		p->refused = !ran;
		if (ran)
			p->why = sentence("%s does not know of it any more", host_title(p->host));
		break;
	case SAYS_GIVEN_UP:
		p->state = PART_LOST;
		p->why = sentence("no word came from %s for too long", host_title(p->host));
		break;
	}
	gang_touch(e, p->gang);
}
