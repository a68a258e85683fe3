/*
 * order.h - everything it takes to run one attempt of a job on this host, and what became of it.
 *
 * An order travels from the server to the nursery as JSON; a result from the shepherd to the server as JSON, both through the
 * functions here, so that either side may be of another version (unknown keys are ignored, missing ones have defaults).
 */
#ifndef RUN_ORDER_H
#define RUN_ORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "run/checkpoint.h"

#define BY_NAME ((uid_t)-1) /* a uid: that of this host for the user's name, and so is the gid */

/* A node of the job and the host that serves it. */
struct order_host {
	const char *name;    /* the node */
	const char *address; /* "10.0.0.2:7723": where other hosts reach its tasks; "": nowhere */
	int part;	     /* nodes of one host share a part */
	uint64_t join;	     /* of its certificate; 0: the server's own machine */
};

/* A file that is carried between hosts for a job (engine/errands.h). */
enum file_use {
	FILE_OUT, /* the output, on its way home, */
	FILE_ERR, /* ... and the error output */
	FILE_IN,  /* brought before it starts, */
	FILE_BACK /* ... and away after its end */
};
struct order_file {
	enum file_use use;
	const char *here;    /* IN, BACK: absolute, or below the working directory; OUT, ERR: NULL, it is in `spare` */
	const char *path;    /* there: absolute. A name without '/' is a file that the server keeps itself */
	const char *host;    /* as tickets call it: the node; "": the server's machine */
	const char *title;   /* ... and as users do */
	const char *address; /* "10.0.0.2:7723" */
	uint64_t join;	     /* of its certificate; 0: the server's */
};

/* Of the script's text: another text is not run. Without both, anything is. */
struct order_print {
	const char *script_sha256; /* in hex; NULL: not known */
	int64_t script_hash; /* 61 bits, for hosts that don't know the other key: counts only where that is missing; 0: not known */
};

/* Of an interactive job. */
struct order_terminal {
	const char *pty;  /* path of the socket at which the host takes terminals (see pty.h); NULL: none */
	int64_t patience; /* for how many seconds its client may be away; <= 0: 30 */
	int64_t warning; /* seconds before the end of the walltime at which it shows a warning; 0: never; < 0: five minutes, or a tenth of the walltime */
};

/* The site's scripts around the job. */
struct order_site {
	const char *prologue, *epilogue;		/* or NULL; run as root in system mode, else as the user */
	int64_t site_seconds;				/* how long each of them may take; <= 0: 300 */
	const char *name, *queue, *resources, *account; /* what they are told */
};

/* Of a job that has a share of a host's CPUs (share.h). */
struct order_share {
	int64_t share;	    /* thousandths of a CPU; 0: it has its CPUs to itself */
	int64_t share_most; /* ... of the CPUs that it asked for: what it may have to catch up */
	int64_t share_work; /* milliseconds of CPU time that it is to have ... */
	int64_t share_time; /* ... in so many seconds from its start */
	bool background;    /* on a workstation: it runs behind everything that is not ours; said by the host itself */
};

struct order_gpus {
	int *gpus; /* indexes: CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES, GPU_DEVICE_ORDINAL */
	int ngpus; /* 0: those are set empty if `hide_gpus`, else left alone */
	bool hide_gpus;
	const char *gpufile; /* text of PBS_GPUFILE, a line HOST-gpuN for each GPU of the job; NULL: none */
};

/* What is carried between hosts, by what stands before the nursery (engine/errands.h). */
struct order_carry {
	struct order_file *carried;
	int ncarried;
	const char *ticket, *signature; /* engine/ticket.h: that the server wants it so */
	int64_t deliver_for;		/* seconds that a home which can't be reached is tried for */
	int spool; /* 1: the output, 2: the error output are written to `spare` from the beginning */
};

/* Of an order that another machine's server wrote. */
struct order_foreign {
	bool by_name; /* uid, gid, home and shell are this host's for `user`, not the order's; paths and environment have @STATE@, @RUN@ and @BIN@ replaced by the host */
	bool look_up; /* the latter has been done; its nursery looks the user up */
	int nplaced;  /* so many entries at the end of env are the server's own, and have them replaced */
};

struct identity;
/* How the shell is used. */
struct order_manner {
	bool shell_given; /* it is from -S and wins over "#!" */
	bool login;	  /* start it as a login shell */
};

