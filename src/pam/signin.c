/*
 * signin.c - the program `shunt-signin`: asks PAM whether a password is right, as root.
 *
 * The server starts it before it drops root, and keeps no other access to root. Each question gets
 * its own process: modules may take seconds, hang or crash. A process that takes too long is killed
 * with its process group, whatever signals a module has blocked. If one ends without an answer,
 * this program answers for it.
 *
 * For tests that start the server as root: $SHUNT_PAM_DIR replaces /etc/pam.d, and
 * $SHUNT_PAM_SECONDS sets the limit.
 */
#include "pam/signin.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <security/pam_appl.h>

static struct asked {
	pid_t pid; /* also its process group; 0: free */
	uint64_t id;
	int64_t until; /* ms: when it is killed */
	bool late;
} asked[SIGNIN_MOST];

static void answer_send(const struct signin_answer *a)
{
	while (send(SIGNIN_FD, a, sizeof *a, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

/* ---- one question ---- */

/* The password answers the first prompt without echo. Further prompts (a second factor) cannot
 * be answered here. */
struct talk {
	const struct signin_question *q;
	bool told;
};

static const char *talk_reply(struct talk *t, int style)
{
	if (style == PAM_PROMPT_ECHO_ON)
		return t->q->user;
	if (style != PAM_PROMPT_ECHO_OFF)
		return "";
	if (t->told)
		return NULL;
	t->told = true;
	return t->q->password;
}

static int talk(int n, const struct pam_message **said, struct pam_response **ret, void *context)
{
	struct pam_response *reply = n > 0 && n <= PAM_MAX_NUM_MSG ? calloc((size_t)n, sizeof *reply) : NULL;

	for (int i = 0; reply && i < n; i++) {
		const char *text = talk_reply(context, said[i]->msg_style);
		if (text && (reply[i].resp = strdup(text)))
			continue;
		for (int k = 0; k < i; k++)
			free(reply[k].resp);
		free(reply);
		reply = NULL;
	}
	*ret = reply;
	return reply ? PAM_SUCCESS : PAM_CONV_ERR;
}

static int pam_begin(const struct signin_question *q, const struct pam_conv *conv, pam_handle_t **ret)
{
	const char *dir = getenv("SHUNT_PAM_DIR");

	return dir ? pam_start_confdir(SIGNIN_SERVICE, q->user, conv, dir, ret)
		   : pam_start(SIGNIN_SERVICE, q->user, conv, ret);
}

static enum signin_verdict verdict_of(int rc)
{
	switch (rc) {
	case PAM_SUCCESS:
		return SIGNIN_RIGHT;
	case PAM_NEW_AUTHTOK_REQD:
	case PAM_AUTHTOK_EXPIRED:
		return SIGNIN_EXPIRED;
	case PAM_AUTH_ERR:
	case PAM_USER_UNKNOWN:
	case PAM_PERM_DENIED:
	case PAM_MAXTRIES:
	case PAM_ACCT_EXPIRED:
	case PAM_CRED_INSUFFICIENT:
		return SIGNIN_WRONG;
	default:
		return SIGNIN_BROKEN;
	}
}

/* Fills in the account that PAM ended with: modules may rename the user. */
static void account_fill(pam_handle_t *pam, struct signin_answer *a)
{
	const void *name = NULL;
	const struct passwd *pw = pam_get_item(pam, PAM_USER, &name) == PAM_SUCCESS && name ? getpwnam(name) : NULL;

	if (!pw || strlen(pw->pw_name) >= sizeof a->user) {
		a->verdict = SIGNIN_WRONG;
		return;
	}
	a->uid = pw->pw_uid;
	strcpy(a->user, pw->pw_name);
}

static void question_ask(struct signin_question *q, struct signin_answer *a)
{
	struct talk t = {q, false};
	const struct pam_conv conv = {talk, &t};
	const struct passwd *pw = getpwnam(q->user);
	pam_handle_t *pam = NULL;

	/* root is never admitted: PAM's delays would reveal whether the password is right */
	if (pw && pw->pw_uid == 0) {
		explicit_bzero(q->password, sizeof q->password);
		a->verdict = SIGNIN_WRONG;
		return;
	}
	int rc = pam_begin(q, &conv, &pam);

	if (rc != PAM_SUCCESS) {
		a->verdict = SIGNIN_UNASKED;
		snprintf(a->why, sizeof a->why, "PAM can't be used: %s", pam_strerror(pam, rc));
		return;
	}
	rc = pam_set_item(pam, PAM_RHOST, q->address);
	if (rc == PAM_SUCCESS)
		rc = pam_authenticate(pam, PAM_SILENT | PAM_DISALLOW_NULL_AUTHTOK);
	explicit_bzero(q->password, sizeof q->password);
	if (rc == PAM_SUCCESS)
		rc = pam_acct_mgmt(pam, PAM_SILENT | PAM_DISALLOW_NULL_AUTHTOK);
	a->verdict = verdict_of(rc);
	snprintf(a->why, sizeof a->why, "%s", pam_strerror(pam, rc));
	if (a->verdict == SIGNIN_RIGHT || a->verdict == SIGNIN_EXPIRED)
		account_fill(pam, a);
	pam_end(pam, rc);
}

static void question_child(struct signin_question *q)
{
	struct signin_answer a = {.id = q->id};
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	question_ask(q, &a);
	answer_send(&a);
	_exit(0);
}

/* ---- all questions ---- */

static struct asked *place_find(pid_t pid)
{
	for (int i = 0; i < SIGNIN_MOST; i++)
		if (asked[i].pid == pid)
			return &asked[i];
	return NULL;
}

static void answer_fail(uint64_t id, enum signin_verdict verdict, const char *why)
{
	struct signin_answer a = {.id = id, .verdict = verdict};

	snprintf(a.why, sizeof a.why, "%s", why);
	answer_send(&a);
}

static void children_reap(void)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct asked *x = place_find(pid);
		if (x && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
			answer_fail(x->id, SIGNIN_BROKEN,
				    x->late ? "a PAM module took too long"
					    : "a PAM module ended the process that asked");
		if (x)
			x->pid = 0;
	}
}

static int64_t clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t limit_ms(void)
{
	const char *text = getenv("SHUNT_PAM_SECONDS");
	int seconds = text ? atoi(text) : 0;

	return (seconds > 0 ? seconds : SIGNIN_LIMIT) * INT64_C(1000);
}

static void asked_kill(const struct asked *x)
{
	kill(-x->pid, SIGKILL);
	kill(x->pid, SIGKILL); /* a module may have left the group */
}

/* Kills processes that have taken too long. Returns the ms left to the next one; -1: none is
 * running. */
static int late_kill(void)
{
	int64_t now = clock_ms(), next = -1;

	for (int i = 0; i < SIGNIN_MOST; i++) {
		struct asked *x = &asked[i];
		if (!x->pid || x->late)
			continue;
		if (x->until <= now) {
			x->late = true;
			asked_kill(x);
		} else if (next < 0 || x->until - now < next) {
			next = x->until - now;
		}
	}
	return (int)next;
}

static void question_give_up(uint64_t id)
{
	for (int i = 0; i < SIGNIN_MOST; i++)
		if (asked[i].pid && asked[i].id == id)
			asked_kill(&asked[i]);
}

static void question_start(struct signin_question *q)
{
	struct asked *x = place_find(0);
	pid_t pid = x ? fork() : -1;

	if (pid == 0)
		question_child(q);
	if (pid < 0) {
		answer_fail(q->id, SIGNIN_UNASKED, "no process could be started for it");
		return;
	}
	setpgid(pid, pid); /* in parent and child, whichever runs first */
	*x = (struct asked){.id = q->id, .until = clock_ms() + limit_ms(), .pid = pid};
}

/* Returns false if the server has gone. */
static bool question_take(void)
{
	struct signin_question q;
	ssize_t n = recv(SIGNIN_FD, &q, sizeof q, 0);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n != sizeof q)
		return false;
	q.user[sizeof q.user - 1] = q.password[sizeof q.password - 1] = q.address[sizeof q.address - 1] = '\0';
	if (q.gives_up)
		question_give_up(q.gives_up);
	else
		question_start(&q);
	explicit_bzero(&q, sizeof q);
	return true;
}

int main(void)
{
	struct pollfd p[2] = {{.fd = -1, .events = POLLIN}, {.fd = SIGNIN_FD, .events = POLLIN}};
	sigset_t chld;

	prctl(PR_SET_DUMPABLE, 0); /* passwords are briefly in its memory */
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_SETMASK, &chld, NULL);
	p[0].fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	if (p[0].fd < 0 || chdir("/") < 0)
		return 1;
	for (;;) {
		struct signalfd_siginfo info;
		if (poll(p, 2, late_kill()) < 0 && errno != EINTR)
			return 1;
		if (p[0].revents && read(p[0].fd, &info, sizeof info) > 0)
			children_reap();
		if (p[1].revents && !question_take())
			return 0;
	}
}
