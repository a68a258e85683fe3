/*
 * shepherd_internal.h - shared by the two halves of a shepherd: shepherd.c begins and ends an
 * attempt, watch.c looks after it while it is running.
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
#define SAMPLE_FIRST (SECOND / 4) /* time until memory is first measured */
#define SAMPLE_LIMITED SECOND	  /* interval if memory is limited */
/* longest interval if not: it grows up to this, to find the peak */
#define SAMPLE_MOST (30 * SECOND)

enum stage { RUNNING, ASKED, KILLED };

struct shepherd {
	const struct order *o;
	const struct shepherd_place *place;
	struct result r;
	struct strbuf say; /* text that becomes the reason */
	struct output output;
	struct pty pty;
	struct launch launch;
	struct crew crew;
	struct lease lease;
	struct saving saving;
	poll_list fds;
	/* signalfd and timerfd if there is more to wait for than signals; else -1 */
	int signals, clock;
	off_t live_at, said_at; /* see struct launch */
	char *trouble;		/* shared with the first process */
	pid_t job;		/* the first process; 0 after it has ended */
	enum stage stage;
	int ordered;					   /* last signal sent by order */
	bool paused;					   /* suspended by order: SIGSTOP, and no SIGCONT since */
	int64_t started, kill_at, sample_at, sample_every; /* boot_us() */
	int64_t told_at;				   /* when the usage was last reported to the server */
	int64_t share_at;				   /* when to set its quota again (share.h) */
	int64_t output_at;				   /* us: next check of output in the spare directory */
	int64_t warned, warn_again; /* end of which its terminal was warned; time of the next try */
	struct rusage before;	    /* usage of children that were not the job's */
	int64_t largest_kib;	    /* peak memory of the largest process that has ended */
};

int64_t shepherd_walltime(const struct order *o); /* the order's, or as changed since */
/* CPU time used so far by all of its processes */
int64_t shepherd_cpu_ms(const struct shepherd *s);
void shepherd_ended(struct shepherd *s); /* records the end and the run time */
/* Opens the descriptors that shepherd_watch() needs. */
int shepherd_watch_begin(struct shepherd *s, struct err *err);
void shepherd_watch(struct shepherd *s); /* returns once all processes of the attempt have ended */
/* Waits for the client of an interactive job. */
int shepherd_client_await(struct shepherd *s, struct err *err);
/* Sends a datagram to the server. */
void shepherd_send(const struct shepherd *s, const char *text, size_t n);
/* Sets the reason of an attempt whose lease has ended. */
void shepherd_lease_say(struct shepherd *s);

#endif
