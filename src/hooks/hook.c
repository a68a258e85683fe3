/*
 * hook.c - see hook.h.
 *
 * The job that a function sees is an empty table: reads come from JSON, and assignments are checked
 * and added to the verdict's changes at once, so an error names the line that assigned. Lua's
 * errors jump (longjmp): nothing that must be freed is held where one can be raised.
 */
#include "hooks/hook.h"

#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/timetext.h"
#include "core/jobschema.h"
#include "hooks/sandbox.h"

#define TEXT_MAX 4096	 /* maximum bytes of a changed member */
#define MESSAGE_MAX 400	 /* maximum bytes of a refusal */
#define LINES_MAX 20	 /* maximum lines of log() in a call */
#define LINE_MAX_ 500	 /* maximum bytes of each line */
#define MAILS_MAX 5	 /* maximum mails of notify() in a call */
#define MAIL_MAX 16384	 /* maximum bytes of a mail */
#define RESOURCES_MAX 32 /* maximum resources that a call may set */
#define DEEP 16		 /* maximum levels of JSON that become tables */

static const char *const event_names[] = {"submit", "modify", "start", "end", "priority"};
static const char *const functions[] = {"on_submit", "on_modify", "on_start", "on_end", "priority_factor"};

#define FACTOR_MOST 1e9 /* greatest priority factor, above or below 0 */

/* A call in progress; its address is in Lua's registry. */
struct call {
	struct sandbox box;
	const struct hook_subject *subject;
	struct hook_verdict *verdict;
	bool refused;
	double factor; /* result of HOOK_PRIORITY */
};

const char *hook_event_name(enum hook_event e)
{
	return event_names[e];
}

int hook_event_find(const char *name)
{
	for (int i = 0; i < HOOK_EVENTS; i++)
		if (strcmp(event_names[i], name) == 0)
			return i;
	return -ENOENT;
}

/* Returns true if a hook may set the row: for a submission all that hooks may set, for an
 * alteration only those that it may change. */
static bool may_set(const struct field *f, enum hook_event e)
{
	return f->in & HOOKED && (e == HOOK_SUBMIT || (e == HOOK_MODIFY && f->in & AT_ALTER));
}

/* Writes which members a hook may change, joined by ", ". */
static void hook_changeable(enum hook_event e, struct strbuf *out)
{
	for (const struct field *f = job_members; f->name; f++)
		if (may_set(f, e))
			strbuf_printf(out, "%s, ", f->name);
	strbuf_puts(out, e == HOOK_SUBMIT || e == HOOK_MODIFY ? "resources, walltime" : "nothing");
}

void hook_verdict_fini(struct hook_verdict *v)
{
	free(v->message);
	json_decref(v->changes);
	json_decref(v->log);
	json_decref(v->mails);
	*v = (struct hook_verdict){0};
}

static struct call *call_of(lua_State *L)
{
	return lua_touserdata(L, lua_upvalueindex(1));
}

/* ---- JSON to Lua ---- */

static void push_json(lua_State *L, const json_t *x, int deep)
{
	const char *key;
	json_t *value;
	size_t i;

	luaL_checkstack(L, 4, "too deep");
	switch (json_typeof(x)) {
	case JSON_OBJECT:
		lua_newtable(L);
		if (deep == 0)
			break;
		json_object_foreach((json_t *)x, key, value)
		{
			push_json(L, value, deep - 1);
			lua_setfield(L, -2, key);
		}
		break;
	case JSON_ARRAY:
		lua_newtable(L);
		if (deep == 0)
			break;
		json_array_foreach((json_t *)x, i, value)
		{
			push_json(L, value, deep - 1);
			lua_rawseti(L, -2, (lua_Integer)i + 1);
		}
		break;
	case JSON_STRING:
		lua_pushlstring(L, json_string_value(x), json_string_length(x));
		break;
	case JSON_INTEGER:
		lua_pushinteger(L, json_integer_value(x));
		break;
	case JSON_REAL:
		lua_pushnumber(L, json_real_value(x));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		lua_pushboolean(L, json_is_true(x));
		break;
	default:
		lua_pushnil(L);
	}
}

/* ---- resources: texts as after -l; the last one that names a key counts ---- */

/* Finds the value of a key in one text: returns where it begins, and its length, or NULL. */
static const char *resource_in(const char *text, const char *key, size_t *ret)
{
	const char *found = NULL;
	size_t n = strlen(key);

	for (const char *p = text; *p; p += *p == ',') {
		size_t all = strcspn(p, ",");
		if (all > n && p[n] == '=' && strncasecmp(p, key, n) == 0) {
			found = p + n + 1;
			*ret = all - n - 1;
		}
		p += all;
	}
	return found;
}

