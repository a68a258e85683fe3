/*
 * fuzz_conf.c - any bytes as a configuration file, and any text as nodes: they are read, or refused
 * with a message.
 */
#include <assert.h>
#include <string.h>

#include "server/settings/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conf_nodes nodes = {0};
	struct err err = {.text = ""};
	struct conf c;

	conf_init(&c);
	if (conf_read(&c, "fuzz", (const char *)data, size, &err) < 0)
		assert(strncmp(err.text, "fuzz:", 5) == 0 && strcmp(c.nodes, "auto") == 0);
	else
		assert(conf_nodes_parse(c.nodes, &nodes, &err) == 0 &&
		       (nodes.automatic || nodes.none || nodes.node.n > 0));
	conf_nodes_fini(&nodes);
	conf_fini(&c);

	char *text = strndup((const char *)data, size);
	if (conf_nodes_parse(text, &nodes, &err) == 0)
		for (size_t i = 0; i < nodes.node.n; i++)
			assert(nodes.node.v[i].cpus > 0 && *nodes.node.v[i].name);
	else
		assert(err.text[0]);
	conf_nodes_fini(&nodes);
	free(text);
	return 0;
}
