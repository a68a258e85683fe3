/*
 * outbox_text.h - which lines of a text are in a file already.
 */
#ifndef SERVER_BOOK_OUTBOX_TEXT_H
#define SERVER_BOOK_OUTBOX_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/strbuf.h"

struct outbox_text {
	struct strbuf text; /* whole lines, to be written */
	struct map there;   /* lines that were seen: hash -> how often */
	struct strbuf tail; /* the last one of the file that is written to, if it is not whole */
};

/* Looks at what a file has behind `from`; `last`: it is the one that will be written to. A file that can't be read has nothing. */
void outbox_text_compare(struct outbox_text *t, const char *path, int64_t from, bool last);
/* Leaves in the text what is missing, beginning with the rest of a line that was cut; or with the end of one that is none of ours. */
void outbox_text_finish(struct outbox_text *t);
void outbox_text_fini(struct outbox_text *t);

#endif
