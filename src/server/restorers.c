/*
 * restorers.c - see restorers.h.
 */
#include "server/restorers.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "rules/attr.h"
#include "server/api/jobs/acted.h"
#include "server/base/instance.h"
#include "server/book/credits.h"
#include "server/book/history.h"
#include "server/job/jobs.h"
#include "server/job/keys.h"
#include "server/life/enter/intake.h"
#include "server/life/run/erase.h"
#include "server/life/run/migrate.h"
#include "server/life/wait/amounts.h"
#include "server/life/wait/order.h"
#include "server/life/world/outage.h"
#include "server/meta.h"
#include "server/node/world_node.h"
#include "server/offline/spool.h"
#include "server/server.h"
#include "server/settings/objects.h"
#include "server/settings/overlays.h"
#include "server/settings/remotes.h"
#include "server/settings/setting.h"
#include "server/settings/templates.h"
#include "server/site/realm.h"
#include "server/site/revoke.h"
#include "server/site/sessions.h"
#include "server/site/tokens.h"
#include "store/store.h"

static int server_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	s->instance->founded = true;
	return attrs_read(s->attrs, o, err);
}

static int queue_restore(struct server *s, const char *name, const json_t *o, struct err *err)
{
	struct queue *q = queue_named(s, name);

	return attrs_read(&(q ? q : queue_create(s, name))->attrs, o, err);
}

/* Drops a refusal: older versions kept them as objects, now they are jobs. */
static int refusal_drop(struct server *s, const char *name, const json_t *o, struct err *err)
{
	store_drop_object(s->store, "refusal", name);
	return 0;
}

static const struct {
	const char *kind;
	int (*restore)(struct server *s, const char *name, const json_t *o, struct err *err);
} restorers[] = {
	{"meta", meta_restore},	      {"server", server_restore},    {"queue", queue_restore},
	{"node", world_node_restore}, {"cluster", realm_object},     {"token", token_restore},
	{"session", session_restore}, {"revoked", revoke_restore},   {"site", remote_restore},
	{"overlay", overlay_restore}, {"spool", spool_restore_host}, {"spooled", spool_restore_mark},
	{"amount", amount_restore},   {"moves", moves_restore},	     {"key", subkey_restore},
	{"acted", acted_restore},     {"intake", intake_restore},    {"erase", erase_restore},
	{"history", history_restore}, {"outage", outage_restore},    {"reorder", reorder_restore},
	{"credit", credits_restore},  {"refusal", refusal_drop},     {"template", template_restore},
};

int object_recover(struct server *s, const char *kind, const char *name, const json_t *o, struct err *err)
{
	int rc;

	for (size_t i = 0; i < sizeof restorers / sizeof *restorers; i++)
		if (strcmp(restorers[i].kind, kind) == 0)
			return restorers[i].restore(s, name, o, err);
	rc = object_restore(s, kind, name, o, err); /* uses the rows of rules/object.h */
	return rc == -ENOENT ? 0 : rc;
}
