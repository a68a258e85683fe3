#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "support/until.h"

bool nobody_knows(void *context, const char *tag)
{
	return false;
}

/* Returns a script that runs until go() is called for it. */
char *until_go(struct hosts *w, const char *tag)
{
	return arena_printf(w->a, "echo $$ >on.%s; while [ ! -e go.%s ]; do sleep 0.01; done; exit 3", tag, tag);
}

void go(struct hosts *w, int i, const char *tag)
{
	hosts_touch(w, i, arena_printf(w->a, "go.%s", tag));
}

void run_until_go(struct hosts *w, const char *tag, const char *hosts)
{
	hosts_start(w, tag, until_go(w, tag), hosts);
	hosts_await(w, hosts_told(w, TOLD_STARTED, tag));
	hosts_await(w, hosts_file(w, hosts[0] - '0', arena_printf(w->a, "on.%s", tag)));
}

void ended_well(struct hosts *w, const char *tag)
{
	struct tale t = hosts_tale(w, tag);

	if (t.what != TOLD_ENDED)
		fail_msg("%s: told %d: %s", tag, t.what, t.text ? t.text : "(nothing)");
	assert_int_equal(t.r.how, RESULT_EXITED);
	assert_int_equal(t.r.status, 3);
	hosts_await(w, hosts_empty(w));
	assert_int_equal(hosts_told(w, TOLD_ENDED, tag), 1);
	assert_int_equal(hosts_told(w, TOLD_LOST, tag) + hosts_told(w, TOLD_REFUSED, tag), 0);
}
