/*
 * signin.h - whether a password is right: asked by the server, which is not root, of `shunt-signin`, which is.
 *
 * Questions and answers are messages of a SOCK_SEQPACKET pair. Answers come in any order. When the server's end is closed, the program ends.
 */
#ifndef PAM_SIGNIN_H
#define PAM_SIGNIN_H

#include <stdint.h>

#define SIGNIN_FD 3	       /* of the program: its end of the pair */
#define SIGNIN_MOST 96	       /* questions at once, with those that are being given up */
#define SIGNIN_LIMIT 60	       /* seconds that one may take */
#define SIGNIN_SERVICE "shunt" /* PAM's: /etc/pam.d/shunt */

/* Texts end with NUL. */
struct signin_question {
	uint64_t id;
	uint64_t
		gives_up; /* id of a question whose answer is not needed any more; this message then asks nothing. 0: none */
	char user[64];
	char password[512];
	char address[64]; /* of the browser's machine */
};

enum signin_verdict {
	SIGNIN_WRONG, /* also: there is no such user */
	SIGNIN_RIGHT,
	SIGNIN_EXPIRED, /* right, but PAM wants it changed first */
	SIGNIN_BROKEN, /* PAM was asked and gave no verdict (an error, a crash, no answer in time): `why` is for the log */
	SIGNIN_UNASKED, /* PAM could not be asked: `why` is for the log */
};

struct signin_answer {
	uint64_t id;
	enum signin_verdict verdict;
	uint32_t uid;  /* set with SIGNIN_RIGHT and SIGNIN_EXPIRED */
	char user[64]; /* name of that account */
	char why[128];
};

#endif
