/*
 * submission_kind.c - reads the type of a submitted job (deadline, emergency, nice), what it may
 * cost, and whether it starts at once.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/members.h"
#include "base/timetext.h"
#include "core/kind.h"
#include "rules/attr.h"
#include "rules/libra.h"
#include "sched/policy.h"
#include "server/base/asker.h"
#include "server/base/clock.h"
#include "server/job/spec.h"
#include "server/job/submission.h"
#include "server/job/submission_internal.h"
#include "server/server.h"

static const struct {
	const char *name;
	uint8_t bit;
} powers[] = {
	{"sc_alloc", POWER_SC_ALLOC}, {"q_alloc", POWER_Q_ALLOC}, {"e_alloc", POWER_E_ALLOC}, {"c_exec", POWER_C_EXEC},
	{"s_exec", POWER_S_EXEC},     {"q_exec", POWER_Q_EXEC},	  {"e_exec", POWER_E_EXEC},
};

const char *power_name(int i)
{
	return i < (int)(sizeof powers / sizeof *powers) ? powers[i].name : NULL;
}

const char *submission_type(const struct spec *p)
{
	return p->kind == KIND_QOS ? "Q" : p->kind == KIND_EMERGENCY ? "E" : p->nice ? "N" : "C";
}

void submission_put_kind(const struct spec *p, json_t *o)
{
	json_t *list;

	if (*submission_type(p) == 'C')
		return;
	json_object_set_new(o, "type", json_string(submission_type(p)));
	json_object_set_new(o, "deadline", json_integer(p->nice ? p->nice : p->deadline));
	if (p->nice)
		return;
	list = json_array();
	for (int i = 0; power_name(i); i++)
		if (p->powers & 1 << i)
			json_array_append_new(list, json_string(power_name(i)));
	json_object_set_new(o, "powers", list);
}

/* Reads "deadline" as an instant, or TIME_NEVER. `given`: the one from -l, which takes
 * precedence. */
static int read_deadline(const struct server *s, const json_t *job, const char *given, int64_t *ret, struct err *err)
{
	const json_t *d = json_object_get(job, "deadline");
	const char *text = NULL;
	int rc = 0;

	*ret = TIME_NEVER;
	if (json_is_integer(d) && !given)
		*ret = json_integer_value(d);
	else if ((given || (rc = member_read_text(job, "deadline", 64, &text, err)) == 0) && (given || text) &&
		 (rc = instant_parse(given ? given : text, s->clock->now, ret, err)) < 0)
		err_prefix(err, rc, "deadline \"%.40s\"", given ? given : text);
	return rc;
}

/* Reads type N: the deadline is the date on which it stops being nice. In all other respects it is
 * a common job. */
static int read_nice(const struct server *s, struct spec *p, struct err *err)
{
	const char *policy = attrs_text(s->attrs, SET_POLICY);

	if (p->deadline == TIME_NEVER)
		return err_set(
			err, -EINVAL,
			"a nice job (type N) needs a deadline, after which it no longer lets others go first: --deadline +2h, or a date");
	if (p->deadline < 1 || p->deadline > INT64_C(1) << 40)
		return err_set(err, -EINVAL, "deadline: %lld must be an instant from 1 to 2^40",
			       (long long)p->deadline);
	if (!policy_find(policy)->position)
		return err_code(err, CODE_REFUSED, "the server's policy (%s) has no nice jobs: artaras has them",
				policy);
	p->nice = p->deadline;
	p->deadline = TIME_NEVER;
	return 0;
}

