/*
 * signin.h - password checks: the server, which does not run as root, asks `shunt-signin`, which
 * does.
 *
 * Questions and answers are messages on a SOCK_SEQPACKET pair. Answers come in any order. The
 * program ends when the server's end is closed.
 */
#ifndef PAM_SIGNIN_H
#define PAM_SIGNIN_H

#include <stdint.h>

#define SIGNIN_FD 3	       /* the program's end of the pair */
#define SIGNIN_MOST 96	       /* questions at once, including those being given up */
#define SIGNIN_LIMIT 60	       /* seconds that one question may take */
#define SIGNIN_SERVICE "shunt" /* PAM service: /etc/pam.d/shunt */

/* Strings are NUL-terminated. */
struct signin_question {
	uint64_t id;
	/* id of a question whose answer is no longer needed; this message then asks nothing. 0:
	 * none */
	uint64_t gives_up;
	char user[64];
	char password[512];
	char address[64]; /* address of the browser's machine */
};

enum signin_verdict {
	SIGNIN_WRONG, /* also if there is no such user */
	SIGNIN_RIGHT,
	SIGNIN_EXPIRED, /* right, but PAM requires a change first */
	SIGNIN_BROKEN, /* PAM was asked and gave no verdict (an error, a crash, no answer in time): `why` is for the log */
	SIGNIN_UNASKED, /* PAM could not be called: `why` is for the log */
};

struct signin_answer {
	uint64_t id;
	enum signin_verdict verdict;
	uint32_t uid;  /* set with SIGNIN_RIGHT and SIGNIN_EXPIRED */
	char user[64]; /* name of that account */
	char why[128];
};

#endif
