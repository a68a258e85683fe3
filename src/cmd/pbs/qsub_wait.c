/*
 * qsub_wait.c - waits until jobs end.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "cmd/lib/show.h"
#include "cmd/pbs/qsub.h"

#define LOOK_FIRST_MS 10
#define LOOK_LATER_MS 1000

int job_exit_code(const struct command *c, const json_t *job, const char *id)
{
	int64_t status = object_number(job, "exit_status", -1);

	if (status >= 0)
		return status < 256 ? (int)status : 128 + (int)(status - 256);
	const char *comment = object_text(job, "comment");
	return command_fail(c, "job %s did not run to its end%s%s", id, comment[0] ? ": " : "", comment);
}

/* Returns 1 if the job has ended, with *ret_code set; 0: not yet; < 0 after an error message. */
static int job_look(const struct command *c, struct client *client, const char *id, int *ret_code)
{
	struct reply r = {0};
	int rc = 0;

	if (!show_get(c, client, api_path("/v1/jobs/%s", id), &r, ret_code)) {
		rc = -EIO;
	} else if (strcmp(object_text(r.json, "state"), "C") == 0) {
		*ret_code = job_exit_code(c, r.json, id);
		rc = 1;
	}
	reply_fini(&r);
	return rc;
}

/* Polls: simple, and a restart of the server in between does not matter. */
int job_wait(const struct command *c, struct client *client, const char *id)
{
	int code = EXIT_FAILED, pause = LOOK_FIRST_MS;

	while (job_look(c, client, id, &code) == 0) {
		poll(NULL, 0, pause);
		pause = pause * 3 / 2 < LOOK_LATER_MS ? pause * 3 / 2 : LOOK_LATER_MS;
	}
	return code;
}