static const char *resource_find(const json_t *o, const char *key, size_t *ret)
{
	const json_t *list = json_object_get(o, "resources");
	const char *found = NULL;

	for (size_t i = json_array_size(list); i-- > 0 && !found;) {
		const char *text = json_string_value(json_array_get(list, i));
		found = text ? resource_in(text, key, ret) : NULL;
	}
	return found;
}

/* Returns what a table stands for: the job, or the requested changes. */
static const json_t *seen(const struct call *c, bool asked)
{
	return asked ? c->subject->asked : c->subject->job;
}

/* Returns true if assignments to the table count. */
static bool changes_count(const struct call *c, bool asked)
{
	return c->subject->event == HOOK_SUBMIT || (c->subject->event == HOOK_MODIFY && asked);
}

static bool asked_of(lua_State *L)
{
	return lua_toboolean(L, lua_upvalueindex(2));
}

static const char *resource_now(const struct call *c, bool asked, const char *key, size_t *ret)
{
	const char *found = changes_count(c, asked) ? resource_find(c->verdict->changes, key, ret) : NULL;

	return found ? found : resource_find(seen(c, asked), key, ret);
}

static int resource_get(lua_State *L)
{
	const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL, *found;
	size_t n;

	found = key && *key ? resource_now(call_of(L), asked_of(L), key, &n) : NULL;
	if (found)
		lua_pushlstring(L, found, n);
	else
		lua_pushnil(L);
	return 1;
}

static void check_text(lua_State *L, const char *name, const char *text, size_t n)
{
	if (n > TEXT_MAX)
		luaL_error(L, "%s: %d bytes are allowed, and this has more", name, TEXT_MAX);
	if (strlen(text) != n)
		luaL_error(L, "%s: it holds a zero byte", name);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' && text[i] != '\t' && text[i] != '\n')
			luaL_error(L, "%s: it holds a control character", name);
}

static void check_utf8(lua_State *L, const char *name, const char *text, size_t n)
{
	json_t *x = json_stringn(text, n);

	json_decref(x);
	if (!x)
		luaL_error(L, "%s: it is not UTF-8", name);
}

static json_t *changes_of(struct call *c)
{
	if (!c->verdict->changes)
		c->verdict->changes = json_object();
	return c->verdict->changes;
}

static void check_changes(lua_State *L, const struct call *c, bool asked, const char *name)
{
	if (changes_count(c, asked))
		return;
	if (c->subject->event == HOOK_MODIFY)
		luaL_error(L, "job.%s: the job itself is read-only here: assign to the second argument instead", name);
	luaL_error(L, "job.%s: in %s nothing can be changed", name, functions[c->subject->event]);
}

