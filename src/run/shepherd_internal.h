/*
 * shepherd_internal.h - what the two halves of a shepherd share: shepherd.c begins and ends an attempt, watch.c is there while it runs.
 */
#ifndef RUN_SHEPHERD_INTERNAL_H
#define RUN_SHEPHERD_INTERNAL_H

#include <sys/resource.h>

#include "run/crew.h"
#include "run/launch.h"
#include "run/lease.h"
#include "run/output.h"
#include "run/pty.h"
#include "run/saving.h"
#include "run/shepherd.h"

#define SECOND INT64_C(1000000)
#define NEVER INT64_MAX
#define SAMPLE_FIRST (SECOND / 4) /* how soon memory is looked at; ... */
#define SAMPLE_LIMITED SECOND	  /* ... how often when there is a limit; ... */
#define SAMPLE_MOST (30 * SECOND) /* ... else ever more seldom, for the peak */

enum stage { RUNNING, ASKED, KILLED };

struct shepherd {
	const struct order *o;
	const struct shepherd_place *place;
	struct result r;
	struct strbuf say; /* becomes the reason */
	struct output output;
	struct pty pty;
	struct launch launch;
	struct crew crew;
	struct lease lease;
	struct saving saving;
	poll_list fds;
	int signals, clock; /* signalfd and timerfd, if more than signals must be waited for; else -1 */
	off_t live_at;
	char *trouble; /* shared with the first process */
	pid_t job;     /* the first process, 0 when it has ended */
	enum stage stage;
	int ordered;					   /* the last signal by order */
	bool paused;					   /* by order: SIGSTOP, and no SIGCONT since */
	int64_t started, kill_at, sample_at, sample_every; /* boot_us() */
	int64_t told_at;				   /* when the server was told last what it uses */
	int64_t share_at;				   /* its quota is set anew then (share.h) */
	int64_t output_at;				   /* us: next look at output in the spare directory */
	int64_t warned, warn_again;			   /* the end its terminal was warned of; not before */
	struct rusage before;				   /* of children that were not the job's */
};

int64_t shepherd_wall_us(void);
int64_t shepherd_walltime(const struct order *o);		/* the order's, or what it was changed to since */
int64_t shepherd_cpu_ms(const struct shepherd *s);		/* used so far, by all of it */
void shepherd_ended(struct shepherd *s);			/* notes when, and how long it ran */
int shepherd_watch_begin(struct shepherd *s, struct err *err);	/* descriptors that shepherd_watch() needs */
void shepherd_watch(struct shepherd *s);			/* until nothing of it is left */
int shepherd_client_await(struct shepherd *s, struct err *err); /* of an interactive job: until its client is there */
void shepherd_send(const struct shepherd *s, const char *text, size_t n); /* to the server */
void shepherd_lease_say(struct shepherd *s);				  /* the reason of one whose lease is over */

#endif
