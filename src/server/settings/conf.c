/*
 * conf.c - the configuration file.
 *
 * The file is read into a copy, and the copy is kept only if all of it was correct. It is opened
 * before anything else, so its messages are for the person who starts the server: file, line, what
 * is wrong, what is allowed.
 */
#include "server/settings/conf.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/lines.h"
#include "base/logline.h"
#include "base/suggest.h"
#include "base/timetext.h"
#include "core/reqtext.h"
#include "sched/policy.h"

#define SHOWN 60 /* characters of a faulty word shown in its message */

#define NOWHERE "?" /* section after a wrong heading: its options cannot be checked */

#define AT(field) .at = offsetof(struct conf, field)

const struct conf_option conf_table[] = {
	{"", "nodes", CONF_NODES, AT(nodes), .initial = "auto",
	 .about =
		 "The nodes: auto (this machine with its CPUs and GPUs), 4x8 (four nodes of eight CPUs), or "
		 "n[1-4]:cpus=8:mem=16gb:disk=1tb:swap=4gb:gpus=1:fast (the last being a feature), several joined by blanks. "
		 "partition=A in such a group makes its nodes a partition, or a part of it; parts:8,8,16 are partitions A, B and C with "
		 "8, 8 and 16 nodes of one CPU. The line may be repeated. none: no jobs on this machine, only on those that join."},
	{"", "store", CONF_TEXT, AT(store), .initial = "",
	 .about = "Where jobs are kept: a file for SQLite, or postgres://USER@HOST/DATABASE. Unset: shunt.db in the "
		  "state directory."},
	{"", "name", CONF_TEXT, AT(name), .initial = "",
	 .about = "The server's name, the NAME of job ids 12.NAME. Unset: the host's."},
	{"", "account", CONF_TEXT, AT(run_as), .initial = "shunt",
	 .about = "The account that the server runs as when it was started by root."},
	{"", "policy", CONF_POLICY, AT(policy), .initial = "shunt",
	 .about = "The scheduling policy of a new instance (\"shunt policies\" lists them); afterwards qmgr sets it."},
	{"", "accounting", CONF_PATH, AT(accounting), .initial = "",
	 .about = "Directory of the accounting records. Unset: accounting in the state directory."},
	{"", "log_level", CONF_WORD, AT(log_level), .initial = "notice", .words = SEVERITY_WORDS(" "),
	 .about = "The least severity that the server writes to its log."},

	{"run", "cgroup", CONF_WORD, AT(cgroup), .initial = "auto", .words = "auto v2 v1 none",
	 .about = "Control groups for jobs: those there are (auto), or only these."},
	{"run", "bind", CONF_WORD, AT(bind), .initial = "auto", .words = "auto yes no",
	 .about = "Bind jobs to the CPUs that the plan gave them. auto: where the nodes are real."},
	{"run", "root_jobs", CONF_BOOL, AT(root_jobs), .initial = "no", .about = "Root may have jobs."},
	{"run", "prologue", CONF_PATH, AT(prologue), .initial = "",
	 .about = "Program to run before each job, as root where the server is."},
	{"run", "epilogue", CONF_PATH, AT(epilogue), .initial = "", .about = "The same after each job."},
	{"run", "program_limit", CONF_SECONDS, AT(program_limit), .initial = "300", .min = 1, .max = 86400,
	 .about = "How long a prologue or an epilogue may take. Guaranteed deadlines are planned with it."},

	{"api", "body", CONF_BYTES, AT(api_body), .initial = "64mb", .min = 1 << 20, .max = INT64_C(1) << 30,
	 .about = "Size of one request."},
	{"api", "connections", CONF_NUMBER, AT(api_connections), .initial = "1000", .min = 4, .max = 100000,
	 .about =
		 "Connections at once. The local socket, TLS and the page each keep an eighth of them. At the limit a connection that idles is closed for a new one; root has some in reserve."},
	{"api", "connections_per_user", CONF_NUMBER, AT(api_connections_per_user), .initial = "200", .min = 2,
	 .max = 100000,
	 .about =
		 "Connections of one user at once, from everywhere; and of one address whose users are not known. At the limit one that idles is closed for a new one."},
	{"api", "rate", CONF_NUMBER, AT(api_rate), .initial = "5000", .min = 0, .max = 1000000,
	 .about = "Requests of one user in a second; 0 for any number."},
	{"api", "idle", CONF_SECONDS, AT(api_idle), .initial = "60", .min = 1, .max = 86400,
	 .about = "How long a connection may be idle."},

	{"offline", "use", CONF_BOOL, AT(offline), .initial = "yes",
	 .about =
		 "Jobs can be submitted, listed and changed while the server is down; that is done at its next start."},
	{"offline", "wait", CONF_SECONDS, AT(offline_wait), .initial = "3", .min = 0, .max = 86400,
	 .about =
		 "How long a command waits for a server that was killed or is being restarted, before it does without. "
		 "SHUNT_WAIT in a user's environment comes first."},

	{"mail", "program", CONF_PATH, AT(mail_program), .initial = "/usr/sbin/sendmail",
	 .about = "The mail program, called as sendmail is: with -i -t -f FROM and the mail as its input."},

	{"hooks", "directory", CONF_PATH, AT(hook_directory), .initial = "",
	 .about =
		 "Directory of the site's hooks, NAME.lua, which must belong to root or to the server's account. Unset: hooks, beside this file."},

	{"amounts", "program", CONF_PATH, AT(amounts_program), .initial = "",
	 .about =
		 "Program that the server runs now and then, as its own account, to learn how many of the site's licences (resources_available) are in use outside the cluster. It prints lines \"NAME TOTAL [IN-USE-ELSEWHERE]\"; SHUNT_USED has what jobs use."},
	{"amounts", "every", CONF_SECONDS, AT(amounts_every), .initial = "60", .min = 1, .max = 86400,
	 .about = "Seconds between two runs of that program."},
	{"amounts", "timeout", CONF_SECONDS, AT(amounts_timeout), .initial = "30", .min = 1, .max = 86400,
	 .about = "Seconds that it may take; then it is killed, and what it reported before still holds."},

	{"cluster", "listen", CONF_LISTEN, AT(listen), .initial = "",
	 .about = "[ADDRESS:]PORT for other machines: agents, and the API over TLS; or none. Unset: 7722 of a system's "
		  "server, none of a personal one."},
	{"cluster", "address", CONF_ADDRESS, AT(address), .initial = "",
	 .about = "What other machines call this server: HOST or HOST:PORT. Unset: the host's name."},
	{"cluster", "certificate_life", CONF_SECONDS, AT(certificate_life), .initial = "30d", .min = 60,
	 .max = INT64_C(315360000),
	 .about =
		 "How long a node's certificate is valid. Nodes renew theirs at two thirds of it; one that was away for "
		 "longer must join again."},
	{"cluster", "heartbeat", CONF_SECONDS, AT(heartbeat), .initial = "5", .min = 1, .max = 3600,
	 .about = "Seconds between two signs of life of an agent."},
	{"cluster", "topology", CONF_PATH, AT(topology), .initial = "",
	 .about =
		 "File with the tree of switches, in the format of Slurm's topology.conf. The nodes of a job are then kept at as few switches as possible. It is read when the server starts."},
	{"cluster", "health", CONF_PATH, AT(health), .initial = "",
	 .about =
		 "Program that each agent runs as root now and then: while it ends with another code than 0, its first "
		 "line of output is the node's note, and no job is started there."},
	{"cluster", "health_every", CONF_SECONDS, AT(health_every), .initial = "60", .min = 1, .max = 86400,
	 .about = "Seconds between two runs of the health program."},
	{"cluster", "health_timeout", CONF_SECONDS, AT(health_timeout), .initial = "30", .min = 1, .max = 86400,
	 .about = "Seconds that it may take; then the node is not well."},
	{"cluster", "munge", CONF_BOOL, AT(munge), .initial = "no",
	 .about = "Users of other machines may prove who they are by munge, instead of a token."},
	{"cluster", "connections", CONF_NUMBER, AT(connections), .initial = "10000", .min = 16, .max = 1000000,
	 .about = "Connections of nodes and other servers over TLS at once."},

	{"page", "listen", CONF_LISTEN, AT(page_listen), .initial = "",
	 .about =
		 "[ADDRESS:]PORT at which a system's server shows the page to browsers, over TLS. Users sign in by their password (PAM's "
		 "service shunt), by a token, or by the link that 'shunt page' prints. Unset: no page."},
	{"page", "certificate", CONF_PATH, AT(page_certificate), .initial = "",
	 .about =
		 "File with the certificate of that port, and with what is between it and the authority that browsers know (PEM). Read at the start and "
		 "on SIGHUP (systemctl reload), by the server's account."},
	{"page", "key", CONF_PATH, AT(page_key), .initial = "",
	 .about = "File with the certificate's key (PEM), which the server's account must be able to read."},
};
const int nconf = sizeof conf_table / sizeof *conf_table;

