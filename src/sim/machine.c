/*
 * machine.c - the text of a machine into nodes.
 */
#include "sim/machine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/lines.h"

#define MACHINE_NODES_MAX 1000000
#define NODE_CPUS_MAX 100000000

static int add_nodes(struct cluster *c, long nodes, long cpus, struct err *err)
{
	struct res total = {.v = {cpus}};
	char name[32];
	int rc = 0;

	for (long i = 1; i <= nodes && rc == 0; i++) {
		snprintf(name, sizeof name, "n%ld", i);
		rc = cluster_add_node(c, name, &total, err);
	}
	return rc;
}

/* One word of a node line: cpus=8, mem=16gb, gpus=1, features=a,b or a named resource. */
static int node_word(struct cluster *c, char *word, struct res *total, char **ret_features, struct err *err)
{
	char *value = strchr(word, '=');
	long long n;
	char rest;

	if (!value)
		return err_set(err, -EINVAL, "%s: expected name=value, such as cpus=8", word);
	*value++ = 0;
	if (strcmp(word, "features") == 0) {
		*ret_features = value;
		return 0;
	}
	if (strcmp(word, "mem") == 0)
		return memory_parse(value, &total->v[RES_MEM], err);
	if (sscanf(value, "%lld%c", &n, &rest) != 1 || n < 0 || n > NODE_CPUS_MAX)
		return err_set(err, -EINVAL, "%s=%s: must be a whole number from 0 to %d", word, value, NODE_CPUS_MAX);
	if (strcmp(word, "cpus") == 0) {
		total->v[RES_CPU] = n;
	} else if (strcmp(word, "gpus") == 0) {
		total->v[RES_GPU] = n;
	} else {
		int d = cluster_resource(c, word, err);
		if (d < 0)
			return d;
		total->v[d] = n;
	}
	return 0;
}

static int node_line(struct cluster *c, char *line, struct err *err)
{
	char *save = NULL, *word = strtok_r(line, " \t", &save), *hosts, *features = NULL;
	struct res total = {0};
	name_list names = {0};
	int rc = 0;

	if (!word || *word == '#')
		return 0;
	if (strcmp(word, "node") != 0)
		return err_set(err, -EINVAL, "%s: expected \"node NAMES cpus=N ...\"", word);
	hosts = strtok_r(NULL, " \t", &save);
	if (!hosts)
		return err_set(err, -EINVAL, "node: expected names, such as n[1-40]");
	while (rc == 0 && (word = strtok_r(NULL, " \t", &save)))
		rc = node_word(c, word, &total, &features, err);
	if (rc == 0 && total.v[RES_CPU] <= 0)
		rc = err_set(err, -EINVAL, "node %s: needs cpus=N, at least 1", hosts);
	if (rc == 0)
		rc = hostlist_parse(hosts, &names, err);
	for (size_t i = 0; i < names.n && rc == 0; i++)
		rc = cluster_add_node(c, names.v[i], &total, err);
	for (char *f = features ? strtok_r(features, ",", &save) : NULL; f && rc == 0; f = strtok_r(NULL, ",", &save))
		for (size_t i = 0; i < names.n && rc == 0; i++)
			rc = cluster_add_feature(c, (uint32_t)(c->nodes.n - names.n + i), f, err);
	name_list_free(&names);
	return rc;
}

static int machine_file(struct cluster *c, const char *path, struct err *err)
{
	struct lines *in;
	char *line;
	int rc = lines_open(path, &in, err);

	if (rc < 0)
		return rc;
	while ((rc = lines_next(in, &line, err)) == 1) {
		rc = node_line(c, line, err);
		if (rc < 0) {
			rc = err_prefix(err, rc, "%s line %lld", path, (long long)lines_number(in));
			break;
		}
	}
	lines_close(in);
	if (rc == 0 && c->nodes.n == 0)
		rc = err_set(err, -EINVAL, "%s: no node line in it", path);
	return rc < 0 ? rc : 0;
}

int machine_build(struct cluster *c, const char *text, struct err *err)
{
	long n, cpus;
	char rest;

	if (strncmp(text, "flat:", 5) == 0) {
		if (sscanf(text + 5, "%ld%c", &n, &rest) != 1 || n < 1 || n > NODE_CPUS_MAX)
			return err_set(err, -EINVAL, "%s: use flat:N with N from 1 to %d", text, NODE_CPUS_MAX);
		return add_nodes(c, 1, n, err);
	}
	if (strncmp(text, "nodes:", 6) == 0) {
		if (sscanf(text + 6, "%ldx%ld%c", &n, &cpus, &rest) != 2 || n < 1 || n > MACHINE_NODES_MAX ||
		    cpus < 1 || cpus > NODE_CPUS_MAX)
			return err_set(err, -EINVAL, "%s: use nodes:NxC, such as nodes:40x8", text);
		return add_nodes(c, n, cpus, err);
	}
	return machine_file(c, text, err);
}
