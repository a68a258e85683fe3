/*
 * sitework.h - what the server and its courier (cmd/admin/courier.h) exchange about jobs at other
 * sites. Texts and JSON are borrowed.
 */
#ifndef CLIENT_SITEWORK_H
#define CLIENT_SITEWORK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct schema;

/* A job that is at another site or on its way there. */
struct site_job {
	const char *id, *name; /* name: its own in paths of the courier's requests */
	const char *site, *queue, *user;
	const char *key; /* Idempotency-Key of its submission there */
	uint32_t try;	 /* number of hand-overs so far */
	enum { SITE_OFFERED, SITE_THERE } phase;
	const char *wish;  /* "delete" or "return"; NULL: none */
	const char *there; /* its id there; NULL: not known */
};
extern const struct schema site_job_schema;

/* What is known of it after asking the site. */
struct site_report {
	uint32_t try;
	enum { SITE_ACCEPTED, SITE_BACK, SITE_STATE, SITE_ENDED, SITE_TROUBLE } result;
	bool guaranteed;
	const char *there, *state, *why;
	const json_t *job;
};
extern const struct schema site_report_schema;

#endif