/* ---- values ---- */

static int number_parse(const char *text, int64_t *ret, struct err *err)
{
	size_t n = strspn(text, "0123456789");

	if (n == 0 || n > 18 || text[n])
		return err_set(err, -EINVAL, "must be a whole number, not \"%.*s\"", SHOWN, text);
	*ret = strtoll(text, NULL, 10);
	return 0;
}

static int bool_parse(const char *text, bool *ret, struct err *err)
{
	static const char *const word[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};

	for (int i = 0; i < 8; i++)
		if (strcasecmp(text, word[i]) == 0) {
			*ret = i % 2;
			return 0;
		}
	return err_set(err, -EINVAL, "must be yes or no, not \"%.*s\"", SHOWN, text);
}

static int amount_parse(const struct conf_option *o, const char *text, int64_t *ret, struct err *err)
{
	int64_t n = 0;
	int rc;

	if (o->type == CONF_SECONDS)
		rc = duration_parse(text, &n, err);
	else if (o->type == CONF_BYTES)
		rc = memory_parse(text, &n, err);
	else
		rc = number_parse(text, &n, err);
	if (rc == 0 && o->type == CONF_BYTES)
		n *= 1024;
	if (rc == 0 && (n < o->min || n > o->max))
		rc = err_set(err, -EINVAL, "must be from %lld to %lld%s, not %.*s", (long long)o->min,
			     (long long)o->max,
			     o->type == CONF_BYTES     ? " bytes"
			     : o->type == CONF_SECONDS ? " seconds"
						       : "",
			     SHOWN, text);
	if (rc == 0)
		*ret = n;
	return rc;
}