static int resource_put(lua_State *L, struct call *c, const char *key, const char *value, size_t n)
{
	json_t *list;

	check_text(L, key, value, n);
	check_utf8(L, key, value, n);
	if (!*key || key[strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")] ||
	    strlen(key) > 64)
		return luaL_error(L, "resources: the name of a resource has letters, digits, '_', '.' and '-'");
	if (!n || strpbrk(value, ",\n\t "))
		return luaL_error(L, "resources.%s: the value is empty, or holds a comma or a blank", key);
	list = json_object_get(changes_of(c), "resources");
	if (json_array_size(list) >= RESOURCES_MAX)
		return luaL_error(L, "resources: at most %d can be set in a call", RESOURCES_MAX);
	if (!list) {
		list = json_array();
		json_object_set_new(changes_of(c), "resources", list);
	}
	json_array_append_new(list, json_sprintf("%s=%s", key, value));
	return 0;
}

static int resource_set(lua_State *L)
{
	struct call *c = call_of(L);
	size_t n;

	luaL_argcheck(L, lua_type(L, 2) == LUA_TSTRING, 2, "the name of a resource is a text");
	check_changes(L, c, asked_of(L), "resources");
	if (lua_type(L, 3) != LUA_TSTRING && !lua_isinteger(L, 3))
		return luaL_error(L, "resources.%s: a text or a whole number is needed, not a %s", lua_tostring(L, 2),
				  luaL_typename(L, 3));
	const char *value = lua_tolstring(L, 3, &n);
	return resource_put(L, c, lua_tostring(L, 2), value, n);
}

/* ---- the job ---- */

static void push_closure(lua_State *L, struct call *c, bool asked, lua_CFunction f)
{
	lua_pushlightuserdata(L, c);
	lua_pushboolean(L, asked);
	lua_pushcclosure(L, f, 2);
}

/* Pushes an empty table that reads and writes through these functions. */
static void push_proxy(lua_State *L, struct call *c, bool asked, lua_CFunction get, lua_CFunction set)
{
	lua_newtable(L);
	lua_newtable(L);
	push_closure(L, c, asked, get);
	lua_setfield(L, -2, "__index");
	push_closure(L, c, asked, set);
	lua_setfield(L, -2, "__newindex");
	lua_pushboolean(L, false);
	lua_setfield(L, -2, "__metatable");
	lua_setmetatable(L, -2);
}

static void push_walltime(lua_State *L, const struct call *c, bool asked)
{
	size_t n;
	const char *found = resource_now(c, asked, "walltime", &n);
	char text[64];
	int64_t seconds;

	if (found && n < sizeof text) {
		memcpy(text, found, n);
		text[n] = '\0';
		if (duration_parse(text, &seconds, NULL) == 0) {
			lua_pushinteger(L, seconds);
			return;
		}
	}
	lua_pushnil(L);
}

static int member_get(lua_State *L)
{
	struct call *c = call_of(L);
	bool asked = asked_of(L);
	const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
	const json_t *x = NULL;

	if (strcmp(key, "resources") == 0) {
		push_proxy(L, c, asked, resource_get, resource_set);
		return 1;
	}
	if (strcmp(key, "walltime") == 0) {
		push_walltime(L, c, asked);
		return 1;
	}
	if (changes_count(c, asked))
		x = json_object_get(c->verdict->changes, key);
	if (!x && !asked)
		/* members sent by the client can't hide the sender */
		x = json_object_get(c->subject->facts, key);
	if (!x)
		x = json_object_get(seen(c, asked), key);
	if (x)
		push_json(L, x, DEEP);
	else
		lua_pushnil(L);
	return 1;
}

static const struct field *member_find(const struct call *c, const char *key)
{
	const struct field *f = field_find(job_members, HOOKED, key, NULL);

	return f && may_set(f, c->subject->event) ? f : NULL;
}

static bool takes_number(const struct field *f)
{
	return f->is & (IS_INT | IS_INSTANT);
}

static int member_wrong(lua_State *L, const struct field *f)
{
	return luaL_error(L, "job.%s: it must be %s%s%s, not a %s", f->name,
			  f->is & IS_BOOL   ? "true or false"
			  : f->is & IS_TEXT ? "a text"
					    : "a whole number",
			  f->is & IS_TEXT && takes_number(f) ? " or a whole number" : "",
			  f->is & IS_NULL ? " or nil" : "", luaL_typename(L, 3));
}

static int member_refuse(lua_State *L, const char *key, enum hook_event e)
{
	struct strbuf known = {0};

	hook_changeable(e, &known);
	lua_pushfstring(L, "job.%s can't be changed here; what can: %s", key, known.text);
	strbuf_fini(&known);
	return lua_error(L);
}

static int member_set(lua_State *L)
{
	struct call *c = call_of(L);
	const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?", *text;
	const struct field *m = member_find(c, key);
	size_t n;

	check_changes(L, c, asked_of(L), key);
	if (strcmp(key, "walltime") == 0) {
		if (!lua_isinteger(L, 3) || lua_tointeger(L, 3) < 1)
			return luaL_error(L, "job.walltime: it must be a number of seconds above 0");
		text = lua_tolstring(L, 3, &n);
		return resource_put(L, c, "walltime", text, n);
	}
	if (!m)
		return member_refuse(L, key, c->subject->event);
	if (lua_isnil(L, 3) && m->is & IS_NULL) {
		json_object_set_new(changes_of(c), key, json_null());
	} else if (lua_isboolean(L, 3) && m->is & IS_BOOL) {
		json_object_set_new(changes_of(c), key, json_boolean(lua_toboolean(L, 3)));
	} else if (lua_isinteger(L, 3) && takes_number(m)) {
		json_object_set_new(changes_of(c), key, json_integer(lua_tointeger(L, 3)));
	} else if (lua_type(L, 3) == LUA_TSTRING && m->is & IS_TEXT) {
		text = lua_tolstring(L, 3, &n);
		check_text(L, key, text, n);
		check_utf8(L, key, text, n);
		json_object_set_new(changes_of(c), key, json_stringn(text, n));
	} else {
		return member_wrong(L, m);
	}
	return 0;
}

/* ---- refuse, log, notify ---- */

/* Copies a text for logs and answers: limited in length, without control characters, valid
 * UTF-8. */
static char *plain_text(const char *text, size_t n, size_t most)
{
	char *copy = mem_alloc((n < most ? n : most) + 1);
	size_t len = n < most ? n : most;
	json_t *good;

	memcpy(copy, text, len);
	copy[len] = '\0';
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)copy[i] < ' ' || copy[i] == 127)
			copy[i] = ' ';
	good = json_stringn(copy, len);
	for (size_t i = 0; i < len && !good; i++)
		if ((unsigned char)copy[i] > 127)
			copy[i] = '?';
	json_decref(good);
	return copy;
}

