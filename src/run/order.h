/*
 * order.h - everything needed to run one attempt of a job on this host, and its result.
 *
 * An order travels from the server to the nursery as JSON, a result from the shepherd to the
 * server; both through the functions here, so that the two sides may have different versions
 * (unknown keys are ignored, missing ones have defaults).
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

#define BY_NAME ((uid_t)-1) /* a uid that means: uid and gid are this host's for the user's name */

/* A node of the job and the host that serves it. */
struct order_host {
	const char *name;    /* the node */
	const char *address; /* "10.0.0.2:7723": where other hosts reach its tasks; "": nowhere */
	int part;	     /* nodes of one host share a part */
	uint64_t join;	     /* join number of its certificate; 0: the server's own machine */
};

/* A file that is carried between hosts for a job (engine/errands.h). */
enum file_use {
	FILE_OUT, /* the output, to be delivered */
	FILE_ERR, /* the error output, to be delivered */
	FILE_IN,  /* copied in before the job starts */
	FILE_BACK /* copied back after it has ended */
};
struct order_file {
	enum file_use use;
	/* IN, BACK: absolute, or relative to the working directory; OUT, ERR: NULL, it is in
	 * `spare` */
	const char *here;
	/* path on the other host, absolute. A name without '/' is a file that the server keeps
	 * itself */
	const char *path;
	const char *host;    /* node name, as in tickets; "": the server's machine */
	const char *title;   /* name shown to users */
	const char *address; /* "10.0.0.2:7723" */
	uint64_t join;	     /* join number of its certificate; 0: the server's */
};

/* Fingerprint of the script's text: a different text is not run. Without either member, any text
 * is. */
struct order_print {
	const char *script_sha256; /* in hex; NULL: not known */
	/* 61 bits, for hosts that don't know script_sha256; only used if that is missing; 0: not
	 * known */
	int64_t script_hash;
};

/* Settings of an interactive job. */
struct order_terminal {
	/* path of the socket at which the host takes terminals (see pty.h); NULL: none */
	const char *pty;
	int64_t patience; /* seconds that its client may be disconnected; <= 0: 30 */
	/* seconds before the end of the walltime at which to show a warning; 0: never; < 0: five
	 * minutes, or a tenth of the walltime */
	int64_t warning;
};

/* The site's scripts around the job. */
struct order_site {
	const char *prologue, *epilogue;		/* or NULL; run as root in system mode, else as the user */
	int64_t site_seconds;				/* seconds that each of them may take; <= 0: 300 */
	const char *name, *queue, *resources, *account; /* passed to them as arguments */
};

/* Settings of a job that has a share of a host's CPUs (share.h). */
struct order_share {
	int64_t share; /* thousandths of a CPU; 0: it has its CPUs to itself */
	/* the CPUs that it requested, in thousandths: the most it may use to catch up */
	int64_t share_most;
	int64_t share_work; /* milliseconds of CPU time that it should get within share_time */
	int64_t share_time; /* seconds from its start */
	/* on a workstation: runs behind everything else on the machine; set by the host itself */
	bool background;
};

struct order_gpus {
	int *gpus; /* indexes: CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES, GPU_DEVICE_ORDINAL */
	int ngpus; /* 0: those variables are set to "" if `hide_gpus`, else left alone */
	bool hide_gpus;
	/* text of PBS_GPUFILE, a line HOST-gpuN for each GPU of the job; NULL: none */
	const char *gpufile;
};

/* Files carried between hosts by the process in front of the nursery (engine/errands.h). */
struct order_carry {
	struct order_file *carried;
	int ncarried;
	const char *ticket, *signature; /* proof that the server ordered it (engine/ticket.h) */
	int64_t deliver_for;		/* seconds to keep trying a home that can't be reached */
	/* 1: the output, 2: the error output are written to `spare` from the beginning */
	int spool;
};

/* Settings of an order that another machine's server wrote. */
struct order_foreign {
	/* uid, gid, home and shell are this host's for `user`, not the order's; the host replaces
	 * @STATE@, @RUN@ and @BIN@ in paths and environment */
	bool by_name;
	bool look_up; /* the replacing is done; the nursery looks the user up */
	/* number of entries at the end of env that the server added, in which the words are
	 * replaced */
	int nplaced;
};

struct identity;
/* How to run the shell. */
struct order_manner {
	bool shell_given; /* the shell is from -S and takes precedence over "#!" */
	bool login;	  /* start it as a login shell */
};

