/*
 * hosts.h - a server's engine and other hosts to test it with. Each host has a directory, a nursery and a real local engine of its own; its agent, a
 * few lines here, speaks docs/protocol.md over a link that can be cut and healed at any moment. Server and hosts have a loop each, so that either can be
 * left behind.
 */
#ifndef SUPPORT_HOSTS_H
#define SUPPORT_HOSTS_H

#include "base/hostlist.h"
#include "engine/engine.h"
#include "support/nest.h"

#define HOSTS 3 /* n1, n2, n3; and n0, the server's own machine */

enum told { TOLD_STARTED = 1, TOLD_REFUSED, TOLD_ENDED, TOLD_LOST };

struct tale { /* what the listener was told */
	enum told what;
	char *tag, *text; /* text: reason or why, NULL if that was NULL */
	struct result r;
	const char *host; /* REFUSED, LOST: whose part it was, or NULL */
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
	struct far far[HOSTS + 1]; /* [0] has a nest only */
	bool here;		   /* the engine has this machine, too */
	VEC(struct tale) tales;
	struct saves saves;	    /* the last that was told of an attempt's checkpoints */
	name_list log;		    /* what hosts were asked for: "n1 order 7.1" */
	int64_t cpu_ms, memory_kib; /* of all results that hosts told, each once */
};

int hosts_setup(void **state); /* all three are connected */
int hosts_setup_here(void **state);
int hosts_teardown(void **state); /* also checks that nothing runs any more, and that no live file is left */

void hosts_turn(struct hosts *w);
/* Until it is so; fails after half a minute. */
#define hosts_await(w, condition)                                                                                      \
	do {                                                                                                           \
		for (int patience_ = 0; !(condition); patience_++) {                                                   \
			if (patience_ > 30000)                                                                         \
				fail_msg("%s:%d: %s does not come", __FILE__, __LINE__, #condition);                   \
			hosts_turn(w);                                                                                 \
		}                                                                                                      \
	} while (0)

/* Only the hosts' side goes on; the server hears nothing. */
#define hosts_await_agents(w, condition)                                                                               \
	do {                                                                                                           \
		for (int patience_ = 0; !(condition); patience_++) {                                                   \
			if (patience_ > 30000)                                                                         \
				fail_msg("%s:%d: %s does not come", __FILE__, __LINE__, #condition);                   \
			uv_run((w)->agents, UV_RUN_NOWAIT);                                                            \
			usleep(1000);                                                                                  \
		}                                                                                                      \
	} while (0)

void host_cut(struct hosts *w, int i);	/* what was on the way is gone */
void host_heal(struct hosts *w, int i); /* connects, and waits until the server has heard its hello */
/* The server is killed and comes again: a new engine that knows nothing. Links are cut. */
void hosts_restart(struct hosts *w);

/* A job whose script is on host[0], with rooms on the others; "%s" in the script is the tag. It is flushed. */
struct gang_parts {
	struct part_order part[HOSTS + 1];
	int n;
};
struct gang_parts hosts_parts(struct hosts *w, const char *tag, const char *script, const char *hosts); /* "123" */
void hosts_start(struct hosts *w, const char *tag, const char *script, const char *hosts);
enum attempt_state hosts_attach(struct hosts *w, const char *tag, const char *hosts);

int hosts_told(struct hosts *w, enum told what, const char *tag); /* how often */
struct tale hosts_tale(struct hosts *w, const char *tag);	  /* waits for its end, and forgets it */
int hosts_logged(struct hosts *w, const char *line);		  /* its place + 1; 0: never */
enum live_state hosts_live(struct hosts *w, int i, const char *tag);
pid_t hosts_shepherd(struct hosts *w, int i, const char *tag);
bool hosts_empty(struct hosts *w);			    /* no live file anywhere */
char *hosts_file(struct hosts *w, int i, const char *name); /* in the host's work; NULL: not there */
void hosts_touch(struct hosts *w, int i, const char *name);

#endif
