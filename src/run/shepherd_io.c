/*
 * shepherd_io.c - the input and output of a shepherd: clocks, signals, datagrams.
 */
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "run/shepherd_internal.h"

/* ---- time and signals ---- */

void shepherd_signals(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGCHLD);
	sigaddset(ret, SHEPHERD_SIGNAL);
	sigaddset(ret, SIGTERM);
}

int64_t shepherd_wall_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * SECOND + t.tv_nsec / 1000;
}

/* Global, because a shepherd runs one attempt and the change may arrive at any time: during the
 * prologue, or while it waits for a terminal. */
static int64_t changed_walltime;

int64_t shepherd_walltime(const struct order *o)
{
	return changed_walltime ? changed_walltime : o->walltime;
}

int shepherd_pause(int64_t until, siginfo_t *ret)
{
	sigset_t set;
	int signal;

	shepherd_signals(&set);
	if (until == NEVER) {
		signal = sigwaitinfo(&set, ret);
	} else { /* the wait does not count time that the machine sleeps, so wait in short pieces */
		int64_t us = until - boot_us();
		us = us < 0 ? 0 : us > 30 * SECOND ? 30 * SECOND : us;
		struct timespec t = {.tv_sec = us / SECOND, .tv_nsec = us % SECOND * 1000};
		signal = sigtimedwait(&set, ret, &t);
	}
	if (signal == SHEPHERD_SIGNAL && ret->si_code == SI_QUEUE && ret->si_value.sival_int < 0)
		changed_walltime = -(int64_t)ret->si_value.sival_int;
	return signal > 0 ? signal : 0;
}

static bool paused_early;

bool shepherd_early(int signal, const siginfo_t *info)
{
	bool ordered = signal == SHEPHERD_SIGNAL && info->si_code == SI_QUEUE;
	int value = ordered ? info->si_value.sival_int : signal;
	enum checkpoint_cause cause;
	int64_t seconds;

	if (value == SIGSTOP || value == SIGCONT)
		paused_early = value == SIGSTOP;
	return value == SIGTERM || value == SIGKILL ||
	       (save_word_read(value, &cause, &seconds) && cause_is_final(cause));
}

bool shepherd_paused_early(void)
{
	return paused_early;
}

/* ---- to the server ---- */

void shepherd_send(const struct shepherd *s, const char *text, size_t n)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	if (!s->place->socket || strlen(s->place->socket) >= sizeof to.sun_path)
		return;
	strcpy(to.sun_path, s->place->socket);
	/* The socket times out (SO_SNDTIMEO). If the server is not there or busy, it will read the
	 * file. */
	sendto(s->place->datagrams, text, n, MSG_NOSIGNAL, (struct sockaddr *)&to, sizeof to);
}
