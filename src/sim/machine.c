/*
 * machine.c - builds nodes from the text of a machine.
 */
#include "sim/machine.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/lines.h"

#define MACHINE_NODES_MAX 1000000
#define MACHINE_CPUS_MAX 100000000 /* in total; processors x seconds must fit into 64 bits */

static bool is_text(const char *text)
{
	return strncmp(text, "flat:", 5) == 0 || strncmp(text, "nodes:", 6) == 0 || strncmp(text, "parts:", 6) == 0;
}

/* Reads a number of at least 1, and moves past it. */
static bool number_scan(const char **p, int64_t *ret)
{
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	errno = 0;
	*ret = strtoll(*p, &end, 10);
	*p = end;
	return errno == 0 && *ret > 0 && *ret <= MACHINE_CPUS_MAX;
}

/* Scans "40x8+2x64". */
static bool groups_scan(const char *p, machine_groups *groups, int64_t *ret_nodes, int64_t *ret_cpus)
{
	struct machine_group g = {0};

	*ret_nodes = *ret_cpus = 0;
	do {
		if (!number_scan(&p, &g.nodes) || *p++ != 'x' || !number_scan(&p, &g.cpus))
			return false;
		*ret_nodes += g.nodes;
		*ret_cpus += g.nodes * g.cpus;
		if (*ret_nodes > MACHINE_NODES_MAX || *ret_cpus > MACHINE_CPUS_MAX)
			return false;
		vec_push(groups, g);
	} while (*p++ == '+');
	return p[-1] == '\0';
}

/* Scans "8,8,16,32". */
static bool parts_scan(const char *p, machine_groups *groups, int64_t *ret_nodes)
{
	struct machine_group g = {.cpus = 1, .partition = true};

	*ret_nodes = 0;
	do {
		if (!number_scan(&p, &g.nodes))
			return false;
		*ret_nodes += g.nodes;
		if (*ret_nodes > MACHINE_NODES_MAX || groups->n >= PARTITIONS_MAX)
			return false;
		vec_push(groups, g);
	} while (*p++ == ',');
	return p[-1] == '\0';
}

int machine_parse(const char *text, machine_groups *ret, int64_t *ret_nodes, int64_t *ret_cpus, struct err *err)
{
	bool flat = strncmp(text, "flat:", 5) == 0, good = is_text(text);
	const char *p = text + (good ? strcspn(text, ":") + 1 : 0);

	*ret_nodes = 1;
	if (good && flat) {
		good = number_scan(&p, ret_cpus) && *p == '\0';
		if (good)
			vec_push(ret, (struct machine_group){.nodes = 1, .cpus = *ret_cpus});
	} else if (good && text[0] == 'p') {
		good = parts_scan(p, ret, ret_nodes);
		*ret_cpus = *ret_nodes;
	} else if (good) {
		good = groups_scan(p, ret, ret_nodes, ret_cpus);
	}
	if (good)
		return 0;
	vec_free(ret);
	return err_set(
		err, -EINVAL,
		"%.60s: use nodes:NxC, such as nodes:40x8 or nodes:40x8+2x64, parts:N,N,..., such as parts:8,8,16, or flat:N; up to %d nodes, %d CPUs and %d partitions",
		text, MACHINE_NODES_MAX, MACHINE_CPUS_MAX, PARTITIONS_MAX);
}

/* Makes the last `count` nodes of the cluster its partition number i. */
static int partition_add(struct cluster *c, uint32_t i, int64_t count, struct err *err)
{
	VEC(uint32_t) nodes = {0};
	char buf[8];
	int rc;

	for (int64_t k = count; k > 0; k--)
		vec_push(&nodes, (uint32_t)((int64_t)c->nodes.n - k));
	rc = cluster_add_partition(c, partition_letter(i, buf), nodes.v, (uint32_t)nodes.n, err);
	vec_free(&nodes);
	return rc;
}

/* Builds nodes n1, n2, ... */
static int machine_text(struct cluster *c, const char *text, struct err *err)
{
	machine_groups groups = {0};
	int64_t nodes, cpus;
	char name[32];
	int rc = machine_parse(text, &groups, &nodes, &cpus, err);

	nodes = 0;
	for (size_t g = 0; g < groups.n; g++) {
		for (int64_t i = 0; i < groups.v[g].nodes && rc == 0; i++) {
			struct res total = {.v = {groups.v[g].cpus}};
			snprintf(name, sizeof name, "n%lld", (long long)++nodes);
			rc = cluster_add_node(c, name, &total, err);
		}
		if (groups.v[g].partition && rc == 0)
			rc = partition_add(c, (uint32_t)g, groups.v[g].nodes, err);
	}
	vec_free(&groups);
	return rc;
}

/* Partitions named by the lines of a file, with their nodes; created after all lines were read. */
struct part_node {
	uint32_t part, node;
};

struct named_parts {
	struct names names;
	VEC(struct part_node) nodes;
};

