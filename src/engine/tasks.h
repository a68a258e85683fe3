/*
 * tasks.h - lets programs of a job start others on its other hosts: the service that an agent, and the server for its own machine, has.
 *
 *	pbs_rsh --(agent.sock, peer credentials)--> tasks here --(TLS, node certificates)--> tasks there --(run/task.h)--> shepherd there
 *
 * Who may: the caller's uid must be the job's (the shepherd of its part here says whose it is), and the node one of the job's. The other end believes
 * a host only for jobs that run on both: its certificate's name and join must be among the hosts that the server wrote into the part's order.
 *
 * Frames (net/link.h) on both ways, after the first, which is {"t":"task","tag","node","argv","env","workdir","rows","columns","merge"}:
 *	to the task:	in + data, in_end, signal {"signal"}, window {"rows","columns"}
 *	from it:	started {"pid"}, out + data, err + data, exit {"how","status"} | refused {"reason"}: the last
 */
#ifndef ENGINE_TASKS_H
#define ENGINE_TASKS_H

#include "net/link.h"

struct tasks;

struct tasks_options {
	const char *socket; /* RUN/agent.sock, made 0666 */
	const char *live;
	const char *name; /* this host's node, as certificates have it; the server's own name on its machine */
	struct tls_context
		*tls; /* for connections to other hosts; tasks_identity() changes it. NULL: none are possible */
	bool apart; /* each task has a process of its own, which outlives this one; forked, so not for large processes */
	int most, most_of_one; /* tasks at once, and of one user; 0: as usual */
	int patience; /* ms for another host that can't be reached, as while its agent is upgraded; 0: as usual */
};

int tasks_start(uv_loop_t *loop, const struct tasks_options *o, struct tasks **ret, struct err *err);
void tasks_identity(struct tasks *t, struct tls_context *tls);
/* Someone was revoked: tasks that are his, or with him, end; in processes of their own, too. Links from him are the listener's to end. */
void tasks_revoke(struct tasks *t, const struct revoked *r);
/* A link from another host whose first frame has "t":"task": it is taken over. */
void tasks_serve(struct tasks *t, struct link *l, json_t *first);
void tasks_stop(struct tasks *t); /* connections are closed, and so tasks end that are not apart */

#endif
