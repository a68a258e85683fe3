/*
 * test_logins.c - pam_shunt.so (pam/pam_shunt.c) called as by sshd, with users, a system log and
 * owners of files that the test plays: who is admitted, to which job's control groups, and what is
 * said and logged, compared with logins.txt (played.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <cmocka.h>
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <security/pam_modutil.h>

#include "golden/played.h"
#include "pam/card.h"

#define RECORDED SHUNT_ROOT "/tests/golden/logins.txt"

enum { WORDS = 12, LOCKS = 32, OWNER = 77, STRANGER = 4242 };

static char dir[64];
static int locks[LOCKS], nlocks;
static int handles;
static pam_handle_t *const handle = (pam_handle_t *)&handles; /* nobody looks into it */
static const char *user;				      /* who logs in; NULL: PAM does not know */

/* ---- the system ---- */

int pam_get_user(pam_handle_t *pamh, const char **ret, const char *prompt)
{
	*ret = user && strcmp(user, "nobody-yet") == 0 ? NULL : user;
	return user ? PAM_SUCCESS : PAM_CONV_ERR;
}

struct passwd *pam_modutil_getpwnam(pam_handle_t *pamh, const char *name)
{
	static const struct {
		const char *name;
		uid_t uid;
	} known[] = {{"root", 0}, {"ann", 1001}, {"bob", 1002}, {"an", 1003}};
	static struct passwd pw;

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(known[i].name, name) == 0) {
			pw.pw_uid = known[i].uid;
			return &pw;
		}
	return NULL;
}

int pam_modutil_user_in_group_nam_nam(pam_handle_t *pamh, const char *name, const char *group)
{
	say("is %s in %s?", name, group);
	return strcmp(group, "error") == 0 ? -1 : strcmp(name, "ann") == 0 && strcmp(group, "staff") == 0;
}

void pam_syslog(const pam_handle_t *pamh, int priority, const char *format, ...)
{
	static const char *const names[] = {[LOG_ERR] = "error",
					    [LOG_WARNING] = "warning",
					    [LOG_NOTICE] = "notice",
					    [LOG_INFO] = "info",
					    [LOG_DEBUG] = "debug"};
	char text[1000];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	say("log %s: %s", names[priority], text);
}

int pam_prompt(pam_handle_t *pamh, int style, char **response, const char *format, ...)
{
	char text[1000];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	say("the user sees%s: %s", style == PAM_ERROR_MSG ? " an error" : "", text);
	return PAM_SUCCESS;
}

/* Gives every file an owner by its name. */
int __real_fstat64(int fd, struct stat *ret);
int __wrap_fstat64(int fd, struct stat *ret);
int __wrap_fstat64(int fd, struct stat *ret)
{
	char path[64], to[300];
	int r = __real_fstat64(fd, ret);

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(path, to, sizeof to - 1);
	to[n < 0 ? 0 : n] = '\0';
	const char *name = strrchr(to, '/');
	ret->st_uid = name && strstr(name, "stranger") ? STRANGER : name && strstr(name, "root") ? 0 : OWNER;
	return r;
}

/* Only the test's own directories are there. */
int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
	va_list args;

	va_start(args, flags);
	mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (strncmp(path, "/var/", 5) != 0)
		return __real_open64(path, flags, mode);
	say("looks into %s", path);
	errno = ENOENT;
	return -1;
}

/* ---- commands ---- */

/* Returns the word with HERE and LONG replaced. */
static char *places_put(const char *word)
{
	static char texts[4][16384];
	static int last;
	char *text = texts[last++ % 4];
	size_t n = 0;

	for (; *word; word++)
		if (strncmp(word, "HERE", 4) == 0) {
			n += (size_t)snprintf(text + n, 100, "%s", dir);
			word += 3;
		} else if (strncmp(word, "LONG", 4) == 0) {
			memset(text + n, 'x', 5000);
			n += 5000;
			word += 3;
		} else {
			text[n++] = *word;
		}
	text[n] = '\0';
	return text;
}

static void file_make(const char *path, char *text)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	size_t n = unescape(text);

	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		die(strerror(errno), path);
	if (strstr(path, "ended")) /* no shepherd holds it any more */
		close(fd);
	else
		locks[nlocks++] = fd;
	if (flock(fd, LOCK_EX) < 0 && errno != EBADF)
		die("it can't be locked", path);
}