static int word_check(const struct conf_option *o, const char *text, struct err *err)
{
	size_t n = strlen(text);

	for (const char *p = o->words; *p; p += strspn(p, " ")) {
		size_t m = strcspn(p, " ");
		if (m == n && strncmp(p, text, n) == 0)
			return 0;
		p += m;
	}
	return err_set(err, -EINVAL, "must be one of %s, not \"%.*s\"", o->words, SHOWN, text);
}

static int policy_check(const char *text, struct err *err)
{
	const struct policy *p = policy_find(text);
	struct strbuf words = {0};
	char near[SUGGEST_SIZE];

	if (p && p->know != KNOW_RUNTIME)
		return 0;
	for (int i = 0; i < npolicies; i++)
		if (policies[i].know != KNOW_RUNTIME)
			strbuf_printf(&words, "%s ", policies[i].name);
	if (p)
		err_set(err, -EINVAL, "%s knows run times beforehand, which only the simulator can", p->name);
	else if (suggest_word(text, words.text, near))
		err_set(err, -EINVAL, "unknown policy \"%.*s\"; did you mean %s?", SHOWN, text, near);
	else
		err_set(err, -EINVAL, "unknown policy \"%.*s\"; \"shunt policies\" lists them", SHOWN, text);
	strbuf_fini(&words);
	return -EINVAL;
}

int conf_listen_parse(const char *text, char *ret_address, size_t size, int *ret_port, struct err *err)
{
	const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text, *from = text;
	size_t n = colon ? (size_t)(colon - text) : 0, digits = strspn(port, "0123456789");

	if (digits == 0 || digits > 5 || port[digits] || atoi(port) > 65535)
		return err_set(err, -EINVAL, "must be [ADDRESS:]PORT, as 7722 or 10.0.0.1:7722, not \"%.*s\"", SHOWN,
			       text);
	if (n >= 2 && from[0] == '[' && from[n - 1] == ']') {
		from++;
		n -= 2;
	} else if (memchr(from, ':', n)) {
		return err_set(err, -EINVAL, "an IPv6 address is written in brackets, as [::1]:7722, not \"%.*s\"",
			       SHOWN, text);
	}
	if (n >= size || (colon && n == 0))
		return err_set(err, -EINVAL, "the address of \"%.*s\" is %s", SHOWN, text, n ? "too long" : "missing");
	memcpy(ret_address, from, n);
	ret_address[n] = '\0';
	*ret_port = atoi(port);
	return 0;
}

