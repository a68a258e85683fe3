/*
 * criu.c - see criu.h. Runs the program CRIU; its log is in the checkpoint's directory.
 */
#include "run/criu.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "run/tree.h"

#define DIRECTORY "/var/lib/shunt/criu"
#define LOG "criu.log"
/* subdirectory of the images' directory for the working directories of first processes */
#define PLACES ".first"
/* file of a checkpoint: "f 120 /home/ada/data", "o 0 /home/ada/run.o12", each with a NUL */
#define FILES "files"
#define GHOSTS "67108864" /* maximum bytes of a deleted but open file that are saved */

/* ---- where images are ---- */

bool images_named(const char *path)
{
	const char *name = path + sizeof IMAGES - 1;

	return path && !strncmp(path, IMAGES, sizeof IMAGES - 1) && *name && *name != '.' && !strchr(name, '/') &&
	       strlen(name) < 200;
}

/* Returns true if only root can replace any part of the path. */
static bool is_roots(const char *path)
{
	char part[PATH_MAX];
	struct stat st;

	snprintf(part, sizeof part, "%s", path);
	for (;;) {
		if (lstat(part, &st) || !S_ISDIR(st.st_mode) || st.st_uid ||
		    ((st.st_mode & 022) && !(st.st_mode & S_ISVTX)))
			return false;
		char *slash = strrchr(part, '/');
		if (slash == part && !slash[1])
			return true;
		slash[slash == part] = '\0';
	}
}

static void directory_make(const char *path)
{
	char part[PATH_MAX];

	snprintf(part, sizeof part, "%s", path);
	for (char *slash = part; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(part, 0755); /* it exists, or the next call fails */
		*slash = '/';
	}
	mkdir(part, 0700);
}

static const char *images(void)
{
	const char *given = getenv("SHUNT_IMAGES");

	return given && *given == '/' ? given : DIRECTORY;
}

int images_path(const char *named, char *ret, size_t size, struct err *err)
{
	const char *dir = images();

	if (!images_named(named) || strlen(dir) + strlen(named) >= size || strlen(dir) > 3000)
		return err_set(err, -EINVAL, "%.200s can't hold images", named);
	directory_make(dir);
	if (!is_roots(dir))
		return err_set(err, -EPERM,
			       "%s is not a directory that only root can write to, with all above it (SHUNT_IMAGES)",
			       dir);
	snprintf(ret, size, "%s/%s", dir, named + sizeof IMAGES - 1);
	return 0;
}

/* ---- the program ---- */

static char *init_path(void)
{
	static char path[PATH_MAX + 16];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);

	if (n <= 0)
		return NULL;
	path[n] = '\0';
	strcpy(strrchr(path, '/') + 1, "shunt-init");
	return access(path, X_OK) ? NULL : path;
}

/* CRIU makes a directory in the first process's working directory and mounts a /proc there. So only
 * root may have write access there, and it must not belong to one job's images: a job restored from
 * another's images uses it as well. There are several, for simultaneous dumps. */
static char *place_make(const char *tag)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof path, "%.3000s/" PLACES "/%ld", images(), strtol(tag, NULL, 10) % 1000);
	directory_make(path);
	return path;
}

char **criu_init(const struct identity *who, const char *tag)
{
	static char uid[16], gid[16], *words[5];
	char *path = init_path();

	if (!path)
		return NULL;
	snprintf(uid, sizeof uid, "%u", (unsigned)(who->change ? who->uid : geteuid()));
	snprintf(gid, sizeof gid, "%u", (unsigned)(who->change ? who->gid : getegid()));
	memcpy(words, (char *[]){path, uid, gid, place_make(tag), NULL}, sizeof words);
	return words;
}

/* Takes the useful part out of "Error (criu/vdso.c:381): vdso: Unexpected ...". */
static void line_look(const char *line, char *why)
{
	const char *at = strstr(line, "Error (");

	if (!at)
		return;
	at = strstr(at, "): ");
	if (at && !strstr(at, "rlimit: Can't setup RLIMIT_NOFILE for self")) /* harmless */
		snprintf(why, CRIU_WHY, "%.*s", (int)strcspn(at + 3, "\n"), at + 3);
}

