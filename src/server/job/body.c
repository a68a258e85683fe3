/*
 * body.c - the rest of a submission, as the store has it.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "server/job/body.h"
#include "server/job/jobs.h"
#include "server/server.h"
#include "store/store.h"

int body_read(struct server *s, uint32_t id, json_t **ret, struct err *err)
{
	const struct entry *e = &s->jobs->entries.v[id];
	json_error_t error;
	char *text = NULL;
	int rc = store_get_body(s->store, e->key, &text, err);

	if ((rc == -ENOENT || (rc == 0 && !*text)) && job_key_index(e->key) >= 0) { /* an element's is its array's */
		free(text);
		rc = store_get_body(s->store, job_key(job_key_number(e->key), -1), &text, err);
	}
	if (rc < 0)
		return rc;
	*ret = json_loads(text, 0, &error);
	free(text);
	return *ret ? 0 : err_set(err, -EIO, "what the store has of the job is damaged: %s", error.text);
}
