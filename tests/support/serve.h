/*
 * serve.h - a small HTTP server over net/http, for the tests of both ends, in the test's own loop
 * or in a child process.
 *
 *	/echo		the request as JSON: method, path, query (q), header (X-Test), body
 *			(base64), uid, gid, pid, remote, page
 *	/hello		"hello"
 *	/big?n=N	N bytes
 *	/error		409 with code "bad_state"
 *	/later		the answer comes some turns later, from a timer
 *	/never		accepted and never answered
 *	/stream?n=N	N pieces of "piece %d\n"; with &by=wake one at a time, each after a
 *			wake; with &by=pause after pauses of its own
 *	/silent		a stream that never sends anything
 *	/shout		leaves HTTP: echoes input in capitals until the client shuts its direction
 *	/crash		the server exits at once, without an answer
 *	/stats		connections, requests, rejected, streams (open)
 */
#ifndef SUPPORT_SERVE_H
#define SUPPORT_SERVE_H

#include <sys/types.h>

#include "base/vec.h"
#include "net/http.h"

struct shout {
	int fd;
	void *handle;
};

struct serve {
	uv_loop_t loop;
	struct http *http;
	uv_timer_t tick;
	uv_check_t check;
	bool hold;   /* true: nothing is flushed */
	int handled; /* requests that the handler received */
	int streams; /* open streams */
	VEC(struct http_request *) later;
	VEC(struct serve_stream *) sleepers;
	VEC(struct shout) shouts;
	char directory[64], path[96];
};

extern const struct http_limits serve_limits;

/* Starts it in this process: turn the loop with serve_turn(). */
struct serve *serve_start(const struct http_limits *limits);
void serve_turn(struct serve *s);
void serve_stop(struct serve *s);

/* Starts it in a child process that listens at `path`. */
pid_t serve_fork(const char *path, const struct http_limits *limits);
/* Ends the child and returns its exit status: 0 on success. */
int serve_end(pid_t pid);

#endif
