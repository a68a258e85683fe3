/*
 * tasks.h - lets programs of a job start others on its other hosts: a service of every agent, and
 * of the server for its own machine.
 *
 *	pbs_rsh --(agent.sock, peer credentials)--> tasks here
 *		--(TLS, node certificates)--> tasks there --(run/task.h)--> shepherd there
 *
 * Permissions: the caller's uid must be the job's (the shepherd of its part here knows it), and the
 * node must be one of the job's. The other end trusts a host only for jobs that run on both: its
 * certificate's name and join must be among the hosts that the server wrote into the part's order.
 *
 * The server lets a job's owner enter it from anywhere (tasks_enter()); agents trust it to have
 * checked that. Its first frame is repeated until the shepherd takes tasks: "await".
 *
 * The first frame (net/link.h) is
 *	{"t":"task","tag","node","argv","env","workdir","rows","columns","merge","await"}
 *
 *	to the task:	in + data, in_end, signal {"signal"}, window {"rows","columns"}
 *	from it:	started {"pid"}, out + data, err + data; last:
 *			exit {"how","status"} | refused {"reason"}
 */
#ifndef ENGINE_TASKS_H
#define ENGINE_TASKS_H

#include "net/link.h"

struct tasks;

struct tasks_options {
	const char *socket; /* RUN/agent.sock, made 0666; NULL: none, for tasks_enter() alone */
	const char *live;
	/* this host's node name as in certificates; on the server's machine, the server's name */
	const char *name;
	/* for connections to other hosts; tasks_identity() changes it. NULL: none are possible */
	struct tls_context *tls;
	/* each task gets a separate process, which outlives this one; forked, so not for large
	 * processes */
	bool apart;
	int most, most_of_one; /* maximum tasks at once, and of one user; 0: the defaults */
	/* ms to wait for an unreachable host, for example while its agent is upgraded; 0: the
	 * default */
	int patience;
};

int tasks_start(uv_loop_t *loop, const struct tasks_options *o, struct tasks **ret, struct err *err);
/* Opens the socket, with that identity, if tasks_start() opened none. */
int tasks_open(struct tasks *t, const char *socket, struct tls_context *tls, struct err *err);
void tasks_identity(struct tasks *t, struct tls_context *tls);
/* Ends tasks that are from or on revoked hosts, including those in separate processes. The listener
 * ends links from them. */
void tasks_revoke(struct tasks *t, const struct revoked *r);
/* Takes over a link from another host whose first frame has "t":"task". */
void tasks_serve(struct tasks *t, struct link *l, json_t *first);
/* Takes a task of a client of the server's, which has checked that it may: of user `uid`, in the
 * attempt `tag`, on `host`; its `join` 0: on this one. The client sends the frames on `fd`. */
struct order_host;
void tasks_enter(struct tasks *t, int fd, uid_t uid, const char *tag, const struct order_host *host);
/* Closes connections, which ends the tasks that are not in separate processes. */
void tasks_stop(struct tasks *t);

#endif
