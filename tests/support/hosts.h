/*
 * hosts.h - a server's engine with other hosts to test it. Each host has a directory, a nursery and
 * a real local engine of its own; its agent, a few lines here, speaks docs/protocol.md over a link
 * that can be cut and healed at any moment. Server and hosts have separate loops, so that either
 * can fall behind.
 */
#ifndef SUPPORT_HOSTS_H
#define SUPPORT_HOSTS_H

#include "base/hostlist.h"
#include "engine/engine.h"
#include "support/nest.h"

#define HOSTS 3 /* n1, n2, n3; n0 is the server's own machine */

enum told { TOLD_STARTED = 1, TOLD_REFUSED, TOLD_ENDED, TOLD_LOST };

struct tale { /* an event reported to the listener */
	enum told what;
	char *tag, *text; /* text: the reason, or NULL */
	struct result r;
	const char *host; /* REFUSED, LOST: host of the part, or NULL */
};

struct wire;
struct far { /* a host */
	struct hosts *w;
	char name[16];
	struct nest *nest;
	struct local *local;
	struct wire *wire; /* NULL: cut */
	name_list cleaning;
};

struct hosts {
	struct arena *a;
	uv_loop_t *server, *agents;
	struct engine *e;
	struct far far[HOSTS + 1]; /* [0] has only a nest */
	bool here;		   /* true if the engine also has this machine */
	VEC(struct tale) tales;
	struct saves saves; /* last report of an attempt's checkpoints */
	name_list log;	    /* requests that hosts received, such as "n1 order 7.1" */
	/* sums over all results that hosts reported, each counted once */
	int64_t cpu_ms, memory_kib;
};

int hosts_setup(void **state); /* connects all three */
int hosts_setup_here(void **state);
/* Checks that nothing is running any more and that no live file is left, and removes all. */
int hosts_teardown(void **state);

void hosts_turn(struct hosts *w);
/* Turns both loops until the condition holds; fails after half a minute. */
#define hosts_await(w, condition)                                                                                      \
	do {                                                                                                           \
		for (int patience_ = 0; !(condition); patience_++) {                                                   \
			if (patience_ > 30000)                                                                         \
				fail_msg("%s:%d: %s does not come", __FILE__, __LINE__, #condition);                   \
			hosts_turn(w);                                                                                 \
		}                                                                                                      \
	} while (0)

/* Turns only the hosts' loop; the server hears nothing. */
#define hosts_await_agents(w, condition)                                                                               \
	do {                                                                                                           \
		for (int patience_ = 0; !(condition); patience_++) {                                                   \
			if (patience_ > 30000)                                                                         \
				fail_msg("%s:%d: %s does not come", __FILE__, __LINE__, #condition);                   \
			uv_run((w)->agents, UV_RUN_NOWAIT);                                                            \
			usleep(1000);                                                                                  \
		}                                                                                                      \
	} while (0)

void host_cut(struct hosts *w, int i); /* loses data in transit */
/* connects, and waits until the server has received its hello */
void host_heal(struct hosts *w, int i);
/* Replaces the engine by a new one without state, as if the server was killed and restarted.
 * Cuts the links. */
void hosts_restart(struct hosts *w);

/* The parts of a job whose script runs on host[0], with empty parts on the others; "%s" in the
 * script is the tag. Flushes. */
struct gang_parts {
	struct part_order part[HOSTS + 1];
	int n;
};
struct gang_parts hosts_parts(struct hosts *w, const char *tag, const char *script, const char *hosts); /* "123" */
void hosts_start(struct hosts *w, const char *tag, const char *script, const char *hosts);
enum attempt_state hosts_attach(struct hosts *w, const char *tag, const char *hosts);

int hosts_told(struct hosts *w, enum told what, const char *tag); /* number of such events */
struct tale hosts_tale(struct hosts *w, const char *tag);	  /* waits for its end, and forgets it */
int hosts_logged(struct hosts *w, const char *line);		  /* position + 1; 0: never */
enum live_state hosts_live(struct hosts *w, int i, const char *tag);
pid_t hosts_shepherd(struct hosts *w, int i, const char *tag);
bool hosts_empty(struct hosts *w); /* no live file anywhere */
/* Reads a file in the host's work directory; NULL: missing. */
char *hosts_file(struct hosts *w, int i, const char *name);
void hosts_touch(struct hosts *w, int i, const char *name);

#endif