/* Shows who has entered which groups, and who is out again. */
static void group_show(const char *name)
{
	char path[200], text[100];

	snprintf(path, sizeof path, "%s/%s/cgroup.procs", dir, name);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof text);
	if (n > 0)
		say("%s has \"%.*s\"", name, (int)n, text);
	if (fd >= 0 && ftruncate(fd, 0) == 0)
		close(fd);
}

static int descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 200; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static const char *result_name(int r)
{
	return r == PAM_SUCCESS	       ? "admitted"
	       : r == PAM_PERM_DENIED  ? "PERM_DENIED"
	       : r == PAM_SESSION_ERR  ? "SESSION_ERR"
	       : r == PAM_USER_UNKNOWN ? "USER_UNKNOWN"
				       : "another result";
}

static void login(char **w, int n)
{
	const char *argv[WORDS];
	int argc = 0, before = descriptors(), r;
	bool silent = n > 2 && strcmp(w[2], "silent") == 0;

	user = strcmp(w[1], "-") == 0 ? NULL : strcmp(w[1], "empty") == 0 ? "" : w[1];
	for (int i = silent ? 3 : 2; i < n; i++)
		argv[argc++] = strcmp(w[i], "none") == 0 ? "live=/nowhere/to/be/found" : places_put(w[i]);
	if (strcmp(w[0], "login") == 0)
		r = pam_sm_acct_mgmt(handle, silent ? PAM_SILENT : 0, argc, argv);
	else if (strcmp(w[0], "session") == 0)
		r = pam_sm_open_session(handle, silent ? PAM_SILENT : 0, argc, argv);
	else
		r = pam_sm_close_session(handle, 0, argc, argv);
	say("%s", result_name(r));
	if (descriptors() != before)
		say("%d descriptors were left open", descriptors() - before);
	for (char name[] = "g1"; name[1] <= '9'; name[1]++)
		group_show(name);
}

static void card_show(char *text)
{
	static char copy[16384];
	struct card c;

	copy[unescape(text)] = '\0';
	snprintf(copy, sizeof copy, "%s", text);
	if (!card_read(copy, &c)) {
		say("no card");
		return;
	}
	say("user %u since %lld job \"%s\", %d groups%s", (unsigned)c.uid, (long long)c.since, c.id, c.ngroups,
	    c.ended ? ", ended" : "");
	for (int i = 0; i < c.ngroups; i++)
		say("group %s", c.group[i]);
}

static void command(char *line)
{
	char copy[4096], *w[WORDS] = {0}, path[300];
	bool whole = strncmp(line, "job ", 4) == 0 || strncmp(line, "card ", 5) == 0;

	snprintf(copy, sizeof copy, "%s", line);
	int n = words_split(copy, w, whole ? *line == 'j' ? 3 : 2 : WORDS);
	if (n > 1)
		snprintf(path, sizeof path, "%s/%s", dir, w[1]);
	if (strcmp(w[0], "live") == 0) { /* NAME [MODE] */
		if (mkdir(path, 0700) < 0 || chmod(path, n > 2 ? (mode_t)strtoul(w[2], NULL, 8) : 0755) < 0)
			die(strerror(errno), path);
	} else if (strcmp(w[0], "job") == 0) { /* DIR/TAG TEXT: a live file */
		file_make(path, places_put(w[2]));
	} else if (strcmp(w[0], "group") == 0) { /* NAME: a control group */
		assert_int_equal(mkdir(path, 0700), 0);
		strcat(path, "/cgroup.procs");
		close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	} else if (strcmp(w[0], "end") == 0) { /* NAME: the group ends */
		strcat(path, "/cgroup.procs");
		unlink(path);
	} else if (strcmp(w[0], "link") == 0) { /* NAME TO */
		assert_int_equal(symlink(w[2], path), 0);
	} else if (strcmp(w[0], "pipe") == 0) { /* NAME */
		assert_int_equal(mkfifo(path, 0600), 0);
	} else if (strcmp(w[0], "card") == 0) { /* TEXT */
		card_show(w[1]);
	} else {
		login(w, n);
	}
}

static void run_begin(const char *base, int number)
{
	while (nlocks)
		close(locks[--nlocks]);
	if (!base)
		return;
	snprintf(dir, sizeof dir, "%s/%d", base, number);
	assert_int_equal(mkdir(dir, 0700), 0);
}

static void logins(void **state)
{
	umask(022);
	played_record(RECORDED, run_begin, command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(logins)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("logins", tests, NULL, NULL);
}
