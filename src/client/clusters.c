/*
 * clusters.c - the clusters a user has logged in to, one file each.
 */
#include "client/clusters.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "client/where.h"

#define NAME_LONGEST 64
#define FILE_MAX (1 << 20)

void login_fini(struct login *l)
{
	free(l->name);
	free(l->servers);
	free(l->ca);
	if (l->token)
		explicit_bzero(l->token, strlen(l->token));
	free(l->token);
	*l = (struct login){0};
}

void login_names_fini(struct login_names *n)
{
	for (size_t i = 0; i < n->list.n; i++)
		free(n->list.v[i]);
	vec_free(&n->list);
}

/* ---- names and paths ---- */

/* Returns true if the name can be a file's name: no '/', and no leading dot, which temporary files
 * have. */
static bool name_is_good(const char *name)
{
	size_t n = strlen(name);

	return n > 0 && n <= NAME_LONGEST && name[0] != '.' && name[0] != '-' &&
	       strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

static int path_find(const char *name, char *ret, size_t size, struct err *err)
{
	char directory[WHERE_PATH];

	if (!name_is_good(name))
		return err_set(
			err, -EINVAL,
			"\"%.100s\" can't be the name of a cluster: use up to %d letters, digits, '.', '_' and '-'",
			name, NAME_LONGEST);
	int rc = where_clusters(directory, err);
	if (rc == 0 && (size_t)snprintf(ret, size, "%s/%s", directory, name) >= size)
		rc = err_set(err, -ENAMETOOLONG, "%.100s...: the path is too long", directory);
	return rc;
}

/* ---- reading ---- */

/* Checks that only its owner can read a file. */
static int file_check(int fd, const char *path, struct err *err)
{
	struct stat s;

	if (fstat(fd, &s) < 0)
		return err_set(err, -errno, "%.300s: %s", path, strerror(errno));
	if (!S_ISREG(s.st_mode) || s.st_size > FILE_MAX)
		return err_set(err, -EINVAL, "%.300s is not a file of 'shunt login'", path);
	if (s.st_uid != geteuid() && s.st_uid != 0)
		return err_set(err, -EACCES,
			       "%.300s belongs to another user, and is not used: log in again with 'shunt login'",
			       path);
	if (s.st_mode & 077)
		return err_set(
			err, -EACCES,
			"%.150s holds a secret, but others may read or write it: it is not used until you run 'chmod 600 %.150s' (and 'shunt login' again, if somebody may have read it)",
			path, path);
	return 0;
}

static int clusters_file_read(int fd, const char *path, struct strbuf *out, struct err *err)
{
	int rc = fd_read(fd, FILE_MAX + 1, out);

	return rc < 0 && rc != -EFBIG ? err_set(err, rc, "%.300s: %s", path, strerror(-rc)) : 0;
}

/* Joins the addresses with blanks. */
static char *servers_join(const json_t *list)
{
	struct strbuf all = {0};

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *one = json_string_value(json_array_get(list, i));
		if (one && *one && !strpbrk(one, " \t\r\n"))
			strbuf_printf(&all, "%s%s", all.n ? " " : "", one);
	}
	return all.text;
}

static char *text_get(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text && *text ? mem_strdup(text) : NULL;
}

static int login_parse(const struct strbuf *text, const char *name, const char *path, struct login *ret,
		       struct err *err)
{
	json_t *json = json_loadb(strbuf_text(text), text->n, 0, NULL);
	struct login l = {.name = mem_strdup(name),
			  .servers = servers_join(json_object_get(json, "servers")),
			  .ca = text_get(json, "ca"),
			  .token = text_get(json, "token")};

	json_decref(json);
	/* The token becomes part of a header line. */
	if (l.servers && l.ca && l.token && !strpbrk(l.token, " \t\r\n")) {
		*ret = l;
		return 0;
	}
	login_fini(&l);
	return err_set(err, -EINVAL, "%.300s is damaged: log in again with 'shunt login'", path);
}

static int no_such(const char *name, struct err *err)
{
	struct login_names all = {0};
	struct strbuf known = {0};

	if (login_list(&all, NULL) == 0)
		for (size_t i = 0; i < all.list.n && known.n < 200; i++)
			strbuf_printf(&known, "%s%s", i ? ", " : "", all.list.v[i]);
	err_set(err, -ENOENT, "you have not logged in to a cluster named %s (%s%s): use 'shunt login SERVER TOKEN'",
		name, known.n ? "known: " : "nor to any other", strbuf_text(&known));
	strbuf_fini(&known);
	login_names_fini(&all);
	return -ENOENT;
}

