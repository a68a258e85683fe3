/*
 * fuzz_topology.c - any bytes as a tree of switches: they are read, or refused with a message, and
 * every node has a leaf below all of its switches.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/lines.h"
#include "core/topology.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lines *in = lines_over(data, size);
	struct err err = {.text = ""};
	struct topology *t = NULL;
	int rc = topology_read(in, "file", &t, &err);

	lines_close(in);
	if (rc < 0) {
		if (!err.text[0] || t)
			abort();
		return 0;
	}
	for (uint32_t i = 0; i < t->nodes.n; i++) {
		uint32_t leaf = topology_leaf(t, names_get(&t->nodes, i));
		if (leaf == 0 || leaf > t->leaf.n)
			abort();
		for (uint32_t s = t->leaf.v[leaf - 1] + 1; s; s = t->v.v[s - 1].parent)
			if (leaf - 1 < t->v.v[s - 1].from || leaf > t->v.v[s - 1].to)
				abort();
	}
	topology_free(t);
	return 0;
}
