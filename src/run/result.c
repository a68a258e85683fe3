/*
 * result.c - results and checkpoints as JSON, by the rows of each struct; apart from orders, so
 * that a command that reads a result is not linked with what checks an order.
 */
#include <errno.h>
#include <jansson.h>

#include "base/jsonread.h"
#include "run/order_internal.h"

const struct schema saves_schema = {
	FIELDS({"state", .words = "none|begun|good|failed", MEMBER_AS(FORM_CHOICE, struct saves, state)},
	       {"cause", .words = save_choice, MEMBER_AS(FORM_CHOICE, struct saves, cause)},
	       {"good", .most = INT32_MAX, MEMBER(struct saves, good)},
	       {"failed", .most = INT32_MAX, MEMBER(struct saves, failed)}, {"number", COUNTED(struct saves, number)},
	       {"covers_ms", COUNTED(struct saves, covers_ms)}, {"saved_us", WIDE(struct saves, saved_us)},
	       {"took_ms", COUNTED(struct saves, took_ms)}, {"restarted", COUNTED(struct saves, restarted)})};

const struct schema result_schema = {FIELDS(
	{"tag", .in = ALWAYS, BYTES(struct result, tag)},
	{"how", .in = ALWAYS, .words = "exited|signaled|not_started|runs", MEMBER_AS(FORM_CHOICE, struct result, how)},
	{"status", MEMBER(struct result, status)},
	{"cause", .words = "itself|walltime|memory|ordered|hung_up|lease|shutdown",
	 MEMBER_AS(FORM_CHOICE, struct result, cause)},
	{"started_us", WIDE(struct result, started_us)}, {"ended_us", WIDE(struct result, ended_us)},
	{"ran_ms", USED(struct result, ran_ms)}, {"cpu_ms", USED(struct result, cpu_ms)},
	{"memory_kib", USED(struct result, memory_kib)}, {"session", MEMBER(struct result, session)},
	{"reason", BYTES(struct result, reason)}, {"ready", MEMBER(struct result, ready)},
	{"unclear", MEMBER(struct result, unclear)}, {"disk", MEMBER(struct result, disk)},
	{"saved", MEMBER(struct result, saved)},
	{"saves", .of = &saves_schema, MEMBER_AS(FORM_RECORD, struct result, saves)})};

void saves_write(const struct saves *v, struct strbuf *out)
{
	record_store_text(saves_schema.fields, 0, v, NULL, out);
}

void result_write(const struct result *r, struct strbuf *out)
{
	record_store_text(result_schema.fields, 0, r, NULL, out);
}

/* Checks a result that was read with the result `r`. */
static int result_take(int r, const struct result *res, struct result *ret, struct err *err)
{
	if (r)
		return err_prefix(err, r, "result");
	if (res->status < (res->how == RESULT_SIGNALED) ||
	    res->status > (res->how == RESULT_SIGNALED ? RESULT_SIGNAL_MAX : RESULT_EXIT_MAX))
		return err_set(err, -EINVAL, "result: status %d is not an exit code (0-%d) or a signal (1-%d)",
			       res->status, RESULT_EXIT_MAX, RESULT_SIGNAL_MAX);
	*ret = *res;
	return 0;
}

int result_load(const json_t *object, struct arena *a, struct result *ret, struct err *err)
{
	struct result res;

	return result_take(record_read(result_schema.fields, 0, object, &res, a, err), &res, ret, err);
}

int result_read(const char *text, size_t n, struct arena *a, struct result *ret, struct err *err)
{
	struct result res;

	return result_take(record_read_text(result_schema.fields, 0, text, n, &res, a, err), &res, ret, err);
}

int saves_load(const json_t *object, struct saves *ret)
{
	struct saves saves;
	int r = record_load(saves_schema.fields, 0, object, &saves, NULL, NULL);

	if (!r)
		*ret = saves;
	return r;
}

int saves_read(const char *text, size_t n, struct saves *ret)
{
	json_t *root = json_read(text, n, 0, NULL);
	int r = saves_load(root, ret);

	json_decref(root);
	return r;
}
