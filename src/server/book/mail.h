/*
 * mail.h - mail about jobs, in the words of PBS, handed to the site's mail program.
 *
 * A mail is written whole into memory that the program gets as its standard input (PROGRAM -i -t -f FROM), so nothing
 * here waits for it: not the loop, and not the mail. A few programs run at a time, others wait their turn in a
 * bounded queue, and one that does not end is ended.
 */
#ifndef SERVER_MAIL_H
#define SERVER_MAIL_H

#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "base/strbuf.h"

enum mail_kind { MAIL_JOB_BEGUN, MAIL_JOB_ENDED, MAIL_JOB_ABORTED, MAIL_NOTICE };

struct mail {
	enum mail_kind kind;
	const char *from;	/* an address, or a user's name */
	const char *to;		/* joined by ','; what is no address is left out */
	const char *domain;	/* for those without '@'; NULL: they stay local; "never": nothing is sent */
	const char *id, *name;	/* of the job; of a notice: "", and its subject */
	const char *exec_host;	/* or NULL */
	const char *text;	/* why, or anything more: lines; or NULL */
	int64_t exit_status;	/* of an ended job */
	int64_t cput, walltime; /* seconds; negative: not known */
	int64_t memory;		/* KiB; the same */
	const char *advice;	/* of an ended job: what to request next time, lines; or NULL */
};

/* Appends head and body. -EINVAL: nobody to send it to. No text in it can add a header or a recipient. */
int mail_format(const struct mail *m, struct strbuf *out, struct err *err);

struct mailer;

/* `say` is told, in a sentence, what an administrator should know: once that the program is missing, each time it
 * fails. */
struct mailer *mailer_start(uv_loop_t *loop, void (*say)(void *context, const char *text), void *context);
/* Queues a mail and returns; `program` is an absolute path. -EINVAL as mail_format(); -ENOSPC: too many wait. */
int mailer_send(struct mailer *m, const char *program, const struct mail *mail, struct err *err);
int mailer_busy(const struct mailer *m); /* mails that wait or are being sent */
/* Mails that wait are dropped, programs that run go on. Memory is freed by the loop's next turn. */
void mailer_stop(struct mailer *m);

#endif