/* Finds the last error in CRIU's output. */
static void errors_read(FILE *in, char *why)
{
	char line[1024];

	while (in && fgets(line, sizeof line, in))
		line_look(line, why);
}

static void log_read(const char *dir, char *why)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/" LOG, dir);
	FILE *in = fopen(path, "re");
	errors_read(in, why);
	if (in)
		fclose(in);
}

static void program_exec(char **argv)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (!getenv("PATH"))
		setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	execvp(argv[0], argv);
	execv("/usr/sbin/criu", argv);
	dprintf(STDERR_FILENO, "Error (exec): the program criu can't be run: %s\n", strerror(errno));
	_exit(127);
}

/* Returns the exit status, with CRIU's last error in `why`. The program is killed if its caller
 * dies. */
static int program_run(char **argv, char *why)
{
	int fds[2], status;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(fds[1], STDOUT_FILENO);
		dup2(fds[1], STDERR_FILENO);
		program_exec(argv);
	}
	close(fds[1]);
	FILE *in = pid < 0 ? NULL : fdopen(fds[0], "r");
	errors_read(in, why);
	if (in)
		fclose(in);
	else
		close(fds[0]);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static bool users_trusted(void)
{
	const char *given = getenv("SHUNT_CRIU_TRUSTS_USERS");

	return given && strcmp(given, "yes") == 0;
}

int criu_check(const struct identity *who, struct err *err)
{
	char *argv[] = {"criu", "check", NULL}, why[CRIU_WHY] = "";

	if (geteuid())
		return err_set(err, -EPERM, "CRIU needs a server or an agent that runs as root");
	if (who->change && who->uid != 0 && !users_trusted())
		return err_set(
			err, -EPERM,
			"CRIU would open this job's files with root's rights when it restores the job, so it saves root's jobs only "
			"(SHUNT_CRIU_TRUSTS_USERS in the administrator's guide)");
	if (!init_path())
		return err_set(err, -ENOENT, CRIU_LACKS_INIT);
	int r = program_run(argv, why);
	if (r)
		return err_set(err, -ENOTSUP, "this host can't save jobs with CRIU: %s",
			       *why ? why : "criu check does not succeed");
	return 0;
}

/* ---- files that the job writes ---- */

static void file_note(FILE *out, pid_t pid, const char *fd, const struct stat output[2])
{
	char path[PATH_MAX], to[PATH_MAX], line[256];
	long long flags = 0;
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d/fd/%s", (int)pid, fd);
	ssize_t n = readlink(path, to, sizeof to - 1);
	if (n <= 0 || *to != '/' || stat(path, &st) || !S_ISREG(st.st_mode))
		return;
	to[n] = '\0';
	snprintf(path, sizeof path, "/proc/%d/fdinfo/%s", (int)pid, fd);
	FILE *in = fopen(path, "re");
	while (in && fgets(line, sizeof line, in))
		sscanf(line, "flags: %llo", &flags);
	if (in)
		fclose(in);
	for (int i = 0; i < 2; i++)
		if (output[i].st_nlink && output[i].st_ino == st.st_ino && output[i].st_dev == st.st_dev) {
			fprintf(out, "%c 0 %s%c", "oe"[i], to, '\0');
			return;
		}
	/* Don't cut a file to which others may append. */
	if ((flags & O_ACCMODE) != O_RDONLY && !(flags & O_APPEND))
		fprintf(out, "f %lld %s%c", (long long)st.st_size, to, '\0');
}

static int files_note(pid_t first, const char *dir, const struct stat output[2])
{
	char path[PATH_MAX];
	pid_list l = {0};

	snprintf(path, sizeof path, "%s/" FILES, dir);
	FILE *out = fopen(path, "we");
	if (!out)
		return -errno;
	tree_list(first, &l);
	vec_push(&l, first);
	for (size_t i = 0; i < l.n; i++) {
		snprintf(path, sizeof path, "/proc/%d/fd", (int)l.v[i]);
		DIR *d = opendir(path);
		for (struct dirent *e; d && (e = readdir(d));)
			if (*e->d_name != '.')
				file_note(out, l.v[i], e->d_name, output);
		if (d)
			closedir(d);
	}
	vec_free(&l);
	bool bad = ferror(out);
	return fclose(out) || bad ? -EIO : 0;
}