static int named_parts_make(struct cluster *c, struct named_parts *p, int rc, struct err *err)
{
	VEC(uint32_t) nodes = {0};

	for (uint32_t i = 0; i < p->names.n && rc == 0; i++) {
		vec_clear(&nodes);
		for (size_t k = 0; k < p->nodes.n; k++)
			if (p->nodes.v[k].part == i)
				vec_push(&nodes, p->nodes.v[k].node);
		rc = cluster_add_partition(c, names_get(&p->names, i), nodes.v, (uint32_t)nodes.n, err);
	}
	vec_free(&nodes);
	vec_free(&p->nodes);
	names_fini(&p->names);
	return rc;
}

/* The words of a node line that are not amounts. */
struct node_words {
	char *features, *partition;
	uint32_t speed; /* 0: not stated */
};

/* Reads one word of a node line: cpus=8, mem=16gb, disk=1tb, swap=4gb, gpus=1, speed=1.5,
 * features=a,b, partition=A or a named resource. */
static int node_word(struct cluster *c, char *word, struct res *total, struct node_words *ret, struct err *err)
{
	char *value = strchr(word, '=');
	long long n;
	char rest;

	if (!value)
		return err_set(err, -EINVAL, "%s: expected name=value, such as cpus=8", word);
	*value++ = 0;
	if (strcmp(word, "features") == 0) {
		ret->features = value;
		return 0;
	}
	if (strcmp(word, "partition") == 0) {
		ret->partition = value;
		return *value ? 0 : err_set(err, -EINVAL, "partition=: a name must follow");
	}
	if (strcmp(word, "speed") == 0)
		return speed_parse(value, &ret->speed, err);
	if (strcmp(word, "mem") == 0)
		return memory_parse(value, &total->v[RES_MEM], err);
	if (strcmp(word, "disk") == 0)
		return memory_parse(value, &total->v[RES_DISK], err);
	if (strcmp(word, "swap") == 0)
		return memory_parse(value, &total->v[RES_SWAP], err);
	if (sscanf(value, "%lld%c", &n, &rest) != 1 || n < 0 || n > MACHINE_CPUS_MAX)
		return err_set(err, -EINVAL, "%s=%s: must be a whole number from 0 to %d", word, value,
			       MACHINE_CPUS_MAX);
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

static int node_line(struct cluster *c, struct named_parts *parts, char *line, struct err *err)
{
	char *save = NULL, *word = strtok_r(line, " \t", &save), *hosts;
	struct node_words more = {0};
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
		rc = node_word(c, word, &total, &more, err);
	if (rc == 0 && total.v[RES_CPU] <= 0)
		rc = err_set(err, -EINVAL, "node %s: needs cpus=N, at least 1", hosts);
	if (rc == 0)
		rc = hostlist_parse(hosts, &names, err);
	cluster_count(c, &total);
	for (size_t i = 0; i < names.n && rc == 0; i++) {
		rc = cluster_add_node(c, names.v[i], &total, err);
		if (rc == 0 && more.speed)
			c->nodes.v[c->nodes.n - 1].speed = more.speed;
	}
	for (char *f = more.features ? strtok_r(more.features, ",", &save) : NULL; f && rc == 0;
	     f = strtok_r(NULL, ",", &save))
		for (size_t i = 0; i < names.n && rc == 0; i++)
			rc = cluster_add_feature(c, (uint32_t)(c->nodes.n - names.n + i), f, err);
	for (size_t i = 0; i < names.n && rc == 0 && more.partition; i++) {
		uint32_t part = names_add(&parts->names, more.partition);
		vec_push(&parts->nodes, (struct part_node){part, (uint32_t)(c->nodes.n - names.n + i)});
	}
	name_list_free(&names);
	return rc;
}

static int machine_file(struct cluster *c, const char *path, struct err *err)
{
	struct named_parts parts = {0};
	struct lines *in;
	char *line;
	int rc = lines_open(path, &in, err);

	if (rc < 0)
		return rc;
	while ((rc = lines_next(in, &line, err)) == 1) {
		rc = node_line(c, &parts, line, err);
		if (rc < 0) {
			rc = err_prefix(err, rc, "%s line %lld", path, (long long)lines_number(in));
			break;
		}
	}
	lines_close(in);
	if (rc == 0 && c->nodes.n == 0)
		rc = err_set(err, -EINVAL, "%s: no node line in it", path);
	return named_parts_make(c, &parts, rc < 0 ? rc : 0, err);
}

/* Builds the lines "node n1 cpus=8\nnode n2 ...". */
static int machine_lines(struct cluster *c, const char *text, struct err *err)
{
	char *copy = mem_strdup(text), *rest = copy, *line;
	struct named_parts parts = {0};
	int rc = 0;

	while (rc == 0 && (line = strsep(&rest, "\n")))
		rc = node_line(c, &parts, line, err);
	free(copy);
	return named_parts_make(c, &parts, rc, err);
}

int machine_build(struct cluster *c, const char *text, struct err *err)
{
	if (strncmp(text, "node ", 5) == 0)
		return machine_lines(c, text, err);
	return is_text(text) ? machine_text(c, text, err) : machine_file(c, text, err);
}
