/*
 * tried.c - see tried.h.
 */
#include "server/base/tried.h"

#include <assert.h>

#include "base/names.h"
#include "server/server.h"

void trial_enter(struct server *s, struct trial *t)
{
	assert(!s->words->trial);
	s->words->trial = &t->words;
	s->cluster->trial = &t->cluster;
	s->cluster->features.trial = &t->cluster.features;
	limits_try(s->limits, &t->limits);
}

void trial_leave(struct server *s)
{
	s->words->trial = NULL;
	s->cluster->trial = NULL;
	s->cluster->features.trial = NULL;
	limits_try(s->limits, NULL);
}

void trial_end(struct server *s, struct trial *t, bool keep)
{
	names_end(s->words, &t->words, keep);
	cluster_trial_end(s->cluster, &t->cluster, keep);
	limits_trial_end(s->limits, &t->limits, keep);
}
