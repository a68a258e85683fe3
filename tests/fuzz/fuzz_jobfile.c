/*
 * fuzz_jobfile.c - any bytes as a job description: its values are present and clean, or there is a
 * message with a line number.
 */
#include <assert.h>
#include <string.h>

#include "client/jobfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jobfile f;
	struct err err = {.text = ""};
	int64_t seconds;
	int rc = jobfile_parse((const char *)data, size, &f, &err);

	assert(rc == 0 || (rc < 0 && strncmp(err.text, "line ", 5) == 0));
	for (int i = 0; i < JOB_ITEMS; i++) {
		assert(!f.value[i] || (*f.value[i] && !strchr(f.value[i], '\n') && f.line[i] > 0));
		if (f.value[i] && hours_parse(f.value[i], &seconds, &err) == 0)
			assert(seconds >= 0);
	}
	jobfile_fini(&f);
	return 0;
}
