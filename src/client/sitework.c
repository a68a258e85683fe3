/*
 * sitework.c - see sitework.h.
 */
#include "client/sitework.h"

#include "base/codec.h"

#define JOB(member)                                                                                                    \
	{                                                                                                              \
#member, .is = REQUIRED, MEMBER(struct site_job, member)                                               \
	}
const struct schema site_job_schema = {
	FIELDS(JOB(id), JOB(name), JOB(site), JOB(queue), JOB(user), JOB(key), JOB(try),
	       {"phase", .is = REQUIRED, .words = "offered|there", MEMBER_AS(FORM_CHOICE, struct site_job, phase)},
	       {"wish", .is = IS_NULL, MEMBER(struct site_job, wish)},
	       {"there", .is = IS_NULL, MEMBER(struct site_job, there)})};

const struct schema site_report_schema = {FIELDS(
	{"try", .is = REQUIRED | IS_INT, .least = 0, .most = UINT32_MAX, MEMBER(struct site_report, try)},
	{"result", .is = REQUIRED | IS_TEXT, .words = "accepted|back|state|ended|trouble",
	 MEMBER_AS(FORM_CHOICE, struct site_report, result)},
	{"there", .is = IS_TEXT | IS_NULL, "accepted: its id there", MEMBER(struct site_report, there)},
	{"state", .is = IS_TEXT | IS_NULL, MEMBER(struct site_report, state)},
	{"guaranteed", .is = IS_BOOL | IS_NULL, "state: its deadline, there", MEMBER(struct site_report, guaranteed)},
	{"why", .is = IS_TEXT | IS_NULL, MEMBER(struct site_report, why)},
	{"job", .is = IS_OBJECT | IS_NULL, "ended: as the site shows it", MEMBER(struct site_report, job)})};
