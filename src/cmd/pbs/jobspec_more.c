/*
 * jobspec_more.c - the lists within options, "-W name=value,..." and "-v A=1,B", and the
 * environment of a job.
 */
#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/base64.h"
#include "cmd/pbs/jobspec.h"
#include "cmd/pbs/pbsattr.h"

extern char **environ;

static int flag_set(bool *flag, const char *name, const char *value, struct err *err)
{
	bool yes = strcasecmp(value, "true") == 0 || strcasecmp(value, "y") == 0 || strcmp(value, "1") == 0;

	if (!yes && strcasecmp(value, "false") != 0 && strcasecmp(value, "n") != 0 && strcmp(value, "0") != 0)
		return err_set(err, -EINVAL, "-W %s=%.60s: write true or false", name, value);
	*flag = yes;
	return 0;
}

/* A job has all groups of its user, so naming one of them is allowed and changes nothing. */
static int groups_check(const char *list, struct err *err)
{
	gid_t mine[1024];
	int n = getgroups(1024, mine);
	char name[256];

	snprintf(name, sizeof name, "%.*s", (int)strcspn(list, "@,"), list);
	struct group *g = getgrnam(name);
	if (!g)
		return err_set(err, -EINVAL, "-W group_list=%.60s: unknown group \"%s\"", list, name);
	for (int i = 0; i < n; i++)
		if (mine[i] == g->gr_gid)
			return 0;
	if (g->gr_gid == getgid())
		return 0;
	return err_set(err, -EINVAL, "-W group_list=%.60s: you are not in the group \"%s\"", list, name);
}

static int sandbox_set(struct jobspec *s, const char *value, struct err *err)
{
	const char *home = getenv("HOME");

	if (strcasecmp(value, "PRIVATE") == 0)
		return err_set(
			err, -EINVAL,
			"-W sandbox=PRIVATE: there are no private directories; make one in the script (mktemp -d)");
	if (strcasecmp(value, "HOME") == 0 && home && home[0] == '/' && !s->workdir) {
		jobspec_text(s, "workdir", home);
		s->workdir = true;
	}
	return 0;
}

/* Reads words for Maui: QOS:NAME;ADVRES:NAME;OTHER:...; skips those that mean nothing here. */
static int maui_set(struct jobspec *s, const char *value, struct err *err)
{
	char *copy = mem_strdup(value), *rest = copy, *one;
	struct strbuf text = {0};
	int rc = 0;

	while (rc == 0 && (one = strsep(&rest, ";"))) {
		if (strcasecmp(one, "QOS") == 0)
			rc = err_set(err, -EINVAL, "it names no quality of service: use QOS:NAME");
		if (strcasecmp(one, "ADVRES") == 0)
			rc = err_set(err, -EINVAL, "the name of the reservation is missing: use ADVRES:NAME");
		bool reserved = strncasecmp(one, "ADVRES:", 7) == 0;
		if (!reserved && strncasecmp(one, "QOS:", 4) != 0)
			continue;
		strbuf_clear(&text);
		strbuf_printf(&text, "%s=%s", reserved ? "advres" : "qos", strchr(one, ':') + 1);
		rc = jobspec_resource(s, text.text, err);
	}
	strbuf_fini(&text);
	free(copy);
	return rc < 0 ? err_prefix(err, rc, "-W x=%.60s", value) : 0;
}

static int more_set(struct jobspec *s, const char *name, const char *value, struct err *err)
{
	/* Ignored: hints for other schedulers, or for what always holds here. */
	static const char *const passed[] = {"run_count",
					     "pwd",
					     "job_radix",
					     "fault_tolerant",
					     "user_list",
					     "cred",
					     "release_nodes_on_stageout",
					     "tolerate_node_failures",
					     "create_resv_from_job"};
	const char *key = pbsattr_more(name);

	if (key) {
		jobspec_text(s, key, value);
		return 0;
	}
	for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
		if (strcasecmp(name, passed[i]) == 0)
			return 0;
	if (strcasecmp(name, "x") == 0)
		return maui_set(s, value, err);
	if (strcasecmp(name, "block") == 0)
		return flag_set(&s->block, name, value, err);
	if (strcasecmp(name, "interactive") == 0)
		return flag_set(&s->interactive, name, value, err);
	if (strcasecmp(name, "group_list") == 0)
		return groups_check(value, err);
	if (strcasecmp(name, "max_run_subjobs") == 0)
		return jobspec_throttle(s, "-W max_run_subjobs=", value, err);
	if (strcasecmp(name, "sandbox") == 0)
		return sandbox_set(s, value, err);
	return err_set(err, -EINVAL, "-W %.60s: not known; there are the %s", name, pbsattr_more_names);
}