struct order {
	const char *id; /* "12.host" or "12[3].host": PBS_JOBID, and the name of the node file */
	/* "12" or "12-3", then ".ATTEMPT": the name of the live file; contains no '/' */
	const char *tag;
	uid_t uid; /* the job's user; the nursery refuses users it does not allow */
	gid_t gid;
	const char *user; /* its name: initgroups, LOGNAME, USER */
	const char *home;
	const char *shell; /* -S, or the user's: used for a script without "#!"; NULL: /bin/sh */
	struct order_manner manner;
	/* path of the script, readable by the user; NULL: an interactive job (the shell itself) */
	const char *script;
	struct order_print print;
	char **argv; /* arguments of the script; NULL-terminated */
	/* path of `shunt`: `shunt launch` runs the script once for each line of the node file;
	 * NULL: it runs once */
	const char *launcher;
	char **env; /* the whole environment, NULL-terminated */
	/* where the job starts; if that fails: home, else "/", with a line in the error output */
	const char *workdir;
	/* absolute paths; err NULL: joined with out. Directories must exist; files are created 0666
	 * & ~umask */
	const char *out, *err;
	bool append; /* false: truncate */
	/* directory for output that can't be written to `out`/`err`: TAG.out, TAG.err; the result
	 * mentions it */
	const char *spare;
	int umask;		   /* -1: 077 */
	const char *nodefile;	   /* text of the node file: one host per line */
	const char *nodefile_path; /* path of the node file, mode 0644; removed at the end */
	/* directory made for the job, 0700, TMPDIR; removed at the end; NULL: none */
	const char *tmpdir;
	int64_t walltime; /* seconds until SIGTERM (tolerance included); < 0: no limit */
	int64_t grace;	  /* seconds from SIGTERM to SIGKILL */
	struct {
		int64_t memory; /* KiB; <= 0: no limit */
		/* KiB in addition to `memory`; only where control groups can limit it */
		int64_t swap;
		int64_t disk; /* KiB that it requested for its $TMPDIR; only tmpwatch.h counts them */
	};
	int64_t files; /* maximum open files; <= 0: unchanged */
	int *cpus;     /* OS indexes of the CPUs to bind to */
	int ncpus;     /* 0: no binding */
	struct order_share share;
	struct order_terminal terminal;
	struct order_site site;
	/* ---- a job on several hosts: one order for each, part 0 has the script ---- */
	int part;
	/* no program: the order only holds a place on this host, open for tasks (task.h), until a
	 * signal ends it; the result's cause and status don't count */
	bool room;
	/* all nodes of the job in the order of the node file, each once */
	struct order_host *hosts;
	int nhosts; /* 0: it takes no tasks */
	/* ---- a host that another machine's server gives orders to ---- */
	struct order_gpus gpu;
	/* seconds: it ends itself (CAUSE_LEASE) when LIVE/.lease is older; <= 0: never */
	int64_t lease;
	struct order_foreign foreign;
	struct order_carry carry;
	struct order_checkpoint checkpoint;
};

enum result_how {
	RESULT_EXITED,	    /* `status` is the exit code */
	RESULT_SIGNALED,    /* `status` is the signal */
	RESULT_NOT_STARTED, /* `reason` has the cause; the job never ran: another attempt may */
	RESULT_RUNS,	    /* not a result yet: usage so far, and current memory */
};

enum result_cause { /* why it ended, if not by itself */
		    CAUSE_ITSELF,
		    CAUSE_WALLTIME,
		    CAUSE_MEMORY,
		    CAUSE_ORDERED, /* a signal sent by nursery_signal() */
		    CAUSE_HUNG_UP, /* interactive: the client went away */
		    /* the host did not hear from the server for too long: another attempt may be
		     * made elsewhere */
		    CAUSE_LEASE,
		    /* the host is shutting down: another attempt may be made elsewhere */
		    CAUSE_SHUTDOWN,
};

#define RESULT_EXIT_MAX 255
#define RESULT_SIGNAL_MAX 127 /* greatest signal number, see wait(2) */
/* milliseconds or KiB; sums of many still fit into 64 bits */
#define RESULT_USE_MAX 1000000000000000LL

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
	int64_t started_us, ended_us; /* wall clock, microseconds since 1970; not for durations */
	/* run time by a clock that is never set; 0: it did not run, or the host is older */
	int64_t ran_ms;
	int64_t cpu_ms;	    /* user and system time of the whole tree */
	int64_t memory_kib; /* peak memory */
	pid_t session;	    /* session of the job's first process */
	const char *reason; /* a sentence, or NULL: NOT_STARTED, memory, lease, spare output */
	/* CAUSE_MEMORY: it was not memory, but what its $TMPDIR held of the disk (tmpwatch.h). Older
	 * servers know only the cause. */
	bool disk;
	bool unclear;	    /* NOT_STARTED: the cause may be the job or its user as well as the host */
	bool ready;	    /* not a result yet, but a room has opened: no other member counts */
	bool saved;	    /* not a result yet, but `saves` has changed: no other member counts */
	struct saves saves; /* checkpoint.h */
};

struct json_t;
struct schema;

/* Texts may hold any bytes but NUL; a text that is not UTF-8 is written as {"hex": "..."}. */
void order_write(const struct order *o, struct strbuf *out);
void result_write(const struct result *r, struct strbuf *out);
void saves_write(const struct saves *v, struct strbuf *out);
/* Reads an order and checks names, absolute paths and sizes. *ret points into the arena. */
int order_load(const struct json_t *object, struct arena *a, struct order *ret, struct err *err);
int result_load(const struct json_t *object, struct arena *a, struct result *ret, struct err *err);
int saves_load(const struct json_t *object, struct saves *ret); /* returns 0 or -EINVAL */
/* The same, from text. */
int order_read(const char *text, size_t n, struct arena *a, struct order *ret, struct err *err);
int result_read(const char *text, size_t n, struct arena *a, struct result *ret, struct err *err);
int saves_read(const char *text, size_t n, struct saves *ret);
/* Rows of struct result and struct saves, for frames that contain one. */
extern const struct schema result_schema, saves_schema;

/* Converts an order with `by_name` to one of this host with `look_up` (run/order_place.c): `state`,
 * `run` and `bin` are the host's own directories. Refuses, with a sentence, paths in the host's
 * directories that a server must not use. Changes are allocated in the arena. */
int order_settle(struct order *o, const char *state, const char *run, const char *bin, struct arena *a,
		 struct err *err);
/* Fills in the rest from the user, whom the nursery has looked up. */
void order_own(struct order *o, const struct identity *who, struct arena *a);

#endif
