/*
 * past.c - see past.h.
 */
#include "server/book/past.h"

#include <assert.h>
#include <stddef.h>

#include "base/codec.h"
#include "core/jobschema.h"
#include "core/spec.h"

#define HAS(member) MEMBER(struct history_row, member)

const struct field past_members[] = {
	{"id", .is = REQUIRED | IS_TEXT, .in = AS_ROW | AS_JOB, HAS(id)},
	{"attempt", .is = REQUIRED | IS_INT, "0: it ended while it waited", .in = AS_ROW | AS_JOB, HAS(attempt)},
	{"last", .is = REQUIRED | IS_BOOL, "false: another attempt followed", .in = AS_ROW, HAS(last)},
	{"name", .is = REQUIRED | IS_TEXT, .in = AS_ROW | AS_JOB, HAS(name)},
	{"owner", .is = REQUIRED | IS_TEXT, .in = AS_ROW | AS_JOB, HAS(user)},
	{"group", .is = REQUIRED | IS_TEXT, .in = AS_ROW, HAS(group)},
	{"account", .is = REQUIRED | IS_TEXT | IS_NULL, .in = AS_ROW | AS_JOB, HAS(account)},
	{"project", .is = REQUIRED | IS_TEXT | IS_NULL, .in = AS_ROW | AS_JOB, HAS(project)},
	{"qos", .is = REQUIRED | IS_TEXT | IS_NULL, .in = AS_ROW | AS_JOB, HAS(qos)},
	{"queue", .is = REQUIRED | IS_TEXT, .in = AS_ROW | AS_JOB, HAS(queue)},
	{"state", .is = REQUIRED | IS_TEXT, .words = HISTORY_STATES, .in = AS_ROW, HAS(state)},
	{"exit_status", .is = REQUIRED | IS_INT, .in = AS_ROW | AS_JOB, HAS(exit_status)},
	{"submitted", .is = REQUIRED | IS_INSTANT, .in = AS_ROW, HAS(submitted)},
	{"created", .is = REQUIRED | IS_INSTANT, .in = AS_JOB, HAS(submitted)},
	{"queued", .is = REQUIRED | IS_INSTANT, .in = AS_JOB, HAS(submitted)},
	{"started", .is = REQUIRED | IS_INSTANT | IS_NULL, .in = AS_ROW | AS_JOB, HAS(started)},
	{"ended", .is = REQUIRED | IS_INSTANT, .in = AS_ROW | AS_JOB, HAS(ended)},
	{"modified", .is = REQUIRED | IS_INSTANT, .in = AS_JOB, HAS(ended)},
	{"resources", .is = REQUIRED | IS_TEXT, .in = AS_ROW | AS_JOB, HAS(resources)},
	{"hosts", .is = REQUIRED | IS_TEXT | IS_NULL, .in = AS_ROW, HAS(hosts)},
	{"exec_host", .is = REQUIRED | IS_TEXT | IS_NULL, .in = AS_JOB, HAS(hosts)},
	{"nodes", .is = REQUIRED | IS_INT, .in = AS_ROW, HAS(nodes)},
	{"nodect", .is = REQUIRED | IS_INT, .in = AS_JOB, HAS(nodes)},
	{"cpus", .is = REQUIRED | IS_INT, .in = AS_ROW | AS_JOB, HAS(cpus)},
	{"gpus", .is = REQUIRED | IS_INT, .in = AS_ROW, HAS(gpus)},
	{"gpus", .is = REQUIRED | IS_INT | IS_NULL, .in = AS_JOB, HAS(gpus)},
	{"memory_kib", .is = REQUIRED | IS_INT, "requested; 0: nothing was said", .in = AS_ROW, HAS(memory_kib)},
	{"memory", .is = REQUIRED | IS_INT | IS_NULL, .in = AS_JOB, HAS(memory_kib)},
	{"walltime", .is = REQUIRED | IS_INT, "requested", .in = AS_ROW | AS_JOB, HAS(walltime)},
	{"ran_ms", .is = REQUIRED | IS_INT, .in = AS_ROW, HAS(ran_ms)},
	{"cpu_ms", .is = REQUIRED | IS_INT, .in = AS_ROW, HAS(cpu_ms)},
	{"peak_kib", .is = REQUIRED | IS_INT, "the most memory that it had at once", .in = AS_ROW, HAS(peak_kib)},
	{"lost_ms", .is = REQUIRED | IS_INT, "of ran_ms: what was in no checkpoint when it was stopped", .in = AS_ROW,
	 HAS(lost_ms)},
	{"comment", .is = REQUIRED | IS_TEXT | IS_NULL, .in = AS_ROW | AS_JOB, HAS(text)},
	{0},
};

void past_describe(struct history_row *row, const struct spec *p, const struct names *words)
{
	const struct field *to = NULL;

	for (const struct field *f = job_members; f->name; f++) {
		if (!(f->in & IN_HISTORY))
			continue;
		to = field_find(past_members, 0, f->name, to);
		assert(to && (to->form == FORM_LENT || to->form == FORM_I64));
		void *at = (char *)row + to->at;
		if (to->form == FORM_I64) {
			*(int64_t *)at = field_number(f, spec_part(p, f));
		} else {
			const char *text = field_text(f, spec_part(p, f), words);
			*(const char **)at = text || to->is & IS_NULL ? text : "";
		}
	}
}