int read_kind(struct server *s, const struct asker *who, const json_t *job, struct submission *ret, struct err *err)
{
	struct spec *p = ret->spec;
	const char *type;
	const json_t *v, *list = json_object_get(job, "powers");
	size_t i;
	int rc = member_read_text(job, "type", 8, &type, err);

	if (rc < 0)
		return rc;
	p->kind = KIND_COMMON;
	p->nice = 0;
	if (type && strcmp(type, "Q") == 0)
		p->kind = KIND_QOS;
	else if (type && strcmp(type, "E") == 0)
		p->kind = KIND_EMERGENCY;
	else if (type && strcmp(type, "C") != 0 && strcmp(type, "N") != 0)
		return err_set(err, -EINVAL,
			       "type \"%.8s\" must be C (common), Q (with a deadline), E (emergency) or N (nice)",
			       type);
	if ((rc = read_deadline(s, job, ret->text.deadline, &p->deadline, err)) < 0)
		return rc;
	if (type && *type == 'N')
		return read_nice(s, p, err);
	if (p->deadline != TIME_NEVER && type && *type == 'C')
		return err_set(err, -EINVAL,
			       "a normal job (type C) has no deadline: leave it out, or choose type priority (Q)");
	if (p->deadline != TIME_NEVER && p->kind == KIND_COMMON)
		p->kind = KIND_QOS;
	if (p->deadline == TIME_NEVER && p->kind != KIND_COMMON)
		return err_set(err, -EINVAL, "%s job (type %s) needs a deadline: --deadline +2h, or a date",
			       p->kind == KIND_QOS ? "a priority" : "an emergency", type);
	if (list && !json_is_null(list) && !json_is_array(list))
		return err_set(err, -EINVAL, "powers must be an array");
	if (json_array_size(list) && p->kind != KIND_EMERGENCY)
		return err_set(err, -EINVAL, "powers are for emergency jobs (type E)");
	if (p->kind == KIND_COMMON)
		return 0;
	if (p->kind == KIND_EMERGENCY && who->role < ROLE_OPERATOR)
		return err_code(err, CODE_REFUSED,
				"emergency jobs are for operators and managers: use --type Q for a deadline");
	if (!policy_find(attrs_text(s->attrs, SET_POLICY))->deadlines)
		return err_code(err, CODE_REFUSED, "the server's policy (%s) keeps no deadlines",
				attrs_text(s->attrs, SET_POLICY));
	json_array_foreach(list, i, v)
	{
		size_t k = 0;
		while (k < sizeof powers / sizeof *powers &&
		       (!json_is_string(v) || strcmp(powers[k].name, json_string_value(v)) != 0))
			k++;
		if (k == sizeof powers / sizeof *powers)
			return err_set(
				err, -EINVAL,
				"powers must be of sc_alloc, q_alloc, e_alloc, c_exec, s_exec, q_exec and e_exec");
		p->powers |= powers[k].bit;
	}
	return 0;
}

int read_libra(const struct server *s, const json_t *job, struct submission *ret, struct err *err)
{
	int64_t budget = LIBRA_NO_BUDGET;
	struct spec *p = ret->spec;
	int rc = member_read_number(job, "budget", 0, CREDIT_MOST, &budget, err);

	if (rc == 0 && budget == LIBRA_NO_BUDGET && ret->text.budget &&
	    (rc = libra_budget_parse(ret->text.budget, &budget, err)) < 0)
		err_prefix(err, rc, "budget=%.40s", ret->text.budget);
	if (rc < 0 || (!ret->text.estimate && budget == LIBRA_NO_BUDGET))
		return rc;
	if (!ret->text.estimate || p->kind != KIND_QOS)
		return err_set(err, -EINVAL,
			       "a job with %s needs %s as well: -l estimate=1:00:00,deadline=+3h,budget=2",
			       ret->text.estimate ? "an estimate" : "a budget",
			       ret->text.estimate ? "a deadline and a budget" : "an estimate and a deadline");
	spec_rare(p)->libra = (struct libra_terms){
		.estimate = ret->text.estimate,
		.window = p->deadline > s->clock->now ? p->deadline - s->clock->now : 1,
		.budget = budget,
		.alpha = attrs_number(s->attrs, SET_LIBRA_ALPHA),
		.beta = attrs_number(s->attrs, SET_LIBRA_BETA),
	};
	ret->guarantee = true;
	return start_check(p, err);
}

int start_check(const struct spec *p, struct err *err)
{
	if (p->rare->libra.estimate && (p->array || p->interactive || p->holds || p->at || p->depend))
		return err_set(
			err, -EINVAL,
			"a job with a budget is a single job that may start at once: no array, not interactive, without a hold, -a or dependencies");
	if (p->now && (p->kind != KIND_COMMON || p->at || p->holds || p->depend))
		return err_set(
			err, -EINVAL,
			"an interactive job starts at once: it can't have a deadline, a time to start (-a), a hold or dependencies");
	return 0;
}

int price_agreed_refuse(struct err *err)
{
	return err_code(err, CODE_BAD_STATE,
			"what a job with a budget asks for was agreed when it was submitted: submit another one");
}

/* Reads "displace". Under the policy artaras an interactive job starts as soon as it is
 * submitted. */
int read_now(const struct server *s, const json_t *job, struct submission *ret, struct err *err)
{
	struct spec *p = ret->spec;
	int rc = member_read_number(job, "displace", 0, INT32_MAX, &ret->displace, err);

	if (rc < 0)
		return rc;
	if (json_is_null(json_object_get(job, "displace")) || !json_object_get(job, "displace"))
		ret->displace = -1;
	p->now = p->interactive && policy_find(attrs_text(s->attrs, SET_POLICY))->position;
	if (ret->displace >= 0 && !p->interactive)
		return err_set(err, -EINVAL, "displace is for interactive jobs");
	return start_check(p, err);
}