static FILE *files_open(const char *dir)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/" FILES, dir);
	return fopen(path, "re");
}

/* Calls `each` for every entry and closes the file; a path may contain anything but NUL. */
static void files_each(FILE *in, void (*each)(void *context, char kind, int64_t size, const char *path), void *context)
{
	char *entry = NULL;
	size_t room = 0;

	while (in && getdelim(&entry, &room, '\0', in) > 0) {
		char *at;
		int64_t size = strlen(entry) > 4 ? strtoll(entry + 2, &at, 10) : -1;
		if (size >= 0 && *at == ' ' && at[1] == '/')
			each(context, *entry, size, at + 1);
	}
	free(entry);
	if (in)
		fclose(in);
}

static void cut_do(void *context, char kind, int64_t size, const char *path)
{
	struct stat st;
	int fd = kind == 'f' ? open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;

	if (fd < 0)
		return; /* CRIU reports what is missing */
	bool longer = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > size;
	int r = longer ? ftruncate(fd, size) : 0;
	(void)r; /* CRIU reports a wrong length */
	close(fd);
}

/* Cuts the files with the user's rights; the list itself is root's. */
static void files_cut(const char *dir, const struct identity *who)
{
	FILE *in = files_open(dir);
	pid_t pid = fork();

	if (pid == 0) {
		if (identity_become(who))
			_exit(1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		files_each(in, cut_do, NULL);
		_exit(0);
	}
	if (in)
		fclose(in);
	waitpid(pid, NULL, 0);
}

/* ---- saving ---- */

int criu_dump(pid_t first, const char *dir, const struct stat output[2], char *why)
{
	char number[16];
	char *argv[] = {"criu",
			"dump",
			"-t",
			number,
			"-D",
			(char *)dir,
			"-o",
			LOG,
			"-v2",
			"--leave-stopped",
			"--file-locks",
			"--link-remap",
			"--manage-cgroups=ignore",
			"--ghost-limit",
			GHOSTS,
			NULL};

	snprintf(number, sizeof number, "%d", (int)first);
	int r = program_run(argv, why);
	if (r) {
		log_read(dir, why);
		return r < 0 ? r : -ECANCELED;
	}
	return files_note(first, dir, output);
}

/* ---- restoring ---- */

struct words {
	VEC(char *) v;
	const int *output;
};

static void output_add(void *context, char kind, int64_t size, const char *path)
{
	struct words *w = context;
	char *text;

	if (kind == 'f')
		return;
	if (asprintf(&text, "fd[%d]:%s", w->output[kind == 'e'], path + 1) < 0)
		abort();		    /* out of memory */
	for (size_t i = 0; i < w->v.n; i++) /* several processes have it open */
		if (!strcmp(w->v.v[i], text))
			return;
	vec_push(&w->v, "--inherit-fd");
	vec_push(&w->v, text);
}

noreturn void criu_restore(const char *dir, const struct identity *who, const int output[2])
{
	static char *const fixed[] = {
		"criu",		 "restore", "-d", "-S", "-o", LOG, "-v2", "--file-locks", "--manage-cgroups=ignore",
		"--ghost-limit", GHOSTS,    "-D"};
	struct words w = {.output = output};
	char *pid;

	files_cut(dir, who);
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
		vec_push(&w.v, fixed[i]);
	vec_push(&w.v, (char *)dir);
	if (asprintf(&pid, "%s/pid", dir) < 0)
		abort();
	unlink(pid);
	vec_push(&w.v, "--pidfile");
	vec_push(&w.v, pid);
	files_each(files_open(dir), output_add, &w);
	vec_push(&w.v, NULL);
	for (int i = 0; i < 2; i++)
		if (output[i] >= 0)
			fcntl(output[i], F_SETFD, 0);
	program_exec(w.v.v);
	_exit(127);
}

pid_t criu_restored(const char *dir, char *why)
{
	char path[PATH_MAX];
	int pid = 0;

	snprintf(path, sizeof path, "%s/pid", dir);
	FILE *in = fopen(path, "re");
	bool good = in && fscanf(in, "%d", &pid) == 1 && pid > 1;
	if (in)
		fclose(in);
	unlink(path);
	if (!good)
		log_read(dir, why);
	return good ? pid : -ECANCELED;
}
