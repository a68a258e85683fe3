/*
 * qstat_full.c - jobs in full: -f, -x, -F json, -F dsv.
 */
#include <errno.h>
#include <string.h>

#include "cmd/pbs/pbsattr.h"
#include "cmd/pbs/qstat.h"

#define WRAP 78

enum style { STYLE_TEXT, STYLE_XML, STYLE_JSON, STYLE_DSV };

struct full {
	struct qstat *q;
	enum style style;
	enum pbs_family family;
	struct pbsattrs attrs;
	struct strbuf out;
	json_t *jobs; /* for -F json */
};

static void job_print(void *context, const json_t *job)
{
	struct full *f = context;
	const char *id = object_text(job, "id");

	pbsattrs_clear(&f->attrs);
	pbsattr_job(&f->attrs, job, f->family);
	switch (f->style) {
	case STYLE_TEXT:
		strbuf_printf(&f->out, "Job Id: %s\n", id);
		pbsattr_text(&f->attrs, 4, f->q->a->one_line ? 0 : WRAP, &f->out);
		strbuf_puts(&f->out, "\n");
		break;
	case STYLE_XML:
		strbuf_puts(&f->out, "<Job><Job_Id>");
		xml_quote(id, &f->out);
		strbuf_puts(&f->out, "</Job_Id>");
		pbsattr_xml(&f->attrs, &f->out);
		strbuf_puts(&f->out, "</Job>");
		break;
	case STYLE_JSON:
		json_object_set_new(f->jobs, id, pbsattr_json(&f->attrs));
		break;
	case STYLE_DSV:
		strbuf_printf(&f->out, "Job Id: %s%s", id, f->q->a->delimiter);
		pbsattr_dsv(&f->attrs, f->q->a->delimiter, &f->out);
		strbuf_puts(&f->out, "\n");
		break;
	}
}

/* Returns true for several elements: 12[1-3], 12[1,5]. */
static bool is_range(const char *operand)
{
	const char *open = strchr(operand, '['), *close = open ? strchr(open, ']') : NULL;

	return close && close > open + 1 && open[1 + strspn(open + 1, "0123456789")] != ']';
}

/* Removes the field that a refusal names in quotes: an older server does not know it. Returns false
 * if it names none of them. */
static bool field_drop(struct strbuf *fields, const char *refusal)
{
	const char *from = strchr(refusal, '"');
	size_t n = from ? strcspn(from + 1, "\"") : 0;

	for (char *at = fields->text; n && (at = strchr(at, ',')); at++) {
		if (strncmp(at + 1, from + 1, n) != 0 || (at[1 + n] && at[1 + n] != ','))
			continue;
		memmove(at, at + 1 + n, strlen(at + 1 + n) + 1);
		fields->n -= 1 + n;
		return true;
	}
	return false;
}

/* Prints a list, page by page if the server splits it. */
static void list_print(struct full *f, const char *operand)
{
	struct strbuf path = {0}, fields = {0};
	const json_t *job;
	struct err err;
	size_t i;
	int n = 0;
	char next[64] = "";
	bool again;

	pbsattr_fields(&fields);
	if (qstat_wants_past(f->q) && !(operand && qstat_is_job(operand)))
		n = (int)qstat_past(f->q, operand, job_print, f);
	do {
		struct reply reply = {0};
		qstat_path(f->q, operand, &path);
		query_add(&path, "fields", fields.text);
		query_add(&path, "after", next);
		int rc = client_ask(f->q->client, "GET", path.text, NULL, 0, &reply, &err);
		again = rc == -EINVAL && field_drop(&fields, err.text);
		if (rc < 0 && !again) {
			qstat_failed(f->q, operand, &err);
			n = -1;
		} else if (rc == 0) {
			json_array_foreach(json_object_get(reply.json, "jobs"), i, job)
			{
				n++;
				if (!f->q->a->arrays || strchr(object_text(job, "id"), '['))
					job_print(f, job);
			}
			snprintf(next, sizeof next, "%s", object_text(reply.json, "next"));
		}
		reply_fini(&reply);
	} while (again || (n >= 0 && *next));
	if (n == 0 && operand && qstat_is_job(operand) && !is_range(operand))
		n = (int)qstat_past(f->q, operand, job_print, f);
	if (n == 0 && operand)
		qstat_empty(f->q, operand);
	strbuf_fini(&path);
	strbuf_fini(&fields);
}

/* Reads a single job by its own request: only then does the server include its environment. */
static void job_read(struct full *f, const char *operand)
{
	struct reply reply = {0};
	struct err err;

	if ((f->q->a->elements && strstr(operand, "[]")) || is_range(operand)) {
		list_print(f, operand);
		return;
	}
	if (client_ask(f->q->client, "GET", api_path("/v1/jobs/%s", operand), NULL, 0, &reply, &err) < 0)
		qstat_failed(f->q, operand, &err);
	else if (f->q->a->elements && *object_text(reply.json, "array_spec")) /* "12" is the array 12[] */
		list_print(f, object_text(reply.json, "id"));
	else
		job_print(f, reply.json);
	reply_fini(&reply);
}

static void all_print(struct full *f)
{
	if (f->style == STYLE_JSON) {
		qstat_json(f->q, "Jobs", f->jobs);
		return;
	}
	if (f->style == STYLE_XML)
		printf("<Data>%s</Data>\n", strbuf_text(&f->out));
	else
		fwrite(strbuf_text(&f->out), 1, f->out.n, stdout);
}

void qstat_full(struct qstat *q)
{
	const struct qstat_arguments *a = q->a;
	const char *format = a->format ? a->format : "";
	/* Among clients that read lines, PBS Pro's request elements (-t), TORQUE's do not. */
	bool pro = a->pro || a->history || a->elements;
	struct full f = {.q = q, .style = STYLE_TEXT, .family = pro ? PBS_PRO : PBS_BOTH, .jobs = json_object()};

	if (strcmp(format, "json") == 0 || strcmp(format, "dsv") == 0) {
		f.style = format[0] == 'j' ? STYLE_JSON : STYLE_DSV;
		f.family = PBS_PRO;
	} else if (a->x) {
		f.style = STYLE_XML;
		f.family = PBS_TORQUE;
	}
	for (int i = 0; i < q->operands->n; i++) {
		if (qstat_is_job(q->operands->v[i]))
			job_read(&f, q->operands->v[i]);
		else
			list_print(&f, q->operands->v[i]);
	}
	if (q->operands->n == 0)
		list_print(&f, NULL);
	all_print(&f);
	json_decref(f.jobs);
	pbsattrs_fini(&f.attrs);
	strbuf_fini(&f.out);
}
