/* conf_nodes.c - parses the value of "nodes =". */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hostlist.h"
#include "base/names.h"
#include "core/feature.h"
#include "core/partition.h"
#include "core/reqtext.h"
#include "server/settings/conf.h"

#define SHOWN 60 /* characters of a faulty group shown in its message */

/* Properties of the nodes of one group. Texts are borrowed. */
struct group {
	struct conf_node like;
	char *feature[NODE_FEATURES_MAX + 1];
	int nfeatures;
};

static void node_fini(struct conf_node *n)
{
	free(n->name);
	for (char **f = n->feature; f && *f; f++)
		free(*f);
	free(n->feature);
	free(n->partition);
}

void conf_nodes_fini(struct conf_nodes *n)
{
	for (size_t i = 0; i < n->node.n; i++)
		node_fini(&n->node.v[i]);
	vec_free(&n->node);
}

static bool number_read(const char *text, int64_t min, int64_t max, int64_t *ret)
{
	size_t n = strspn(text, "0123456789");

	if (n == 0 || n > 12 || text[n])
		return false;
	*ret = strtoll(text, NULL, 10);
	return *ret >= min && *ret <= max;
}

static bool word_ok(const char *text)
{
	size_t n = 0;

	for (; isalnum((unsigned char)text[n]) || (text[n] && strchr("._-", text[n])); n++)
		;
	return n > 0 && n < 64 && !text[n];
}

bool conf_node_name_good(const char *name)
{
	return isalnum((unsigned char)*name) && word_ok(name);
}

static int partition_read(struct group *g, char *name, struct err *err)
{
	if (!isalpha((unsigned char)*name) || !word_ok(name) || strlen(name) > PARTITION_NAME_MAX ||
	    strcasecmp(name, PARTITION_WORD_ANY) == 0)
		return err_set(
			err, -EINVAL,
			"partition=%.*s: a name has up to %d letters, digits, '_', '.' and '-', begins with a letter, and is not \"%s\"",
			SHOWN, name, PARTITION_NAME_MAX, PARTITION_WORD_ANY);
	g->like.partition = name;
	return 0;
}

/* Parses cpus=8, mem=16gb, disk=1tb, swap=4gb, gpus=1, partition=A, or a feature. */
static int group_word(struct group *g, char *word, struct err *err)
{
	char *value = strchr(word, '=');

	if (value) {
		*value++ = '\0';
		if (strcmp(word, "cpus") == 0 || strcmp(word, "ncpus") == 0 || strcmp(word, "np") == 0)
			return number_read(value, 1, CPUS_MAX, &g->like.cpus)
				       ? 0
				       : err_set(err, -EINVAL, "cpus=%.*s: must be a whole number from 1 to %lld",
						 SHOWN, value, (long long)CPUS_MAX);
		if (strcmp(word, "gpus") == 0 || strcmp(word, "ngpus") == 0)
			return number_read(value, 0, CPUS_MAX, &g->like.gpus)
				       ? 0
				       : err_set(err, -EINVAL, "gpus=%.*s: must be a whole number from 0 to %lld",
						 SHOWN, value, (long long)CPUS_MAX);
		int64_t *kib = strcmp(word, "mem") == 0	   ? &g->like.memory
			       : strcmp(word, "disk") == 0 ? &g->like.disk
			       : strcmp(word, "swap") == 0 ? &g->like.swap
							   : NULL;
		if (kib) {
			int rc = memory_parse(value, kib, err);
			return rc < 0 ? err_prefix(err, rc, "%s=%.*s", word, SHOWN, value) : 0;
		}
		if (strcmp(word, "partition") == 0)
			return partition_read(g, value, err);
		return err_set(err, -EINVAL,
			       "%.*s: a node has cpus=, mem=, disk=, swap=, gpus=, partition= and features", SHOWN,
			       word);
	}
	if (!word_ok(word))
		return err_set(err, -EINVAL, "\"%.*s\" is not a feature (up to 63 letters, digits, '.', '-' and '_')",
			       SHOWN, word);
	if (g->nfeatures == NODE_FEATURES_MAX)
		return err_set(err, -EINVAL, "more than %d features of a node", NODE_FEATURES_MAX);
	g->feature[g->nfeatures++] = word;
	return 0;
}

static int node_add(struct conf_nodes *all, struct names *known, const char *name, const struct group *g,
		    struct err *err)
{
	struct conf_node n = g->like;
	uint32_t id;

