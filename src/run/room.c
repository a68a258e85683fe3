/*
 * room.c - node file, environment; tmpdir.c has the directory for temporary files.
 */
#include "run/room.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "run/rights.h"

/* Writes a file for this job alone. */
static int nodefile_write(const char *path, const char *text, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);

	if (fd < 0)
		return err_set(err, -errno, "the node file %s can't be made: %s", path, strerror(errno));
	ssize_t n = write(fd, text, strlen(text));
	int r = n == (ssize_t)strlen(text) ? 0 : n < 0 ? -errno : -ENOSPC;
	close(fd);
	if (r) {
		unlink(path);
		return err_set(err, r, "the node file %s can't be written: %s", path, strerror(-r));
	}
	return 0;
}

/* Returns the length, within the path, of the attempt's own directory, in which the file can have
 * the job's name; 0: it has none. */
static int own_directory(const struct order *o)
{
	const char *name = strrchr(o->nodefile_path, '/');
	int n = (int)(name - o->nodefile_path), tag = (int)strlen(o->tag);

	return n > tag && o->nodefile_path[n - tag - 1] == '/' &&
			       strncmp(o->nodefile_path + n - tag, o->tag, (size_t)tag) == 0
		       ? n
		       : 0;
}

static bool own_directory_path(const struct order *o, char path[PATH_MAX])
{
	int n = own_directory(o);

	if (n)
		snprintf(path, PATH_MAX, "%.*s", n, o->nodefile_path);
	return n;
}

/* Directory that an attempt of this process has left, to be renamed for the next one: where many
 * were just removed, making one takes half a millisecond on some file systems. "": none. */
static char kept_path[PATH_MAX];

static void kept_remove(void)
{
	if (*kept_path)
		rmdir(kept_path);
	*kept_path = '\0';
}

static int own_directory_make(const char *path)
{
	if (*kept_path && rename(kept_path, path) == 0) {
		*kept_path = '\0';
		return 0;
	}
	kept_remove();
	return mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

static void own_directory_remove(const char *path, bool keep)
{
	const char *slash = strrchr(path, '/');

	kept_remove();
	if (keep &&
	    snprintf(kept_path, sizeof kept_path, "%.*s/" ROOM_KEPT "%d", (int)(slash - path), path, (int)getpid()) <
		    (int)sizeof kept_path &&
	    renameat2(AT_FDCWD, path, AT_FDCWD, kept_path, RENAME_NOREPLACE) == 0)
		return;
	*kept_path = '\0';
	rmdir(path);
}

static void shared_directory_make(const char *nodefile_path)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%.*s", (int)(strrchr(nodefile_path, '/') - nodefile_path), nodefile_path);
	mkdir(path, 0755);
}

/* Jobs on the same nodes have the same text: it is written once, to a file named after its hash,
 * and each job gets a link. Where many files were just removed, a link costs a tenth of a file. The
 * nursery removes unused texts when it starts (sweep.c). */
static int nodefile_make(const struct order *o, struct err *err)
{
	const char *text = o->nodefile ? o->nodefile : "", *slash = strrchr(o->nodefile_path, '/');
	char shared[PATH_MAX], fresh[PATH_MAX], own[PATH_MAX];
	int dir = own_directory(o) ? own_directory(o) - (int)strlen(o->tag) - 1 : (int)(slash - o->nodefile_path);

	int r = own_directory_path(o, own) ? own_directory_make(own) : 0;
	if (r)
		return err_set(err, r, "the directory %s can't be made: %s", own, strerror(-r));
	if (snprintf(shared, sizeof shared, "%.*s/.%016llx.%zu", dir, o->nodefile_path,
		     (unsigned long long)hash_bytes(text, strlen(text)), strlen(text)) >= (int)sizeof shared ||
	    snprintf(fresh, sizeof fresh, "%.*s/.new.%s", dir, o->nodefile_path, o->tag) >= (int)sizeof fresh)
		return nodefile_write(o->nodefile_path, text, err);
	for (int tries = 0; tries < 4; tries++) {
		if (link(shared, o->nodefile_path) == 0)
			return 0;
		if (errno == EEXIST)
			unlink(o->nodefile_path); /* from an earlier attempt */
		else if (errno != ENOENT)
			break; /* too many links, or a file system without links */
		else if ((r = nodefile_write(fresh, text, err)) == 0)
			rename(fresh, shared);
		else if (r == -ENOENT) /* the first job in a shared directory */
			shared_directory_make(o->nodefile_path);
	}
	return nodefile_write(o->nodefile_path, text, err);
}