struct order {
	const char *id;	 /* "12.host" or "12[3].host": PBS_JOBID, and the name of the node file */
	const char *tag; /* "12" or "12-3", then ".ATTEMPT": the name of the live file; no '/' in it */
	uid_t uid;	 /* whose job it is; the nursery refuses what is not allowed to it. */
	gid_t gid;
	const char *user; /* its name: initgroups, LOGNAME, USER */
	const char *home;
	const char *shell; /* -S, or the user's: used for a script without "#!"; NULL: /bin/sh */
	struct order_manner manner;
	const char *
		script; /* path of the script's file, readable by the user; NULL: an interactive job (the shell itself) */
	struct order_print print;
	char **argv; /* arguments of the script; NULL-terminated */
	const char *
		launcher; /* path of `shunt`: the script is run by `shunt launch`, once for each line of the node file; NULL: it is run once */
	char **env; /* whole environment, NULL-terminated */
	const char *
		workdir; /* where it starts; if that can't be: home, else "/", and a line in the error output says so */
	const char *out,
		*err; /* absolute paths; err NULL: joined with out. Directories must exist; created 0666 & ~umask */
	bool append;  /* else truncated */
	const char *
		spare; /* directory for output that can't be written at `out`/`err`: TAG.out, TAG.err; said in the result */
	int umask;     /* -1: 077 */
	const char *nodefile;	   /* text of the node file: a host per line; */
	const char *nodefile_path; /* ... and where to write it, mode 0644; removed at the end */
	const char *tmpdir;	   /* made 0700 for the job, TMPDIR; removed at the end; NULL: none */
	int64_t walltime;	   /* seconds until SIGTERM (with tolerance added); < 0: no limit */
	int64_t grace;		   /* seconds from SIGTERM to SIGKILL */
	struct {
		int64_t memory; /* KiB; <= 0: no limit */
		int64_t swap;	/* KiB beyond that; only where control groups can limit it */
	};
	int64_t files; /* open files; <= 0: as they are */
	int *cpus;     /* OS indexes of the CPUs to bind to */
	int ncpus;     /* 0: no binding */
	struct order_share share;
	struct order_terminal terminal;
	struct order_site site;
	/* ---- of a job on several hosts: one order for each, part 0 being the one with the script ---- */
	int part;
	bool room; /* no program: it keeps its place on this host, open for tasks (task.h), until a signal ends it; cause and status don't count */
	struct order_host *hosts; /* all nodes of the job, in the node file's order, each once */
	int nhosts;		  /* 0: no tasks */
	/* ---- of a host that another machine's server orders ---- */
	struct order_gpus gpu;
	int64_t lease; /* seconds: it ends itself (CAUSE_LEASE) when LIVE/.lease is older; <= 0: never */
	struct order_foreign foreign;
	struct order_carry carry;
	struct order_checkpoint checkpoint;
};

enum result_how {
	RESULT_EXITED,	    /* `status` is the exit code */
	RESULT_SIGNALED,    /* `status` is the signal */
	RESULT_NOT_STARTED, /* `reason` says why; it never ran: another attempt may */
	RESULT_RUNS,	    /* it is none yet: what it has used so far, and the memory that it has now */
};

enum result_cause { /* why it ended, when not by itself */
		    CAUSE_ITSELF,
		    CAUSE_WALLTIME,
		    CAUSE_MEMORY,
		    CAUSE_ORDERED, /* a signal that nursery_signal() was asked to send */
		    CAUSE_HUNG_UP, /* interactive: the client went away */
		    CAUSE_LEASE, /* the host had no word from the server for too long: another attempt may be made elsewhere */
		    CAUSE_SHUTDOWN, /* the host is being shut down: the same */
};

#define RESULT_EXIT_MAX 255
#define RESULT_SIGNAL_MAX 127		  /* as wait(2) has it */
#define RESULT_USE_MAX 1000000000000000LL /* milliseconds or KiB: sums of many stay within 64 bits */

/* Returns true if an attempt can have used that many milliseconds or KiB. */
static inline bool result_has(int64_t amount)
{
	return amount >= 0 && amount <= RESULT_USE_MAX;
}

struct result {
	const char *tag;
	enum result_how how;
	int status;
	enum result_cause cause;
	int64_t started_us, ended_us; /* wall clock, microseconds since 1970: when, not how long */
	int64_t ran_ms;	    /* how long it ran, by a clock that is never set; 0: it did not, or an older host's */
	int64_t cpu_ms;	    /* user + system of the whole tree */
	int64_t memory_kib; /* peak */
	pid_t session;	    /* of the job's first process */
	const char *reason; /* a sentence, or NULL: NOT_STARTED, memory, lease, spare output */
	bool unclear;	    /* NOT_STARTED: the cause may be the job or its user as well as the host */
	bool ready;	    /* it is none yet, but a room has opened: nothing else counts */
	bool saved;	    /* it is none yet, but `saves` has changed: nothing else counts */
	struct saves saves; /* checkpoint.h */
};

struct json_t;
struct schema;

/* Texts may hold any bytes but NUL: what is not UTF-8 travels as {"hex": "..."}. */
void order_write(const struct order *o, struct strbuf *out);
void result_write(const struct result *r, struct strbuf *out);
void saves_write(const struct saves *v, struct strbuf *out);
/* Reads an order and checks it: names, absolute paths, sizes. What *ret points to is the arena's. */
int order_load(const struct json_t *object, struct arena *a, struct order *ret, struct err *err);
int result_load(const struct json_t *object, struct arena *a, struct result *ret, struct err *err);
int saves_load(const struct json_t *object, struct saves *ret); /* or -EINVAL */
/* The same from text. */
int order_read(const char *text, size_t n, struct arena *a, struct order *ret, struct err *err);
int result_read(const char *text, size_t n, struct arena *a, struct result *ret, struct err *err);
int saves_read(const char *text, size_t n, struct saves *ret);
/* Rows of struct result and struct saves, for frames that hold one. */
extern const struct schema result_schema, saves_schema;

/* An order with `by_name` becomes one of this host (run/order_place.c), with `look_up`: `state`, `run` and `bin` are its own directories. Refuses, with a sentence,
 * paths in the host's directories that a server has no business with. What it changes is the arena's. */
int order_settle(struct order *o, const char *state, const char *run, const char *bin, struct arena *a,
		 struct err *err);
/* ... and gets the rest from its user, whom the nursery has looked up. */
void order_own(struct order *o, const struct identity *who, struct arena *a);

#endif
