/*
 * login.c - `shunt login`, `logout`, `clusters`: use a cluster from a machine other than its
 * server's.
 *
 * A login is a file with the cluster's servers, its CA and a token (client/clusters.h). It is
 * written only after the server, verified by the token's fingerprint, has named the user that the
 * token stands for.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "client/clusters.h"
#include "client/far.h"
#include "cmd/lib/commands.h"
#include "cmd/lib/listing.h"
#include "cmd/lib/show.h"
#include "tls/pki.h"

#define SECRET_MAX 65536 /* bytes of munge's output */

struct login_arguments {
	const char *name, *munge;
};

static const struct option login_options[] = {
	OPTION_ROW(TEXT, 0, "name", offsetof(struct login_arguments, name), "CLUSTER",
		   "what to call the cluster here; if not given: as it calls itself"),
	OPTION_ROW(
		TEXT, 0, "munge", offsetof(struct login_arguments, munge), "FINGERPRINT",
		"instead of a token: prove by munge who you are, to the cluster with this fingerprint (the last part of its tokens)"),
	{0},
};

/* Runs the program munge on this text. */
static int munge_run(const char *text, struct strbuf *out, struct err *err)
{
	char buf[4096];
	int fds[2], status;
	ssize_t n;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	pid_t pid = fork();
	if (pid == 0) {
		dup2(fds[1], STDOUT_FILENO);
		execlp("munge", "munge", "-s", text, NULL);
		_exit(127);
	}
	close(fds[1]);
	while (pid > 0 && out->n < SECRET_MAX && (n = read(fds[0], buf, sizeof buf)) > 0)
		strbuf_add(out, buf, (size_t)n);
	close(fds[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0 || !out->n)
		return err_set(err, -ECHILD,
			       "the program munge gave no credential: is it installed, and does munged run?");
	while (out->n && strchr(" \n", out->text[out->n - 1]))
		out->text[--out->n] = '\0';
	return 0;
}

/* Gets a token for the identity that munge confirms. The token used on the way holds only the
 * fingerprint. */
static int munge_login(const char *where, const char *fingerprint, char ret[TOKEN_SIZE], struct err *err)
{
	struct strbuf text = {0}, credential = {0};
	struct token nobody = {.id = "u0", .secret = "none"};
	struct reply reply = {0};
	struct client *client;
	char shown[TOKEN_SIZE];
	int rc;

	snprintf(nobody.fingerprint, sizeof nobody.fingerprint, "%s", fingerprint);
	token_write(&nobody, shown);
	rc = client_open_token(where, shown, &client, err);
	if (rc < 0)
		return rc;
	strbuf_printf(&text, "shunt:%.32s", fingerprint);
	rc = munge_run(text.text, &credential, err);
	if (rc == 0) {
		json_t *body = json_pack("{s:s}", "munge", credential.text);
		rc = client_ask_json(client, "POST", "/v1/login", body, &reply, err);
		json_decref(body);
	}
	if (rc == 0)
		snprintf(ret, TOKEN_SIZE, "%s", object_text(reply.json, "token"));
	reply_fini(&reply);
	client_close(client);
	strbuf_fini(&text);
	strbuf_fini(&credential);
	return rc;
}

/* Lists the address that works from here first, then those the cluster reports. */
static char *servers_list(const char *where, const json_t *cluster)
{
	struct strbuf all = {0};
	const json_t *v;
	size_t i;

	strbuf_puts(&all, where);
	json_array_foreach(json_object_get(cluster, "servers"), i, v)
	{
		if (json_is_string(v) && strcmp(json_string_value(v), where) != 0)
			strbuf_printf(&all, " %s", json_string_value(v));
	}
	return all.text;
}

/* Writes a login; does not overwrite another cluster of the same name. */
static int login_store(const struct login *l, struct err *err)
{
	struct login old = {0};

	if (login_read(l->name, &old, NULL) == 0 && strcmp(old.ca, l->ca) != 0) {
		login_fini(&old);
		return err_set(
			err, -EEXIST,
			"you are logged in to another cluster named %s: give this one another --name, or 'shunt logout %s' first",
			l->name, l->name);
	}
	login_fini(&old);
	return login_write(l, err);
}

/* Stores the agents that spool this user's changes while no server runs. */
static void spools_store(const struct login *l, const json_t *who)
{
	struct far *f = far_create(l->name, l->ca, l->token);

	if (f)
		far_learn(f, who);
	far_free(f);
}

static int login_ask(const char *where, const char *token, const char *name, struct login *ret, struct reply *who,
		     struct err *err)
{
	struct reply cluster = {0};
	struct client *client;
	int rc = client_open_token(where, token, &client, err);

	if (rc < 0)
		return rc;
	rc = client_ask(client, "GET", "/v1/whoami", NULL, 0, who, err);
	if (rc == 0 && strcmp(object_text(who->json, "by"), "token") != 0)
		rc = err_set(
			err, -EINVAL,
			"this is a job's own token, and ends with the job: use one of 'shunt token create --login'");
	if (rc == 0)
		rc = client_ask(client, "GET", "/v1/cluster", NULL, 0, &cluster, err);
	if (rc == 0)
		*ret = (struct login){.name = mem_strdup(name ? name : object_text(cluster.json, "name")),
				      .servers = servers_list(where, cluster.json),
				      .ca = mem_strdup(json_string_value(json_object_get(cluster.json, "ca"))),
				      .token = mem_strdup(token)};
	reply_fini(&cluster);
	client_close(client);
	return rc;
}

static int login(const struct command *c, const void *arguments, const struct operands *operands)
{
	const struct login_arguments *a = arguments;
	const char *where = operands->v[0];
	const char *given = operands->n == 2 ? operands->v[1] : "-";
	char token[TOKEN_SIZE] = "", *typed = NULL;
	struct login l = {0};
	struct reply who = {0};
	struct err err;
	int code = EXIT_OK, rc = 0;

	if (operands->n == 2 && a->munge)
		return command_misused(c, "a token or --munge, not both");
	if (a->munge) {
		rc = munge_login(where, a->munge, token, &err);
	} else if (strcmp(given, "-") != 0) {
		snprintf(token, sizeof token, "%s", given);
	} else {
		typed = token_read("-", &err);
		if (!typed)
			return command_fail(c, "%s", err.text);
		snprintf(token, sizeof token, "%s", typed);
		explicit_bzero(typed, strlen(typed));
		free(typed);
	}
	if (rc == 0)
		rc = login_ask(where, token, a->name, &l, &who, &err);
	if (rc == 0)
		rc = login_store(&l, &err);
	if (rc == 0)
		spools_store(&l, who.json);
	if (rc < 0)
		code = command_fail(c, "%s", err.text);
	else
		printf("Logged in to the cluster %s as %s. Commands ask it with --cluster %s, or if there is no other server.\n",
		       l.name, object_text(who.json, "user"), l.name);
	explicit_bzero(token, sizeof token);
	reply_fini(&who);
	login_fini(&l);
	return code;
}

const struct command command_login = {
	.name = "login",
	.operands = "SERVER[:PORT] [TOKEN]",
	.about = "Work with a cluster from this machine: checks the token, and keeps it.",
	.details =
		"The token says whom to trust: it holds the fingerprint of the cluster's authority. It is kept in "
		"~/.config/shunt/clusters/NAME, readable by you alone. Without TOKEN, or if it is -, it is read from standard input; on a terminal you are asked for it.",
	.examples = EXAMPLES(
		{"shunt login pine:7722",
		 "Asks for the token that 'shunt token create --login' printed on the server's machine."},
		{"shunt login pine - < token",
		 "Reads the token from a file. On the command line other users could see it in a list of processes."},
		{"qsub --cluster pine job.sh", "Submit a job there."}),
	OPTIONS(struct login_arguments, login_options),
	.run = login,
	.alone = true,
};

/* ---- logout ---- */

/* Has the server revoke the token; returns false if that failed. */
static bool token_revoke(const struct login *l, struct err *err)
{
	struct client *client;
	struct token t;
	bool done = false;

	if (token_parse(l->token, &t, err) < 0 || client_open_cluster(l->name, &client, err) < 0)
		return false;
	int rc = client_ask(client, "DELETE", api_path("/v1/tokens/%s", t.id), NULL, 0, NULL, err);
	/* it is no longer valid in either case */
	done = rc == 0 || strcmp(client_code(client), "unauthorized") == 0;
	client_close(client);
	return done;
}

static int logout(const struct command *c, const void *arguments, const struct operands *operands)
{
	const char *name = operands->n ? operands->v[0] : getenv("SHUNT_CLUSTER");
	struct login l = {0};
	struct err err;
	int code = EXIT_OK;
	int rc = name && *name ? login_read(name, &l, &err) : login_choose(&l, &err);

	if (rc == -ENOENT && !(name && *name))
		return command_fail(c, "you are not logged in to any cluster");
	if (rc < 0)
		return command_fail(c, "%s", err.text);
	bool told = token_revoke(&l, &err);
	struct err removal;
	far_forget(l.name);
	if (login_remove(l.name, &removal) < 0)
		code = command_fail(c, "%s", removal.text);
	else if (told)
		printf("Logged out of the cluster %s.\n", l.name);
	else
		code = command_fail(
			c,
			"the login to %s is removed here, but its token is valid until it expires, since the server could not "
			"be told: %s",
			l.name, err.text);
	login_fini(&l);
	return code;
}

const struct command command_logout = {
	.name = "logout",
	.operands = "[CLUSTER]",
	.about = "Revoke and remove the token that is kept for a cluster.",
	.examples = EXAMPLES({"shunt logout pine", "The token that is kept for pine is revoked and removed."}),
	.run = logout,
};

/* ---- clusters ---- */

static const struct option clusters_options[] = {
	OPTION_ROW(FLAG, 0, "json", offsetof(struct show_arguments, json), NULL, "print JSON"),
	{0},
};

static void cluster_add(const char *name, json_t *list)
{
	struct login l = {0};
	struct token token = {0};
	struct err err = {.text = ""};
	bool good = login_read(name, &l, &err) == 0 && token_parse(l.token, &token, &err) == 0;

	json_array_append_new(list, json_pack("{s:s,s:s?,s:s?,s:s?}", "name", name, "servers", l.servers, "token",
					      good ? token.id : NULL, "trouble", good ? NULL : err.text));
	explicit_bzero(&token, sizeof token);
	login_fini(&l);
}

static int clusters(const struct command *c, const void *arguments, const struct operands *operands)
{
	static const struct listing_column columns[] = {{"cluster", "name", .make = cell_plain},
							{"servers", "servers", .make = cell_plain},
							{"token", "token", .make = cell_plain},
							{"~", "trouble", .make = cell_plain},
							{0}};
	const struct show_arguments *a = arguments;
	struct login_names names = {0};
	struct err err;

	if (login_list(&names, &err) < 0)
		return command_fail(c, "%s", err.text);
	json_t *list = json_array();
	for (size_t i = 0; i < names.list.n; i++)
		cluster_add(names.list.v[i], list);
	if (a->json)
		show_json(list);
	else
		listing_print(list, columns, "You are not logged in to any cluster: 'shunt login SERVER TOKEN'.");
	json_decref(list);
	login_names_fini(&names);
	return EXIT_OK;
}

const struct command command_clusters = {
	.name = "clusters",
	.about = "List the clusters that you are logged in to.",
	.details =
		"Which server a command asks: the cluster named by --cluster or SHUNT_CLUSTER; else the server of this machine, your own "
		"before the system's; else the only cluster in this list, or the one named default.",
	OPTIONS(struct show_arguments, clusters_options),
	.run = clusters,
	.alone = true,
};