static int say_refuse(lua_State *L)
{
	struct call *c = call_of(L);
	size_t n;
	const char *text = luaL_checklstring(L, 1, &n);

	if (c->subject->event != HOOK_SUBMIT && c->subject->event != HOOK_MODIFY)
		return luaL_error(L, "refuse: in %s nothing can be refused", functions[c->subject->event]);
	if (!c->refused) {
		c->refused = true;
		c->verdict->message = plain_text(text, n, MESSAGE_MAX);
	}
	return luaL_error(L, "refused");
}

static int say_log(lua_State *L)
{
	struct call *c = call_of(L);
	size_t n;
	const char *text = luaL_checklstring(L, 1, &n);
	char *line;

	if (c->subject->event == HOOK_PRIORITY)
		return luaL_error(L, "log: not in priority_factor, which is called again and again");
	if (json_array_size(c->verdict->log) >= LINES_MAX)
		return luaL_error(L, "log: at most %d lines can be written in a call", LINES_MAX);
	if (!c->verdict->log)
		c->verdict->log = json_array();
	line = plain_text(text, n, LINE_MAX_);
	json_array_append_new(c->verdict->log, json_string(line));
	free(line);
	return 0;
}

static int say_notify(lua_State *L)
{
	struct call *c = call_of(L);
	size_t nto, nsubject, ntext;
	const char *to = luaL_checklstring(L, 1, &nto), *subject = luaL_checklstring(L, 2, &nsubject),
		   *text = luaL_checklstring(L, 3, &ntext);
	char *plain;

	if (c->subject->event == HOOK_PRIORITY)
		return luaL_error(L, "notify: not in priority_factor, which is called again and again");
	check_text(L, "notify", to, nto);
	check_utf8(L, "notify", to, nto);
	if (!nto || strpbrk(to, " \t\n"))
		return luaL_error(L, "notify: the recipient is a user or an address, several joined by commas");
	if (ntext > MAIL_MAX || strlen(text) != ntext)
		return luaL_error(L, "notify: the text may have %d bytes, and no zero byte", MAIL_MAX);
	check_utf8(L, "notify", text, ntext);
	if (json_array_size(c->verdict->mails) >= MAILS_MAX)
		return luaL_error(L, "notify: at most %d mails can be sent in a call", MAILS_MAX);
	if (!c->verdict->mails)
		c->verdict->mails = json_array();
	plain = plain_text(subject, nsubject, 200);
	json_array_append_new(c->verdict->mails,
			      json_pack("{s:s, s:s, s:s}", "to", to, "subject", plain, "text", text));
	free(plain);
	return 0;
}

/* ---- a call ---- */

static int nothing(lua_State *L)
{
	return luaL_error(L, "refuse, log and notify work inside a function for an event only");
}

/* Sets the globals; the address of the call is on the stack. Runs as a protected call, since it may
 * exceed the memory limit. */
static int globals_make(lua_State *L)
{
	static const luaL_Reg words[] = {{"refuse", say_refuse}, {"log", say_log}, {"notify", say_notify}};
	struct call *c = lua_touserdata(L, 1);

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		push_closure(L, c, false, c->subject ? words[i].func : nothing);
		lua_setglobal(L, words[i].name);
	}
	if (c->subject && c->subject->site)
		push_json(L, c->subject->site, DEEP);
	else
		lua_newtable(L);
	lua_setglobal(L, "site");
	return 0;
}

static int function_call(lua_State *L)
{
	struct call *c = lua_touserdata(L, 1);
	int n = 1;

	if (lua_getglobal(L, functions[c->subject->event]) != LUA_TFUNCTION)
		return 0;
	push_proxy(L, c, false, member_get, member_set);
	if (c->subject->event == HOOK_MODIFY) {
		push_proxy(L, c, true, member_get, member_set);
		n = 2;
	}
	lua_call(L, n, 0);
	return 0;
}

static int call_protected(struct call *c, lua_CFunction f, struct err *err)
{
	lua_pushcfunction(c->box.L, f);
	lua_pushlightuserdata(c->box.L, c);
	return sandbox_call(&c->box, 1, err);
}

