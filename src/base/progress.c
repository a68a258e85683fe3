/*
 * progress.c - one line of progress on a terminal.
 */
#include "base/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/ticks.h"
#include "base/timetext.h"

#define REDRAW_MS 100
#define FORECAST_MS 2000 /* before this the rate is not meaningful */

void progress_begin(struct progress *p, const char *what, int64_t total)
{
	/* Use the descriptor, because commands replace the stream stderr with one that cleans
	 * the text. */
	*p = (struct progress){.what = what, .total = total, .on = isatty(STDERR_FILENO)};
	if (p->on)
		p->begin_ms = p->last_ms = clock_ms(CLOCK_MONOTONIC);
}

void progress_at(struct progress *p, int64_t done)
{
	char left[32];

	if (!p->on)
		return;

	int64_t now = clock_ms(CLOCK_MONOTONIC), spent = now - p->begin_ms;
	if (now - p->last_ms < REDRAW_MS)
		return;
	p->last_ms = now;
	if (p->total <= 0)
		dprintf(STDERR_FILENO, "\r%s  %lld", p->what, (long long)done);
	else
		dprintf(STDERR_FILENO, "\r%s  %3d%%", p->what, (int)(100.0 * (double)done / (double)p->total));
	if (p->total > 0 && done > 0 && spent >= FORECAST_MS) {
		double rest = (double)spent / 1000 * ((double)(p->total - done) / (double)done);
		dprintf(STDERR_FILENO, "  %s left", duration_human((int64_t)rest, left, sizeof left));
	}
	dprintf(STDERR_FILENO, "\033[K");
}

void progress_end(struct progress *p)
{
	if (p->on)
		dprintf(STDERR_FILENO, "\r\033[K");
	p->on = 0;
}
