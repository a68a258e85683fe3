/* outbox_text.h - finds which lines of a text are already in a file. */
#ifndef SERVER_BOOK_OUTBOX_TEXT_H
#define SERVER_BOOK_OUTBOX_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/strbuf.h"

struct outbox_text {
	struct strbuf text; /* whole lines, to be written */
	struct map there;   /* lines seen in the files: hash -> count */
	struct strbuf tail; /* incomplete last line of the file that is written to */
};

/* Reads the part of a file after `from`; `last`: lines will be appended to this file. A file
 * that cannot be read counts as empty. */
void outbox_text_compare(struct outbox_text *t, const char *path, int64_t from, bool last);
/* Leaves only the missing lines in the text, starting with the rest of a line that was cut off,
 * or with a newline after a cut line that is not ours. */
void outbox_text_finish(struct outbox_text *t);
void outbox_text_fini(struct outbox_text *t);

#endif
