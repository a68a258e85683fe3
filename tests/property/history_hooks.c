/*
 * history_hooks.c - the site has hooks: Lua that sees what is submitted, modified, started and
 * ended, and decides.
 *
 * The site changes them now and then. Answers come late: a restart may lie between a question and
 * its answer. All of it is drawn from h->hooks, so that seeds mean without it what they meant
 * before.
 */
#include "property/history.h"
#include "support/lua.h"

/* What they do depends on the job's name: j0 to j8, and p0 to p8. */
#define SUBMIT                                                                                                         \
	"function on_submit(job)"                                                                                      \
	"  if job.name == 'j1' then refuse('not j1') end"                                                              \
	"  if job.name == 'j2' then job.hold = 'u' end"                                                                \
	"  if job.name == 'j3' then job.account, job.priority = 'low', 4 end"                                          \
	"  if job.name == 'j4' then job.walltime = 77; job.resources.mem = '200mb' end"                                \
	"  if job.name == 'j5' then job.at = site.now + 90 end"                                                        \
	"  if job.name == 'j6' then job.queue = 'entry' end"                                                           \
	"  if job.name == 'j7' then error('broken') end"                                                               \
	"  log('seen') "                                                                                               \
	"end "
#define MODIFY                                                                                                         \
	"function on_modify(job, changes)"                                                                             \
	"  if changes.name and job.name == 'j8' then refuse('j8 stays as it is') end"                                  \
	"  if changes.priority then changes.priority, changes.comment = 2, 'by the site' end"                          \
	"  if changes.walltime == 7 then error('broken') end"                                                          \
	"  log('modified') "                                                                                           \
	"end "
#define RUN                                                                                                            \
	"function on_start(job) log('on ' .. tostring(job.exec_host)) end "                                            \
	"function on_end(job) if job.name == 'j8' then error('broken') end log('ended') end "

static const char *const files[] = {NULL, SUBMIT, MODIFY RUN, SUBMIT MODIFY RUN, SUBMIT RUN, MODIFY};

void hooks_change(struct history *h)
{
	static const char *const failure[] = {"refuse", "accept"};

	lua_set(files[rng_below(&h->hooks, sizeof files / sizeof *files)]);
	if (rng_below(&h->hooks, 3) == 0)
		attribute(h, "/v1/server", "hook_failure", failure[rng_below(&h->hooks, 2)]);
}

void op_hooks(struct history *h)
{
	if (rng_below(&h->hooks, 12) == 1)
		hooks_change(h);
	lua_answer(h->s, rng_below(&h->hooks, 4));
}