	if (names_find(known, name, &id))
		return err_set(err, -EINVAL, "the node %.*s is named twice", SHOWN, name);
	if (all->node.n == CONF_NODES_MAX)
		return err_set(err, -EINVAL, "more than %d nodes", CONF_NODES_MAX);
	names_add(known, name);
	n.name = mem_strdup(name);
	n.partition = n.partition ? mem_strdup(n.partition) : NULL;
	if (g->nfeatures) {
		n.feature = mem_zalloc(((size_t)g->nfeatures + 1) * sizeof *n.feature);
		for (int i = 0; i < g->nfeatures; i++)
			n.feature[i] = mem_strdup(g->feature[i]);
	}
	vec_push(&all->node, n);
	return 0;
}

/* Parses "4x8": count and CPUs. */
static bool grid_read(char *text, int64_t *ret_count, int64_t *ret_cpus)
{
	char *x = strchr(text, 'x');
	bool ok = false;

	if (x) {
		*x = '\0';
		ok = number_read(text, 1, CONF_NODES_MAX, ret_count) && number_read(x + 1, 1, CPUS_MAX, ret_cpus);
		*x = 'x';
	}
	return ok;
}

/* Parses "8,8,16": partitions A, B and C of nodes with one CPU. */
static int parts_parse(char *sizes, struct conf_nodes *all, struct names *known, int64_t *numbered, struct err *err)
{
	char letter[8], name[32], *size;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && (size = strsep(&sizes, ",")); i++) {
		struct group g = {.like.cpus = 1};
		int64_t count = 0;
		snprintf(name, sizeof name, "%s", i < PARTITIONS_MAX ? partition_letter(i, letter) : "");
		g.like.partition = mem_strdup(name);
		if (i >= PARTITIONS_MAX)
			rc = err_set(err, -EINVAL, "more than %d partitions", PARTITIONS_MAX);
		else if (!number_read(size, 1, CONF_NODES_MAX, &count))
			rc = err_set(err, -EINVAL, "a partition has 1 to %d nodes, as in parts:8,8,16", CONF_NODES_MAX);
		for (int64_t k = 0; rc == 0 && k < count; k++) {
			snprintf(name, sizeof name, "n%lld", (long long)++*numbered);
			rc = node_add(all, known, name, &g, err);
		}
		free(g.like.partition);
	}
	return rc;
}

/* Parses one group, modifying the text. *numbered counts the nodes named n1, n2, ... */
static int group_parse(char *text, struct conf_nodes *all, struct names *known, int64_t *numbered, struct err *err)
{
	struct group g = {0};
	name_list names = {0};
	int64_t count = 0;
	char *rest = text, *hosts = strsep(&rest, ":"), *word, name[32];
	bool grid = grid_read(hosts, &count, &g.like.cpus);
	int rc = 0;

	if (strcmp(hosts, "parts") == 0)
		return parts_parse(rest ? rest : hosts + strlen(hosts), all, known, numbered, err);
	while (rc == 0 && (word = strsep(&rest, ":")))
		rc = group_word(&g, word, err);
	if (rc == 0 && g.like.cpus == 0)
		rc = err_set(err, -EINVAL, "needs cpus=N, as in n[1-4]:cpus=8, or the form 4x8");
	if (rc == 0 && !grid)
		rc = hostlist_parse(hosts, &names, err);
	for (size_t i = 0; i < names.n && rc == 0; i++)
		rc = node_add(all, known, names.v[i], &g, err);
	for (int64_t i = 0; grid && i < count && rc == 0; i++) {
		snprintf(name, sizeof name, "n%lld", (long long)++*numbered);
		rc = node_add(all, known, name, &g, err);
	}
	name_list_free(&names);
	return rc;
}

int conf_nodes_parse(const char *text, struct conf_nodes *ret, struct err *err)
{
	struct conf_nodes all = {0};
	struct names known = {0};
	int64_t numbered = 0;
	char *copy = mem_strdup(text), *rest = copy, *group;
	int rc = 0;

	all.automatic = strcmp(text, "auto") == 0;
	all.none = strcmp(text, "none") == 0;
	if (all.automatic || all.none)
		rest = NULL;
	while (rc == 0 && rest && (group = strsep(&rest, " \t+"))) {
		char shown[SHOWN + 1];
		snprintf(shown, sizeof shown, "%s", group);
		if (*group)
			rc = group_parse(group, &all, &known, &numbered, err);
		if (rc < 0)
			err_prefix(err, rc, "%s", shown);
	}
	if (rc == 0 && !all.automatic && !all.none && all.node.n == 0)
		rc = err_set(err, -EINVAL, "no nodes; use auto, none, 4x8, parts:8,8,16, or n[1-4]:cpus=8:mem=16gb");
	names_fini(&known);
	free(copy);
	if (rc < 0)
		conf_nodes_fini(&all);
	else
		*ret = all;
	return rc;
}
