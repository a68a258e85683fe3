/*
 * pool_gpus.c - shares a station's GPUs one by one: tasks see those that no program of the owner
 * has open (gpus.h), through CUDA_VISIBLE_DEVICES and similar variables. A running task keeps its
 * GPUs.
 */
#include <stdio.h>
#include <string.h>

#include "station/gpus.h"
#include "station/pool_internal.h"

#define LOOK_MS 5000

void station_gpus_look(struct pool *p, const char *dev, int64_t now)
{
	struct guard *g = &p->guard;
	pid_list ours = {0};

	if (g->gpus_at && now - g->gpus_at < LOOK_MS)
		return;
	g->gpus_at = now;
	g->ngpus = gpus_count(dev);
	if (!g->ngpus)
		return;
	host_pids(p, &ours);
	g->gpus = owner_gpus(dev, &ours);
	vec_free(&ours);
}

static bool is_ours(const char *setting)
{
	static const char *const names[] = {"CUDA_VISIBLE_DEVICES=", "ROCR_VISIBLE_DEVICES=", "GPU_DEVICE_ORDINAL="};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strncmp(setting, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

const char **station_gpus_environment(const struct pool *p, struct arena *a, const char **env)
{
	const struct guard *g = &p->guard;
	char list[OWNER_GPUS_MOST * 3 + 1] = "";
	size_t n = 0, kept = 0, at = 0;
	const char **all;

	if (!g->ngpus)
		return env;
	for (int i = 0; i < g->ngpus; i++)
		if (!(g->gpus >> i & 1))
			at += (size_t)snprintf(list + at, sizeof list - at, "%s%d", at ? "," : "", i);
	while (env[n])
		n++;
	all = arena_alloc(a, (n + 4) * sizeof *all);
	for (size_t i = 0; i < n; i++)
		if (!is_ours(env[i]))
			all[kept++] = env[i];
	all[kept++] = arena_printf(a, "CUDA_VISIBLE_DEVICES=%s", list);
	all[kept++] = arena_printf(a, "ROCR_VISIBLE_DEVICES=%s", list);
	all[kept++] = arena_printf(a, "GPU_DEVICE_ORDINAL=%s", list);
	all[kept] = NULL;
	return all;
}
