/*
 * conf.h - the configuration file: what must be known before there is a server to ask. Everything else is an
 * attribute, changed by qmgr.
 *
 *	# a comment
 *	nodes = n[1-4]:cpus=8:mem=16gb:fast
 *	[api]
 *	rate = 500
 *
 * One table names the options: the parser, the file that `make install` writes and the documentation read it.
 * Programs that run with more rights than a manager has (prologue, epilogue) are here, and not among the attributes.
 */
#ifndef SERVER_CONF_H
#define SERVER_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* Texts are never NULL: "" where there is none. */
struct conf {
	char *store;  /* "" or a URL as store_open() takes it */
	char *nodes;  /* conf_nodes_parse() */
	char *name;   /* of the server: "" for the host's */
	char *run_as; /* system mode: whom the server runs as */
	char *policy;
	char *accounting; /* directory; "" for the one beside the store */
	bool root_jobs;
	char *cgroup; /* auto, v2, v1, none */
	char *bind;   /* auto, yes, no */
	char *prologue, *epilogue;
	int64_t program_limit; /* seconds that each of them may take */
	int64_t api_body;      /* bytes */
	int64_t api_connections, api_connections_per_user;
	int64_t api_rate; /* requests a second and user; 0: any */
	int64_t api_idle; /* seconds */
	bool offline;
	int64_t offline_wait; /* seconds */
	char *mail_program;
	char *hook_directory;	  /* "" for the one beside the file */
	char *listen;		  /* "[ADDRESS:]PORT", "none", or "": by the mode */
	char *address;		  /* "HOST" or "HOST:PORT", or "": the host's name */
	int64_t certificate_life; /* seconds, as all of these */
	int64_t heartbeat;
	char *amounts_program; /* or "" */
	int64_t amounts_every, amounts_timeout;
	char *topology; /* file, or "" */
	char *health;	/* program, or "" */
	int64_t health_every, health_timeout;
	bool munge;
	char *page_listen, *page_certificate, *page_key; /* or "" */
	int64_t connections;				 /* over TLS */
};

enum conf_type {
	CONF_TEXT,
	CONF_PATH,
	CONF_WORD,
	CONF_BOOL,
	CONF_NUMBER,
	CONF_SECONDS,
	CONF_BYTES,
	CONF_NODES,
	CONF_POLICY,
	CONF_LISTEN,
	CONF_ADDRESS
};

struct conf_option {
	const char *section; /* "" at the top */
	const char *name;
	enum conf_type type;
	size_t at; /* in struct conf: char *, bool or int64_t */
	const char *initial;
	int64_t min, max;
	const char *words;
	const char *about;
};

extern const struct conf_option conf_table[];
extern const int nconf;

void conf_init(struct conf *c); /* all defaults */
void conf_fini(struct conf *c);
/* Reads a file on top of what `c` holds. -ENOENT if there is none; -EINVAL with "FILE:LINE: what is wrong, what is
 * allowed", and `c` is as it was. */
int conf_load(struct conf *c, const char *path, struct err *err);
/* The same over text, `path` being what messages call it. */
int conf_read(struct conf *c, const char *path, const char *text, size_t n, struct err *err);
/* One option by name, "nodes" or "api.rate", as from a command line. */
int conf_set(struct conf *c, const char *name, const char *value, struct err *err);

/* What reading a whole file found, mistakes and all. */
#define CONF_OPTIONS_MAX 64
struct conf_report {
	struct strbuf text;		/* a line for each mistake: "FILE:LINE: what is wrong, what is allowed" */
	int mistakes, options;		/* how many */
	int64_t line[CONF_OPTIONS_MAX]; /* where conf_table[i] was given; 0: it was not */
};
/* As conf_load(), but goes on after a mistake; options that are right are set. -errno: it can't be read. */
int conf_load_all(struct conf *c, const char *path, struct conf_report *ret, struct err *err);
/* For people (conf_check.c): writes all mistakes, and what looks like one (contradictions, files that others may write), a line each;
 * else that all is right. Returns the number of mistakes; -errno: it can't be read. */
int conf_check(const char *path, bool system, struct strbuf *out, struct err *err);
/* "[ADDRESS:]PORT": the port, and the address without brackets ("" if there is none). -EINVAL. */
int conf_listen_parse(const char *text, char *ret_address, size_t size, int *ret_port, struct err *err);
/* A file with all options, explained and commented out. */
void conf_write_example(struct strbuf *out);

/* ---- nodes ---- */

#define CONF_NODES_MAX 100000

struct conf_node {
	char *name;
	int64_t cpus;
	int64_t memory;	    /* KiB; 0: not said */
	int64_t disk, swap; /* KiB */
	int64_t gpus;
	char **feature;	 /* NULL-terminated, or NULL */
	char *partition; /* NULL: it is shared */
};

struct conf_nodes {
	bool automatic; /* "auto": this machine as one node with all its CPUs; `node` is empty */
	bool none;	/* "none": no jobs on this machine; `node` is empty */
	VEC(struct conf_node) node;
};

/* "auto"; "none"; "4x8", four nodes n1 to n4 of eight CPUs; "n[1-4]:cpus=8:mem=16gb:disk=1tb:swap=4gb:gpus=1:fast:partition=A"; "parts:8,8,16", partitions A, B and C of
 * so many nodes of one CPU; groups of the last three joined by blanks or '+'. Overwrites *ret, which the caller gives to conf_nodes_fini(). -EINVAL leaves it as it was.
 * */
int conf_nodes_parse(const char *text, struct conf_nodes *ret, struct err *err);
void conf_nodes_fini(struct conf_nodes *n);
/* Whether a node may have that name: up to 63 letters, digits, '.', '-' and '_', beginning with a letter or digit. */
bool conf_node_name_good(const char *name);

#endif
