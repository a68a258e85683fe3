/*
 * objects.c - see objects.h.
 */
#include "server/settings/objects.h"

#include <errno.h>
#include <string.h>

#include "base/codec.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "server/base/turn.h"
#include "server/server.h"
#include "server/settings/setting.h"
#include "store/store.h"

void attrs_store(struct server *s, const char *kind, const char *name, const struct attrs *a)
{
	struct strbuf text = {0};
	struct json j;

	json_begin(&j, &text);
	attrs_write(a, &j);
	json_close_object(&j);
	store_put_object(s->store, kind, name, text.text);
	s->turn->settings += strcmp(kind, "queue") == 0 || strcmp(kind, "account") == 0;
	strbuf_fini(&text);
}

void record_put(struct server *s, const char *kind, const char *name, const struct field *rows, uint32_t in,
		const void *record)
{
	struct strbuf text = {0};

	record_store_text(rows, in, record, NULL, &text);
	store_put_object(s->store, kind, name, text.text);
	strbuf_fini(&text);
}

void object_store(struct server *s, const struct object *x)
{
	attrs_store(s, object_table[x->kind].name, x->name, &x->attrs);
}

void object_drop(struct server *s, struct object *x)
{
	store_drop_object(s->store, object_table[x->kind].name, x->name);
	s->turn->settings += x->kind == OBJECT_ACCOUNT;
	object_destroy(s->objects, x);
}

int object_restore(struct server *s, const char *kind, const char *name, const struct json_t *o, struct err *err)
{
	for (int k = 0; k < OBJECT_KINDS; k++)
		if (strcmp(kind, object_table[k].name) == 0)
			return attrs_read(&object_make(s->objects, (enum object_kind)k, name)->attrs, o, err);
	return -ENOENT;
}