/* Returns the node file's path with "gpu" appended, as in TORQUE; NULL: the job has no GPUs. */
static const char *gpufile_path(const struct order *o, char path[PATH_MAX])
{
	if (!o->gpu.gpufile || !o->nodefile_path)
		return NULL;
	snprintf(path, PATH_MAX, "%sgpu", o->nodefile_path);
	return path;
}

static int gpufile_make(const struct order *o, struct err *err)
{
	char path[PATH_MAX];

	return gpufile_path(o, path) ? nodefile_write(path, o->gpu.gpufile, err) : 0;
}

int room_make(const struct order *o, const struct identity *who, struct err *err)
{
	int r = 0;

	if (o->nodefile_path) {
		rights_begin(who->server);
		r = nodefile_make(o, err);
		if (!r)
			r = gpufile_make(o, err);
		rights_end(who->server);
	}
	if (!r && o->tmpdir)
		r = tmpdir_make(o, who, err);
	return r;
}

void room_leave(const struct identity *server)
{
	rights_begin(server);
	kept_remove();
	rights_end(server);
}

void room_clear(const struct order *o, const struct identity *who, bool keep)
{
	rights_begin(who->server);
	if (o->nodefile_path) {
		char path[PATH_MAX];
		unlink(o->nodefile_path);
		if (gpufile_path(o, path))
			unlink(path);
		if (own_directory_path(o, path))
			own_directory_remove(path, keep);
	}
	rights_end(who->server);
	if (o->tmpdir)
		tmpdir_clear(AT_FDCWD, o->tmpdir, who);
}

/* A variable of the attempt: the order's is left out. */
struct setting {
	const char *name;
	size_t length;	   /* the name's, in bytes */
	const char *value; /* NULL: keep the order's value, unless it is always dropped */
	/* the one of the job that submitted this one (-V) would be taken for its own (saving.c) */
	bool dropped;
};
#define SETTING(text, ...)                                                                                             \
	{                                                                                                              \
		.name = (text), .length = sizeof(text) - 1, __VA_ARGS__                                                \
	}

static bool is_set(const struct setting *list, size_t n, const char *entry)
{
	size_t length = strcspn(entry, "=");

	for (size_t i = 0; i < n; i++)
		if (length == list[i].length && (list[i].value || list[i].dropped) && entry[length] &&
		    !memcmp(entry, list[i].name, length))
			return true;
	return false;
}

/* Returns "0,2"; "": the job must see none; NULL: leave the variables alone. */
static const char *gpus_text(const struct order *o, struct arena *a)
{
	const char *text = o->gpu.hide_gpus ? "" : NULL;

	for (int i = 0; i < o->gpu.ngpus; i++)
		text = i ? arena_printf(a, "%s,%d", text, o->gpu.gpus[i]) : arena_printf(a, "%d", o->gpu.gpus[i]);
	return text;
}

char **room_environment(const struct order *o, const char *instance, struct arena *a)
{
	char path[PATH_MAX];
	const char *gpus = gpus_text(o, a), *file = gpufile_path(o, path);
	const struct setting settings[] = {SETTING("SHUNT_TAG", arena_printf(a, "%s@%s", o->tag, instance)),
					   SETTING("PBS_NODEFILE", o->nodefile_path),
					   SETTING("PBS_GPUFILE", file, true),
					   SETTING("TMPDIR", o->tmpdir),
					   SETTING("CUDA_VISIBLE_DEVICES", gpus),
					   SETTING("ROCR_VISIBLE_DEVICES", gpus),
					   SETTING("GPU_DEVICE_ORDINAL", gpus),
					   SETTING("SHUNT_RESTART", NULL, true),
					   SETTING("SHUNT_CHECKPOINT_DIR", NULL, true)};
	const size_t count = sizeof settings / sizeof *settings;
	size_t n = 0, kept = 0;

	while (o->env[n])
		n++;
	char **env = arena_alloc(a, (n + count + 1) * sizeof *env);
	for (size_t i = 0; i < n; i++)
		if (!is_set(settings, count, o->env[i]))
			env[kept++] = o->env[i];
	for (size_t i = 0; i < count; i++)
		if (settings[i].value)
			env[kept++] = arena_printf(a, "%s=%s", settings[i].name, settings[i].value);
	return env;
}
