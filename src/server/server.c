/*
 * server.c - see server.h.
 */
#include "server/server.h"

#include "base/mem.h"
#include "rules/attr.h"
#include "rules/object.h"
#include "server/api/frame/audience.h"
#include "server/base/agenda.h"
#include "server/base/clock.h"
#include "server/base/instance.h"
#include "server/base/post.h"
#include "server/base/reader.h"
#include "server/base/stats.h"
#include "server/base/turn.h"
#include "server/base/users.h"
#include "server/base/work.h"
#include "server/book/books.h"
#include "server/book/credits.h"
#include "server/book/quotas.h"
#include "server/book/sharing.h"
#include "server/job/jobs.h"
#include "server/life/wait/foresee.h"
#include "server/life/world/world.h"
#include "server/node/nodes.h"
#include "server/settings/conf.h"
#include "server/settings/overlays.h"
#include "server/settings/remotes.h"
#include "server/settings/templates.h"
#include "server/site/coordinators.h"
#include "server/site/realm.h"

struct server *server_create(void)
{
	struct server *s = mem_zalloc(sizeof *s);

	s->instance = mem_zalloc(sizeof *s->instance);
	s->clock = mem_zalloc(sizeof *s->clock);
	s->turn = mem_zalloc(sizeof *s->turn);
	s->slices = mem_zalloc(sizeof *s->slices);
	s->post = mem_zalloc(sizeof *s->post);
	s->words = mem_zalloc(sizeof *s->words);
	s->users = mem_zalloc(sizeof *s->users);
	s->stats = mem_zalloc(sizeof *s->stats);
	s->reader = mem_zalloc(sizeof *s->reader);
	s->conf = mem_zalloc(sizeof *s->conf);
	s->attrs = mem_zalloc(sizeof *s->attrs);
	s->objects = mem_zalloc(sizeof *s->objects);
	s->remotes = mem_zalloc(sizeof *s->remotes);
	s->overlays = mem_zalloc(sizeof *s->overlays);
	s->templates = mem_zalloc(sizeof *s->templates);
	s->jobs = mem_zalloc(sizeof *s->jobs);
	s->agenda = mem_zalloc(sizeof *s->agenda);
	s->hosts = mem_zalloc(sizeof *s->hosts);
	s->books = mem_zalloc(sizeof *s->books);
	s->books->credits = credits_create();
	s->books->quotas = quotas_create();
	s->books->sharing = sharing_create();
	s->realm = mem_zalloc(sizeof *s->realm);
	s->coordinators = coordinators_create();
	s->world = mem_zalloc(sizeof *s->world);
	s->outlook = mem_zalloc(sizeof *s->outlook);
	s->audience = mem_zalloc(sizeof *s->audience);
	return s;
}