int login_read(const char *name, struct login *ret, struct err *err)
{
	char path[WHERE_PATH + NAME_LONGEST + 2];
	struct strbuf text = {0};
	int rc = path_find(name, path, sizeof path, err);

	if (rc < 0)
		return rc;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? no_such(name, err)
							   : err_set(err, -errno, "%.300s: %s", path, strerror(errno));
	rc = file_check(fd, path, err);
	if (rc == 0)
		rc = clusters_file_read(fd, path, &text, err);
	close(fd);
	if (rc == 0)
		rc = login_parse(&text, name, path, ret, err);
	if (text.n)
		explicit_bzero(text.text, text.n);
	strbuf_fini(&text);
	return rc;
}

/* ---- writing ---- */

static int directories_make(char *path, struct err *err)
{
	for (char *p = path + 1;; p++) {
		if (*p != '/' && *p != '\0')
			continue;
		char end = *p;
		*p = '\0';
		int failed = mkdir(path, 0700) < 0 && errno != EEXIST ? errno : 0;
		if (failed)
			return err_set(err, -failed, "can't make the directory %s: %s", path, strerror(failed));
		*p = end;
		if (!end)
			return 0;
	}
}

static json_t *servers_split(const char *servers)
{
	json_t *list = json_array();

	for (const char *p = servers; *(p += strspn(p, " ")); p += strcspn(p, " "))
		json_array_append_new(list, json_stringn(p, strcspn(p, " ")));
	return list;
}

int login_write(const struct login *l, struct err *err)
{
	char path[WHERE_PATH + NAME_LONGEST + 2], directory[WHERE_PATH];
	int rc = path_find(l->name, path, sizeof path, err);

	if (rc == 0)
		rc = where_clusters(directory, err);
	if (rc == 0)
		rc = directories_make(directory, err);
	if (rc < 0)
		return rc;
	json_t *json = json_pack("{s:s, s:o, s:s, s:s}", "name", l->name, "servers", servers_split(l->servers), "ca",
				 l->ca, "token", l->token);
	char *text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
	if (!text)
		rc = err_set(err, -EINVAL, "the cluster %s can't be written down: a text in it is not UTF-8", l->name);
	else if ((rc = file_replace(path, 0600, text, strlen(text), REPLACE_SYNC | REPLACE_SHARED)) < 0)
		err_set(err, rc, "can't write %s: %s", path, strerror(-rc));
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
	json_decref(json);
	return rc;
}

int login_remove(const char *name, struct err *err)
{
	char path[WHERE_PATH + NAME_LONGEST + 2];
	int rc = path_find(name, path, sizeof path, err);

	if (rc < 0 || unlink(path) == 0)
		return rc;
	return errno == ENOENT || errno == ENOTDIR ? no_such(name, err)
						   : err_set(err, -errno, "can't remove %s: %s", path, strerror(errno));
}

/* ---- the list of logins ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int login_list(struct login_names *ret, struct err *err)
{
	char directory[WHERE_PATH];
	int rc = where_clusters(directory, err);
	DIR *d = rc == 0 ? opendir(directory) : NULL;

	*ret = (struct login_names){0};
	if (!d)
		return rc < 0 || errno == ENOENT || errno == ENOTDIR
			       ? rc
			       : err_set(err, -errno, "can't read %s: %s", directory, strerror(errno));
	for (const struct dirent *e; (e = readdir(d));)
		if (name_is_good(e->d_name))
			vec_push(&ret->list, mem_strdup(e->d_name));
	closedir(d);
	if (ret->list.n > 1)
		qsort(ret->list.v, ret->list.n, sizeof *ret->list.v, by_name);
	return 0;
}

int login_choose(struct login *ret, struct err *err)
{
	struct login_names all;
	int rc = login_list(&all, err);

	if (rc < 0)
		return rc;
	const char *name = all.list.n == 1 ? all.list.v[0] : NULL;
	for (size_t i = 0; i < all.list.n; i++)
		if (strcmp(all.list.v[i], "default") == 0)
			name = all.list.v[i];
	if (name)
		rc = login_read(name, ret, err);
	else if (all.list.n == 0)
		rc = err_set(err, -ENOENT, "you have not logged in to any cluster");
	else
		rc = err_set(
			err, -EINVAL,
			"you have logged in to several clusters (%s, %s%s): choose with --cluster NAME or SHUNT_CLUSTER=NAME",
			all.list.v[0], all.list.v[1], all.list.n > 2 ? ", ..." : "");
	login_names_fini(&all);
	return rc;
}
