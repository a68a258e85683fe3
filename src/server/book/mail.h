/*
 * mail.h - mail about jobs, in the format of PBS, sent by the site's mail program.
 *
 * A mail is written whole into memory that the program reads as its standard input (PROGRAM -i -t
 * -f FROM), so neither the loop nor the mail waits for the program. A few programs run at a time,
 * others wait in a bounded queue, and a program that does not end is killed.
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
	const char *from; /* an address, or a user's name */
	const char *to;	  /* addresses joined by ','; invalid ones are left out */
	/* appended to addresses without '@'; NULL: they stay local; "never": nothing is sent */
	const char *domain;
	const char *id, *name;	/* job's id and name; for a notice: "" and the subject */
	const char *exec_host;	/* or NULL */
	const char *text;	/* reason or other lines, or NULL */
	int64_t exit_status;	/* exit status of an ended job */
	const char *cause;	/* what ended it, or NULL: itself */
	int64_t cput, walltime; /* seconds; negative: not known */
	int64_t memory;		/* KiB; negative: not known */
	const char *advice;	/* lines for an ended job: what to request next time; or NULL */
};

/* Appends headers and body. -EINVAL: there is no valid recipient. No text in the mail can add a
 * header or a recipient. */
int mail_format(const struct mail *m, struct strbuf *out, struct err *err);

struct mailer;

/* Starts the mailer. `say` gets a sentence for the administrator: once if the program is
 * missing, and each time it fails. */
struct mailer *mailer_start(uv_loop_t *loop, void (*say)(void *context, const char *text), void *context);
/* Queues a mail and returns; `program` is an absolute path. -EINVAL: as for mail_format();
 * -ENOSPC: too many mails wait. */
int mailer_send(struct mailer *m, const char *program, const struct mail *mail, struct err *err);
int mailer_busy(const struct mailer *m); /* mails that wait or are being sent */
/* Drops waiting mails; running programs continue. Memory is freed in the loop's next turn. */
void mailer_stop(struct mailer *m);

#endif