/* Returns the length up to the next "name=" behind a comma, or to the end: commas also occur in
 * values (depend=afterok:1,afterany:2). */
static size_t value_length(const char *p)
{
	for (size_t n = 0;; n++) {
		if (!p[n])
			return n;
		if (p[n] != ',')
			continue;
		size_t name = strspn(p + n + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_ ");
		if (name > 0 && p[n + 1 + name] == '=')
			return n;
	}
}

int jobspec_more(struct jobspec *s, const char *text, struct err *err)
{
	int rc = 0;

	for (const char *p = text; *p && rc == 0;) {
		p += strspn(p, ", ");
		size_t n = strcspn(p, "=,");
		char name[64];
		snprintf(name, sizeof name, "%.*s", (int)n, p);
		if (p[n] != '=' && strchr(name, ':'))
			return err_set(err, -EINVAL, "-W %.60s: write -W depend=%.60s", name, name);
		if (p[n] != '=')
			return err_set(err, -EINVAL, "-W %.60s: a value is missing: write %.60s=VALUE", name, name);
		p += n + 1;
		n = value_length(p);
		char *value = strndup(p, n);
		/* Remove quotes that the shell left, as in -W 'x="a b"'. */
		char *bare = value;
		if (n > 1 && (value[0] == '"' || value[0] == '\'') && value[n - 1] == value[0]) {
			value[n - 1] = '\0';
			bare++;
		}
		rc = more_set(s, name, bare, err);
		free(value);
		p += n;
	}
	return rc;
}

static void variable_add(struct jobspec *s, const char *text)
{
	const char *equals = strchr(text, '=');
	size_t n = equals ? (size_t)(equals - text) : strlen(text);
	struct variable v = {strndup(text, n), equals ? mem_strdup(equals + 1) : NULL};

	for (size_t i = 0; i < s->variables.n; i++)
		if (strcmp(s->variables.v[i].name, v.name) == 0) {
			free(s->variables.v[i].name);
			free(s->variables.v[i].value);
			s->variables.v[i] = v;
			return;
		}
	vec_push(&s->variables, v);
}

/* Reads one element of the list at *at, without its quotes, and moves past it. */
static int element_read(const char **at, struct strbuf *out, struct err *err)
{
	char quote = '\0';
	const char *p = *at;

	strbuf_clear(out);
	for (; *p && (quote || *p != ','); p++) {
		if (*p == '\\' && p[1] && quote != '\'' && strchr(",\"'\\", p[1]))
			strbuf_add(out, ++p, 1);
		else if (*p == quote)
			quote = '\0';
		else if (!quote && (*p == '"' || *p == '\''))
			quote = *p;
		else
			strbuf_add(out, p, 1);
	}
	if (quote)
		return err_set(err, -EINVAL, "-v %.60s: a quote (%c) is not closed", *at, quote);
	*at = p + (*p == ',');
	return 0;
}

int jobspec_variables(struct jobspec *s, const char *text, struct err *err)
{
	struct strbuf element = {0};
	int rc = 0;

	for (const char *p = text; *p && rc == 0;) {
		p += strspn(p, " ");
		rc = element_read(&p, &element, err);
		const char *e = strbuf_text(&element);
		if (rc == 0 && e[0] == '=')
			rc = err_set(err, -EINVAL, "-v %.60s: the variable's name is missing before '='", e);
		else if (rc == 0 && e[0] && e[0] != '_' && !isalpha((unsigned char)e[0]))
			rc = err_set(err, -EINVAL, "-v %.60s: the name of a variable must begin with a letter or '_'",
				     e);
		else if (rc == 0 && e[0])
			variable_add(s, e);
	}
	strbuf_fini(&element);
	return rc;
}

/* Sets a variable; replaces an earlier one of that name, found through `index`. */
static void environment_put(json_t *list, json_t *index, const char *name, const char *value)
{
	struct strbuf text = {0}, coded = {0};

	strbuf_printf(&text, "%s=%s", name, value);
	json_t *entry = json_stringn(text.text, text.n), *place = json_object_get(index, name);
	if (!entry) {
		base64_encode(text.text, text.n, &coded);
		entry = json_pack("{s:s}", "base64", coded.text);
	}
	if (place) {
		json_array_set_new(list, (size_t)json_integer_value(place), entry);
	} else {
		json_object_set_new(index, name, json_integer((json_int_t)json_array_size(list)));
		json_array_append_new(list, entry);
	}
	strbuf_fini(&text);
	strbuf_fini(&coded);
}

/* Returns false for variables that belong to the job in which this command runs, not to the one it
 * submits. */
static bool variable_passes(const char *entry)
{
	static const char *const own[] = {
		"PBS_JOBID=",  "PBS_JOBNAME=",	 "PBS_QUEUE=",	 "PBS_ENVIRONMENT=", "PBS_NODEFILE=", "PBS_ARRAY",
		"PBS_O_",      "PBS_NUM_",	 "PBS_NP=",	 "PBS_TASKNUM=",     "PBS_NODENUM=",  "PBS_VNODENUM=",
		"PBS_JOBDIR=", "PBS_JOBCOOKIE=", "PBS_MOMPORT=", "SHUNT_TAG="};

	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (strncmp(entry, own[i], strlen(own[i])) == 0)
			return false;
	return strchr(entry, '=') != NULL;
}

static void environment_all(json_t *list, json_t *index)
{
	for (char **e = environ; *e; e++) {
		if (!variable_passes(*e))
			continue;
		char *name = strndup(*e, strcspn(*e, "="));
		environment_put(list, index, name, strchr(*e, '=') + 1);
		free(name);
	}
}

/* Adds PBS_O_HOME, which is HOME at submission, and so on. */
static void environment_origin(struct jobspec *s, json_t *list, json_t *index)
{
	static const char *const names[] = {"HOME", "LANG", "LOGNAME", "PATH", "MAIL", "SHELL", "TZ"};
	const char *queue = json_string_value(json_object_get(s->job, "queue"));
	char name[32], here[PATH_MAX];
	struct utsname system;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *value = getenv(names[i]);
		snprintf(name, sizeof name, "PBS_O_%s", names[i]);
		if (value)
			environment_put(list, index, name, value);
	}
	if (uname(&system) == 0) {
		environment_put(list, index, "PBS_O_HOST", system.nodename);
		environment_put(list, index, "PBS_O_SYSTEM", system.sysname);
		jobspec_text(s, "submit_host", system.nodename);
	}
	environment_put(list, index, "PBS_O_WORKDIR", directory_here(here, sizeof here));
	if (queue)
		environment_put(list, index, "PBS_O_QUEUE", queue);
}