static int listen_check(const char *text, struct err *err)
{
	char address[256];
	int port;

	if (!*text || strcmp(text, "none") == 0)
		return 0;
	return conf_listen_parse(text, address, sizeof address, &port, err);
}

/* Checks HOST, HOST:PORT, [V6] or [V6]:PORT. */
static int address_check(const char *text, struct err *err)
{
	static const char host[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
	size_t n = *text == '[' ? strspn(text + 1, "0123456789abcdefABCDEF:.") + 1 : strspn(text, host);
	char address[256];
	int port;

	if (*text == '[' && text[n] == ']')
		n++;
	else if (*text == '[')
		n = 0;
	if (!*text || (n && n < sizeof address && !text[n]))
		return 0;
	if (n && n < sizeof address && text[n] == ':' &&
	    conf_listen_parse(text, address, sizeof address, &port, err) == 0 && port > 0)
		return 0;
	return err_set(err, -EINVAL, "must be HOST or HOST:PORT, not \"%.*s\"", SHOWN, text);
}

static int text_check(const struct conf_option *o, const char *text, struct err *err)
{
	struct conf_nodes nodes;

	for (const char *p = text; *p; p++)
		if (iscntrl((unsigned char)*p) && *p != '\t')
			return err_set(err, -EINVAL, "has a control character");
	if (o->type == CONF_WORD)
		return word_check(o, text, err);
	if (o->type == CONF_POLICY)
		return policy_check(text, err);
	if (o->type == CONF_LISTEN)
		return listen_check(text, err);
	if (o->type == CONF_ADDRESS)
		return address_check(text, err);
	if (o->type == CONF_PATH && *text && *text != '/')
		return err_set(err, -EINVAL, "must be an absolute path, not \"%.*s\"", SHOWN, text);
	if (o->type == CONF_NODES) {
		int rc = conf_nodes_parse(text, &nodes, err);
		if (rc < 0)
			return rc;
		conf_nodes_fini(&nodes);
	}
	return 0;
}

static int option_set(struct conf *c, const struct conf_option *o, const char *text, struct err *err)
{
	void *at = (char *)c + o->at;

	if (o->type == CONF_BOOL)
		return bool_parse(text, at, err);
	if (o->type == CONF_NUMBER || o->type == CONF_SECONDS || o->type == CONF_BYTES)
		return amount_parse(o, text, at, err);
	int rc = text_check(o, text, err);
	if (rc == 0) {
		char *old = *(char **)at;
		*(char **)at = mem_strdup(text);
		free(old);
	}
	return rc;
}

static bool is_text(const struct conf_option *o)
{
	return o->type != CONF_BOOL && o->type != CONF_NUMBER && o->type != CONF_SECONDS && o->type != CONF_BYTES;
}

void conf_init(struct conf *c)
{
	*c = (struct conf){0};
	for (int i = 0; i < nconf; i++) {
		struct err err;
		if (option_set(c, &conf_table[i], conf_table[i].initial, &err) < 0)
			abort(); /* a default in the table is wrong */
	}
}

void conf_fini(struct conf *c)
{
	for (int i = 0; i < nconf; i++)
		if (is_text(&conf_table[i]))
			free(*(char **)((char *)c + conf_table[i].at));
	*c = (struct conf){0};
}

static void conf_copy(struct conf *c, const struct conf *from)
{
	*c = *from;
	for (int i = 0; i < nconf; i++)
		if (is_text(&conf_table[i])) {
			char **at = (char **)((char *)c + conf_table[i].at);
			*at = mem_strdup(*at);
		}
}

/* ---- names ---- */

static const struct conf_option *option_find(const char *section, const char *name)
{
	for (int i = 0; i < nconf; i++)
		if (strcmp(conf_table[i].section, section) == 0 && strcmp(conf_table[i].name, name) == 0)
			return &conf_table[i];
	return NULL;
}

static int option_unknown(const char *section, const char *name, struct err *err)
{
	struct strbuf here = {0};
	char near[SUGGEST_SIZE];
	int elsewhere = -1;

	for (int i = 0; i < nconf; i++) {
		if (strcmp(conf_table[i].section, section) == 0)
			strbuf_printf(&here, "%s%s", here.n ? " " : "", conf_table[i].name);
		else if (strcmp(conf_table[i].name, name) == 0)
			elsewhere = i;
	}
	if (elsewhere >= 0 && *conf_table[elsewhere].section)
		err_set(err, -EINVAL, "%s belongs in section [%s]", name, conf_table[elsewhere].section);
	else if (elsewhere >= 0)
		err_set(err, -EINVAL, "%s belongs before the first section", name);
	else if (suggest_word(name, strbuf_text(&here), near))
		err_set(err, -EINVAL, "unknown option \"%.*s\"; did you mean %s?", SHOWN, name, near);
	else
		err_set(err, -EINVAL, "unknown option \"%.*s\"; known: %.200s", SHOWN, name, strbuf_text(&here));
	strbuf_fini(&here);
	return -EINVAL;
}

int conf_set(struct conf *c, const char *name, const char *value, struct err *err)
{
	const char *dot = strchr(name, '.');
	char section[64] = "";
	const char *word = name;

	if (dot && (size_t)(dot - name) < sizeof section) {
		memcpy(section, name, (size_t)(dot - name));
		section[dot - name] = '\0';
		word = dot + 1;
	}
	const struct conf_option *o = option_find(section, word);
	int rc = o ? option_set(c, o, value, err) : option_unknown(section, word, err);
	return rc < 0 && o ? err_prefix(err, rc, "%s", name) : rc;
}

/* ---- the file ---- */

/* State of the reader: the section, and the options seen so far. */
struct reading {
	struct conf *conf;
	char section[64];
	int64_t now;			    /* number of the current line */
	int64_t *line;			    /* line of each option that was given */
	bool nodes;			    /* nodes were read, and are correct */
	int64_t own_line[CONF_OPTIONS_MAX]; /* used if the caller wants no report */
};

_Static_assert(sizeof conf_table / sizeof *conf_table <= CONF_OPTIONS_MAX, "conf_report.line");

static char *trim(char *text)
{
	text += strspn(text, " \t\r");
	for (size_t n = strlen(text); n && strchr(" \t\r", text[n - 1]); n--)
		text[n - 1] = '\0';
	return text;
}

/* Cuts off a comment, which may follow a value after a blank. */
static void comment_cut(char *line)
{
	for (char *p = line; (p = strchr(p, '#')); p++)
		if (p == line || p[-1] == ' ' || p[-1] == '\t') {
			*p = '\0';
			return;
		}
}

static int section_begin(struct reading *r, char *line, struct err *err)
{
	size_t n = strlen(line);
	struct strbuf words = {0};
	char near[SUGGEST_SIZE];
	int rc = 0;

	if (line[n - 1] != ']')
		return err_set(err, -EINVAL, "a section is [NAME]: the bracket is not closed");
	line[n - 1] = '\0';
	char *name = trim(line + 1);
	for (int i = 0; i < nconf; i++) {
		if (strcmp(conf_table[i].section, name) == 0 && *name) {
			snprintf(r->section, sizeof r->section, "%s", name);
			goto out;
		}
		if (*conf_table[i].section && !strstr(strbuf_text(&words), conf_table[i].section))
			strbuf_printf(&words, "%s%s", words.n ? " " : "", conf_table[i].section);
	}
	if (suggest_word(name, words.text, near))
		rc = err_set(err, -EINVAL, "unknown section [%.*s]; did you mean [%s]?", SHOWN, name, near);
	else
		rc = err_set(err, -EINVAL, "unknown section [%.*s]; known: %s", SHOWN, name, words.text);
	snprintf(r->section, sizeof r->section, "%s", NOWHERE);
out:
	strbuf_fini(&words);
	return rc;
}

/* Adds a further line of nodes to the first. */
static int nodes_more(struct reading *r, const struct conf_option *o, const char *value, struct err *err)
{
	struct strbuf both = {0};

	strbuf_printf(&both, "%s %s", r->conf->nodes, value);
	int rc = option_set(r->conf, o, both.text, err);
	strbuf_fini(&both);
	return rc;
}

static int line_read(struct reading *r, char *line, struct err *err)
{
	comment_cut(line);
	line = trim(line);
	if (!*line)
		return 0;
	if (*line == '[')
		return section_begin(r, line, err);
	if (strcmp(r->section, NOWHERE) == 0)
		return 0;
	char *value = strchr(line, '=');
	if (!value)
		return err_set(err, -EINVAL, "\"%.*s\": a line is NAME = VALUE, [SECTION], or a # comment", SHOWN,
			       line);
	*value++ = '\0';
	char *name = trim(line);
	value = trim(value);
	const struct conf_option *o = option_find(r->section, name);
	if (!o)
		return option_unknown(r->section, name, err);
	int64_t *line_of = &r->line[o - conf_table];
	if (*line_of && o->type != CONF_NODES)
		return err_set(err, -EINVAL, "%s is given twice, first in line %lld", name, (long long)*line_of);
	if (!*line_of)
		*line_of = r->now;
	bool more = o->type == CONF_NODES && r->nodes;
	int rc = more ? nodes_more(r, o, value, err) : option_set(r->conf, o, value, err);
	r->nodes |= o->type == CONF_NODES && rc == 0;
	return rc < 0 ? err_prefix(err, rc, "%s", name) : 0;
}

/* Reads all lines. With `report` NULL the first error ends it. */
static int lines_read(struct conf *c, const char *path, struct lines *in, struct conf_report *report, struct err *err)
{
	struct conf fresh;
	struct reading r = {.conf = &fresh};
	char *line;
	int rc;

	r.line = report ? report->line : r.own_line;
	conf_copy(&fresh, c);
	while ((rc = lines_next(in, &line, err)) == 1) {
		r.now = lines_number(in);
		rc = line_read(&r, line, err);
		if (rc == 0)
			continue;
		rc = err_prefix(err, rc, "%.200s:%lld", path, (long long)r.now);
		if (!report)
			break;
		strbuf_printf(&report->text, "%s\n", err->text);
		report->mistakes++;
	}
	for (int i = 0; report && i < nconf; i++)
		report->options += report->line[i] > 0;
	if (rc < 0) {
		conf_fini(&fresh);
	} else {
		conf_fini(c);
		*c = fresh;
	}
	return rc;
}

int conf_read(struct conf *c, const char *path, const char *text, size_t n, struct err *err)
{
	struct lines *in = lines_over(text, n);
	int rc = lines_read(c, path, in, NULL, err);

	lines_close(in);
	return rc;
}

static int conf_file_read(struct conf *c, const char *path, struct conf_report *report, struct err *err)
{
	struct lines *in;
	int rc = lines_open(path, &in, err);

	if (rc < 0)
		return rc;
	rc = lines_read(c, path, in, report, err);
	lines_close(in);
	return rc;
}

int conf_load(struct conf *c, const char *path, struct err *err)
{
	return conf_file_read(c, path, NULL, err);
}

int conf_load_all(struct conf *c, const char *path, struct conf_report *ret, struct err *err)
{
	*ret = (struct conf_report){0};
	return conf_file_read(c, path, ret, err);
}

/* Writes a comment wrapped at 80 columns. */
static void comment_add(struct strbuf *out, const char *text)
{
	size_t column = 80;

	for (const char *p = text; *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");
		if (column + 1 + n > 80) {
			strbuf_puts(out, p == text ? "#" : "\n#");
			column = 1;
		}
		strbuf_printf(out, " %.*s", (int)n, p);
		column += 1 + n;
		p += n;
	}
	strbuf_puts(out, "\n");
}

void conf_write_example(struct strbuf *out)
{
	const char *section = "";

	for (const struct conf_option *o = conf_table; o < conf_table + nconf; o++) {
		if (strcmp(o->section, section) != 0)
			strbuf_printf(out, "[%s]\n\n", o->section);
		section = o->section;
		comment_add(out, o->about);
		if (o->words)
			strbuf_printf(out, "# One of: %s.\n", o->words);
		strbuf_printf(out, "#%s =%s%s\n\n", o->name, *o->initial ? " " : "", o->initial);
	}
}
