/*
 * conf.h - the configuration file: settings needed before there is a server to ask. Everything else
 * is an attribute, changed by qmgr.
 *
 *	# a comment
 *	nodes = n[1-4]:cpus=8:mem=16gb:fast
 *	[api]
 *	rate = 500
 *
 * One table has the options: the parser, the file that `make install` writes and the documentation
 * read it. Programs that run with more rights than a manager has (prologue, epilogue) are here, and
 * not among the attributes.
 */
#ifndef SERVER_CONF_H
#define SERVER_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* Texts are never NULL; "" means not set. */
struct conf {
	char *store;  /* "" or a URL for store_open() */
	char *nodes;  /* text for conf_nodes_parse() */
	char *name;   /* name of the server; "": the host's */
	char *run_as; /* system mode: account the server runs as */
	char *policy;
	char *accounting; /* directory; "": the one beside the store */
	char *log_level;  /* name of a severity */
	bool root_jobs;
	char *cgroup; /* auto, v2, v1, none */
	char *bind;   /* auto, yes, no */
	char *prologue, *epilogue;
	int64_t program_limit; /* time limit of each of them, seconds */
	int64_t api_body;      /* bytes */
	int64_t api_connections, api_connections_per_user;
	int64_t api_rate; /* requests per second and user; 0: no limit */
	int64_t api_idle; /* seconds */
	bool offline;
	int64_t offline_wait; /* seconds */
	char *mail_program;
	char *hook_directory;	  /* "": the one beside the configuration file */
	char *listen;		  /* "[ADDRESS:]PORT", "none", or "": depends on the mode */
	char *address;		  /* "HOST" or "HOST:PORT", or "": the host's name */
	int64_t certificate_life; /* seconds, like the other durations */
	int64_t heartbeat;
	char *amounts_program; /* or "" */
	int64_t amounts_every, amounts_timeout;
	char *topology; /* file, or "" */
	char *health;	/* program, or "" */
	int64_t health_every, health_timeout;
	bool munge;
	char *page_listen, *page_certificate, *page_key; /* or "" */
	int64_t connections;				 /* maximum TLS connections */
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
	const char *section; /* "" before the first section */
	const char *name;
	enum conf_type type;
	size_t at; /* offset in struct conf: char *, bool or int64_t */
	const char *initial;
	int64_t min, max;
	const char *words;
	const char *about;
};

extern const struct conf_option conf_table[];
extern const int nconf;

void conf_init(struct conf *c); /* sets all defaults */
void conf_fini(struct conf *c);
/* Reads a file over the values in `c`. -ENOENT: no such file; -EINVAL with "FILE:LINE: what is
 * wrong, what is allowed": `c` is unchanged. */
int conf_load(struct conf *c, const char *path, struct err *err);
/* Does the same for a text; messages call it `path`. */
int conf_read(struct conf *c, const char *path, const char *text, size_t n, struct err *err);
/* Sets one option by name, "nodes" or "api.rate", as from a command line. */
int conf_set(struct conf *c, const char *name, const char *value, struct err *err);

/* The result of reading a whole file, including errors. */
#define CONF_OPTIONS_MAX 64
struct conf_report {
	/* a line for each error: "FILE:LINE: what is wrong, what is allowed" */
	struct strbuf text;
	int mistakes, options;		/* numbers of errors and of options */
	int64_t line[CONF_OPTIONS_MAX]; /* line where conf_table[i] was given; 0: not given */
};
/* Like conf_load(), but continues after an error; correct options are set. -errno: the file
 * cannot be read. */
int conf_load_all(struct conf *c, const char *path, struct conf_report *ret, struct err *err);
/* Checks a file for people (conf_check.c): writes all errors and warnings (contradictions, files
 * that others may write), a line each, or that all is correct. Returns the number of errors;
 * -errno: the file cannot be read. */
int conf_check(const char *path, bool system, struct strbuf *out, struct err *err);
/* Parses "[ADDRESS:]PORT": the port, and the address without brackets ("" if there is none).
 * -EINVAL. */
int conf_listen_parse(const char *text, char *ret_address, size_t size, int *ret_port, struct err *err);
/* Writes a file with all options, explained and commented out. */
void conf_write_example(struct strbuf *out);

/* ---- nodes ---- */

#define CONF_NODES_MAX 100000

struct conf_node {
	char *name;
	int64_t cpus;
	int64_t memory;	    /* KiB; 0: not given */
	int64_t disk, swap; /* KiB */
	int64_t gpus;
	char **feature;	 /* NULL-terminated, or NULL */
	char *partition; /* NULL: not in a partition */
};

struct conf_nodes {
	bool automatic; /* "auto": this machine as one node with all its CPUs; `node` is empty */
	bool none;	/* "none": no jobs on this machine; `node` is empty */
	VEC(struct conf_node) node;
};

/* Parses the nodes: "auto"; "none"; "4x8", four nodes n1 to n4 of eight CPUs;
 * "n[1-4]:cpus=8:mem=16gb:disk=1tb:swap=4gb:gpus=1:fast:partition=A"; "parts:8,8,16", partitions
 * A, B and C of 8, 8 and 16 nodes of one CPU; groups of the last three joined by blanks or '+'.
 * Overwrites *ret, which the caller gives to conf_nodes_fini(). -EINVAL leaves it unchanged. */
int conf_nodes_parse(const char *text, struct conf_nodes *ret, struct err *err);
void conf_nodes_fini(struct conf_nodes *n);
/* Returns true if a node may have that name: up to 63 letters, digits, '.', '-' and '_',
 * beginning with a letter or digit. */
bool conf_node_name_good(const char *name);

#endif