/* Adds the variables that describe this terminal and its locale: an interactive job runs on it. */
static void environment_terminal(json_t *list, json_t *index)
{
	static const char *const names[] = {"TERM", "COLORTERM", "LANG", "LANGUAGE", "NO_COLOR"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (getenv(names[i]))
			environment_put(list, index, names[i], getenv(names[i]));
	for (char **e = environ; *e; e++) {
		char name[32];
		if (strncmp(*e, "LC_", 3) != 0 || strcspn(*e, "=") >= sizeof name)
			continue;
		snprintf(name, sizeof name, "%.*s", (int)strcspn(*e, "="), *e);
		if (getenv(name))
			environment_put(list, index, name, getenv(name));
	}
}

void jobspec_environment(struct jobspec *s, const char **ret_missing)
{
	json_t *list = json_array(), *index = json_object();

	*ret_missing = NULL;
	if (s->interactive)
		environment_terminal(list, index);
	if (s->export_all)
		environment_all(list, index);
	for (size_t i = 0; i < s->variables.n; i++) {
		const struct variable *v = &s->variables.v[i];
		const char *value = v->value ? v->value : getenv(v->name);
		if (value)
			environment_put(list, index, v->name, value);
		else
			*ret_missing = v->name;
	}
	for (const char *const *x = (const char *const[]){"DISPLAY", "XAUTHORITY", NULL}; s->x11 && *x; x++)
		if (getenv(*x))
			environment_put(list, index, *x, getenv(*x));
	environment_origin(s, list, index);
	json_object_set_new(s->job, "environment", list);
	json_decref(index);
}