static int call_begin(struct call *c, const struct hook_source *x, const struct hook_limits *limits, struct err *err)
{
	sandbox_init(&c->box, limits);
	if (!c->box.L)
		return err_set(err, -EINVAL, "it needs more memory than the %zu KB of hook_memory",
			       limits->memory >> 10);
	int rc = call_protected(c, globals_make, err);
	return rc < 0 ? rc : sandbox_run(&c->box, x->name, x->text, x->n, err);
}

static int events_find(lua_State *L)
{
	unsigned *events = lua_touserdata(L, 1);

	for (int i = 0; i < HOOK_EVENTS; i++)
		if (lua_getglobal(L, functions[i]) == LUA_TFUNCTION)
			*events |= 1u << i;
	return 0;
}

int hook_check(const struct hook_source *x, const struct hook_limits *limits, unsigned *ret_events, struct err *err)
{
	struct call c = {.subject = NULL};
	unsigned events = 0;
	int rc = call_begin(&c, x, limits, err);

	if (rc == 0) {
		lua_pushcfunction(c.box.L, events_find);
		lua_pushlightuserdata(c.box.L, &events);
		rc = sandbox_call(&c.box, 1, err);
	}
	if (rc == 0 && !events)
		rc = err_set(err, -EINVAL,
			     "%s: it defines none of on_submit, on_modify, on_start, on_end and priority_factor",
			     x->name);
	if (rc == 0)
		*ret_events = events;
	sandbox_fini(&c.box);
	return rc;
}

void hook_call(const struct hook_source *x, const struct hook_limits *limits, const struct hook_subject *subject,
	       struct hook_verdict *ret)
{
	struct call c = {.subject = subject, .verdict = ret};
	struct err err;
	int rc = call_begin(&c, x, limits, &err);

	if (rc == 0)
		rc = call_protected(&c, function_call, &err);
	sandbox_fini(&c.box);
	if (c.refused) {
		json_decref(ret->changes);
		ret->changes = NULL;
		ret->result = HOOK_REFUSED;
	} else if (rc < 0) {
		hook_verdict_fini(ret);
		ret->result = HOOK_FAILED;
		ret->message = plain_text(err.text, strlen(err.text), MESSAGE_MAX);
	}
}

static int factor_call(lua_State *L)
{
	struct call *c = lua_touserdata(L, 1);
	lua_Number value;

	c->factor = 0;
	if (lua_getglobal(L, functions[HOOK_PRIORITY]) != LUA_TFUNCTION)
		return 0;
	push_proxy(L, c, false, member_get, member_set);
	lua_call(L, 1, 1);
	if (lua_type(L, -1) != LUA_TNUMBER)
		return luaL_error(L, "priority_factor must return a number, not a %s", luaL_typename(L, -1));
	value = lua_tonumber(L, -1);
	if (!(value >= -FACTOR_MOST && value <= FACTOR_MOST))
		return luaL_error(L, "priority_factor must return a number from -1e9 to 1e9");
	c->factor = value;
	return 0;
}

int hook_priorities(const struct hook_source *x, const struct hook_limits *limits, const json_t *jobs,
		    const json_t *site, void (*begins)(void *context), double *values, struct err *err)
{
	struct hook_subject subject = {.event = HOOK_PRIORITY, .site = site};
	struct hook_verdict none = {0};
	struct call c = {.subject = &subject, .verdict = &none};
	size_t i, reached = 0;
	int rc = call_begin(&c, x, limits, err);

	json_array_foreach((json_t *)jobs, i, subject.job)
	{
		if (rc < 0)
			break;
		if (begins)
			begins(limits->context);
		c.box.steps = 0;
		rc = call_protected(&c, factor_call, err);
		if (rc == 0)
			values[reached++] += c.factor;
	}
	for (size_t k = reached; k < json_array_size(jobs); k++)
		values[k] = NAN;
	sandbox_fini(&c.box);
	hook_verdict_fini(&none);
	return rc;
}

void hook_changes_apply(json_t *job, const json_t *changes)
{
	const char *key;
	json_t *value, *list, *text;
	size_t i;

	json_object_foreach((json_t *)changes, key, value)
	{
		if (strcmp(key, "resources") != 0) {
			json_object_set(job, key, value);
			continue;
		}
		list = json_object_get(job, "resources");
		list = json_is_array(list) ? json_copy(list) : json_array();
		json_array_foreach(value, i, text) json_array_append(list, text);
		json_object_set_new(job, "resources", list);
	}
}
