/*
 * sqlite.c - a store in one file, with WAL and full sync: a commit is one append to the log and one
 * fsync.
 *
 * Statements are prepared when first used, and kept. One thread, one connection; another process
 * may read at the same time.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/fault.h"
#include "store/gather.h"
#include "store/store_internal.h"

struct sqlite {
	sqlite3 *db;
	char *path;
	sqlite3_stmt *prepared[STATEMENT_COUNT];
	sqlite3_stmt *begin, *commit;
	dev_t log_dev; /* device of the write-ahead log, once it exists */
	ino_t log;
	sqlite3_int64 size; /* largest size of the file seen so far, bytes */
};

/* Time in ms that a commit waits for a lock before it fails with -EBUSY; the caller retries
 * later. */
#define BUSY_MS 100

/* Memory for running statements, mainly cursors of a table with many indexes, comes from these
 * slots. */
#define LOOKASIDE_BYTES 1200
#define LOOKASIDE_SLOTS 200

/* The page cache is bounded: it has room for the pages that a busy server writes to, which are
 * few even in a large store. The log is copied back once it has 4,000 pages (16 MiB), and cut to
 * 64 MiB after a huge commit. */
static const char settings[] = "PRAGMA journal_mode = WAL;"
			       "PRAGMA synchronous = FULL;"
			       "PRAGMA wal_autocheckpoint = 4000;"
			       "PRAGMA journal_size_limit = 67108864;"
			       "PRAGMA cache_size = -4096;";

/* A store that is only read is not changed. A store that nobody else may have open is locked for
 * as long as this connection lives. */
static const char reading[] = "PRAGMA cache_size = -16384;";
static const char alone[] = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT;";

/* Returns the process that holds a lock on a file (any lock, or one for writing), or 0.
 * /proc/locks has a line for each: "N: POSIX ADVISORY WRITE PID MAJOR:MINOR:INODE FIRST LAST". */
static pid_t lock_holder(const char *path, const char *suffix, bool any)
{
	char name[PATH_MAX], line[256], kind[16];
	unsigned major, minor;
	unsigned long long inode;
	struct stat st;
	pid_t pid, found = 0;
	FILE *f;

	snprintf(name, sizeof name, "%s%s", path, suffix);
	if (stat(name, &st) < 0 || !(f = fopen("/proc/locks", "re")))
		return 0;
	while (!found && fgets(line, sizeof line, f))
		if (sscanf(line, "%*u: %*s %*s %15s %d %x:%x:%llu", kind, &pid, &major, &minor, &inode) == 5 &&
		    (any || strcmp(kind, "WRITE") == 0) && inode == st.st_ino && pid > 0 && pid != getpid())
			found = pid;
	fclose(f);
	return found;
}

static int locked(const struct sqlite *s, struct err *err)
{
	pid_t pid = lock_holder(s->path, "-shm", false);

	if (!pid)
		pid = lock_holder(s->path, "", false);
	if (pid)
		return err_set(err, -EBUSY,
			       "store %s: process %d has locked it (%s): end that, or wait until it is done", s->path,
			       (int)pid, sqlite3_errmsg(s->db));
	return err_set(err, -EBUSY, "store %s: another process has locked it (%s): end that, or wait until it is done",
		       s->path, sqlite3_errmsg(s->db));
}

/* Reports the error of the last call on the connection. */
static int sqlite_fail(const struct sqlite *s, struct err *err)
{
	int system = 0; /* errno behind the error, if known */

	switch (sqlite3_errcode(s->db) & 0xff) {
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		system = sqlite3_system_errno(s->db);
		if (!system && sqlite3_extended_errcode(s->db) == SQLITE_IOERR_WRITE)
			/* SQLite does not keep errno for the log; sqlite_write cleared it */
			system = errno;
		break;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return locked(s, err);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return err_set(err, -EIO, "store %s: %s; restore a copy of it, or try: sqlite3 %s .recover", s->path,
			       sqlite3_errmsg(s->db), s->path);
	case SQLITE_FULL:
		system = ENOSPC;
	}
	/* For the administrator, a quota or a limit on file sizes amounts to a full disk. */
	if (system == ENOSPC || system == EDQUOT || system == EFBIG)
		return err_set(err, -ENOSPC, "store %s: no room to write (%s): free some space on its disk", s->path,
			       strerror(system));
	return err_set(err, -EIO, "store %s: %s%s%s", s->path, sqlite3_errmsg(s->db), system ? ": " : "",
		       system ? strerror(system) : "");
}

static int sqlite_open(const char *where, int how, void **ret, struct err *err);

static const char *sqlite_name(void *context)
{
	return ((struct sqlite *)context)->path;
}

/* Rolls back after a failure; some failures have already done so. */
static void sqlite_undo(struct sqlite *s)
{
	if (!sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	gather_forget(s->db);
}

static int sqlite_exec(void *context, const char *sql, struct err *err)
{
	struct sqlite *s = context;

	if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	int rc = sqlite_fail(s, err);
	sqlite_undo(s);
	return rc;
}

static void sqlite_close(void *context)
{
	struct sqlite *s = context;

	for (int i = 0; i < STATEMENT_COUNT; i++)
		sqlite3_finalize(s->prepared[i]);
	sqlite3_finalize(s->begin);
	sqlite3_finalize(s->commit);
	sqlite3_close(s->db);
	free(s->path);
	free(s);
}

/* ---- lost files ---- */

static bool log_is_there(struct sqlite *s)
{
	char path[PATH_MAX];
	struct stat st;
	bool found;

	snprintf(path, sizeof path, "%s-wal", s->path);
	found = stat(path, &st) == 0;
	if (s->log)
		return found && st.st_ino == s->log && st.st_dev == s->log_dev;
	if (found) {
		s->log = st.st_ino;
		s->log_dev = st.st_dev;
	}
	return true;
}

static bool sqlite_is_there(void *context)
{
	struct sqlite *s = context;
	int moved = 0;

	sqlite3_file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
	return !moved && log_is_there(s);
}

/* Refuses to continue with a file that somebody has truncated: SQLite would not notice, and add
 * to a log whose file is gone. If the header agrees with the smaller size, SQLite itself shrank
 * the file. The file is read through SQLite, because closing a descriptor of our own would
 * release its locks. */
static int sqlite_whole(struct sqlite *s, struct err *err)
{
	sqlite3_file *file = NULL;
	sqlite3_int64 size;
	unsigned char head[32];
	uint64_t pages, page;

	sqlite3_file_control(s->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
	if (!file || !file->pMethods || file->pMethods->xFileSize(file, &size) != SQLITE_OK)
		return 0;
	if (size >= s->size) {
		s->size = size;
		return 0;
	}
	if (file->pMethods->xRead(file, head, sizeof head, 0) == SQLITE_OK) {
		page = (uint64_t)head[16] << 8 | head[17];
		page = page == 1 ? 65536 : page;
		pages = (uint64_t)head[28] << 24 | (uint64_t)head[29] << 16 | (uint64_t)head[30] << 8 | head[31];
		if (page && pages && (uint64_t)size >= pages * page) {
			s->size = size;
			return 0;
		}
	}
	return err_set(
		err, -EIO,
		"store %s was cut from %lld to %lld bytes while the server ran, and nothing is accepted any more. Stop the server "
		"and restore a copy of the store",
		s->path, (long long)s->size, (long long)size);
}

/* Syncs a file to disk, without relying on SQLite. */
static int file_sync(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc = fd < 0 || fsync(fd) < 0 ? err_set(err, -errno, "%s: %s", path, strerror(errno)) : 0;

	if (fd >= 0)
		close(fd);
	return rc;
}

/* Saves the data to another file. Our files are still open, so all that was in them can be read
 * until they are closed. */
static int sqlite_rescue(void *context, char **ret, struct err *err)
{
	struct sqlite *s = context, *other;
	mode_t mask = umask(077);
	char path[PATH_MAX];
	void *opened;

	snprintf(path, sizeof path, "%s.saved-%lld", s->path, (long long)time(NULL));
	char *sql = sqlite3_mprintf("VACUUM INTO %Q", path);
	int rc = sqlite_exec(s, sql, err);
	sqlite3_free(sql);
	umask(mask);
	if (rc == 0)
		rc = file_sync(path, err);
	if (rc == 0)
		rc = sqlite_open(path, 0, &opened, err);
	if (rc < 0)
		return rc;
	other = opened;
	/* a single file is easier to move */
	sqlite_exec(other, "PRAGMA journal_mode = DELETE", NULL);
	struct sqlite old = *s;
	*s = *other;
	*other = old;
	/* The names of its log and index may belong to another store by now: do not touch them. */
	sqlite3_db_config(other->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite_close(other);
	*ret = mem_strdup(path);
	return 0;
}

/* Locks the store against all other connections. Each of them has a lock on the file, even when
 * idle. */
static int sqlite_alone(struct sqlite *s, struct err *err)
{
	int rc = sqlite_exec(s, alone, err);
	pid_t pid = rc == -EBUSY ? lock_holder(s->path, "", true) : 0;

	if (pid)
		return err_set(err, -EBUSY, "store %s: process %d uses it. Stop the server first", s->path, (int)pid);
	return rc;
}

/* Turns off SQLite's memory statistics, which take a lock at each allocation. This must precede
 * its first use. */
static void sqlite_prepare_once(void)
{
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	gather_register();
}

static int sqlite_open(const char *where, int how, void **ret, struct err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct sqlite *s = mem_zalloc(sizeof *s);
	/* another thread may open a reader, and the umask is shared: set it only to create files */
	bool make = !(how & OPEN_EXISTING);
	mode_t mask = make ? umask(077) : 0; /* the log and its index get the mode of the file */
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (make ? SQLITE_OPEN_CREATE : 0);

	pthread_once(&once, sqlite_prepare_once);
	s->path = mem_strdup(where);
	int rc = sqlite3_open_v2(where, &s->db, flags, make ? GATHER_VFS : NULL) == SQLITE_OK ? 0 : sqlite_fail(s, err);
	if (rc == 0) {
		sqlite3_extended_result_codes(s->db, 1);
		sqlite3_db_config(s->db, SQLITE_DBCONFIG_LOOKASIDE, NULL, LOOKASIDE_BYTES, LOOKASIDE_SLOTS);
		sqlite3_busy_timeout(s->db, BUSY_MS);
		if (how & OPEN_ALONE)
			rc = sqlite_alone(s, err);
		if (rc == 0)
			rc = sqlite_exec(s, make ? settings : reading, err);
	}
	if (make)
		umask(mask);
	if (rc == 0)
		log_is_there(s);
	if (rc < 0)
		sqlite_close(s);
	else
		*ret = s;
	return rc;
}

/* Returns NULL on failure. */
static sqlite3_stmt *sqlite_prepare(struct sqlite *s, enum statement what)
{
	if (!s->prepared[what])
		sqlite3_prepare_v3(s->db, statements[what].sql, -1, SQLITE_PREPARE_PERSISTENT, &s->prepared[what],
				   NULL);
	return s->prepared[what];
}

/* Binds values; they must stay valid until the statement is reset. */
static void sqlite_bind(sqlite3_stmt *st, const char *types, const struct value *in)
{
	assert(sqlite3_bind_parameter_count(st) == (int)strlen(types));
	for (int i = 0; types[i]; i++) {
		if (types[i] == 'i')
			sqlite3_bind_int64(st, i + 1, in[i].n);
		else if (!in[i].text)
			sqlite3_bind_null(st, i + 1);
		else if (types[i] == 't')
			sqlite3_bind_text64(st, i + 1, in[i].text, (sqlite3_uint64)in[i].n, SQLITE_STATIC, SQLITE_UTF8);
		else
			sqlite3_bind_blob64(st, i + 1, in[i].text, (sqlite3_uint64)in[i].n, SQLITE_STATIC);
	}
}

static struct value sqlite_column(sqlite3_stmt *st, int i, char type)
{
	struct value v = {0};

	if (type == 'i') {
		v.n = sqlite3_column_int64(st, i);
		return v;
	}
	if (sqlite3_column_type(st, i) == SQLITE_NULL)
		return v;
	v.text = type == 't' ? (const char *)sqlite3_column_text(st, i) : sqlite3_column_blob(st, i);
	v.n = sqlite3_column_bytes(st, i);
	if (!v.text) /* SQLite returns NULL for zero bytes */
		v.text = "";
	return v;
}

/* Runs a statement and passes on its rows; then resets it. */
static int rows_take(struct sqlite *s, sqlite3_stmt *st, const struct statement_row *q, const struct value *in,
		     row_fn row, void *row_context, struct err *err)
{
	struct value v[VALUES_MAX];
	int rc = 0, step = SQLITE_DONE;

	sqlite_bind(st, q->in, in);
	while (rc == 0 && (step = sqlite3_step(st)) == SQLITE_ROW) {
		for (int i = 0; q->out[i]; i++)
			v[i] = sqlite_column(st, i, q->out[i]);
		rc = row(row_context, v);
	}
	if (rc == 0 && step != SQLITE_DONE)
		rc = sqlite_fail(s, err);
	sqlite3_reset(st);
	return rc;
}

static int sqlite_query(void *context, enum statement what, const struct value *in, row_fn row, void *row_context,
			struct err *err)
{
	struct sqlite *s = context;
	sqlite3_stmt *st = sqlite_prepare(s, what);

	return st ? rows_take(s, st, &statements[what], in, row, row_context, err) : sqlite_fail(s, err);
}

static int sqlite_ask(void *context, const struct statement_row *q, const struct value *in, row_fn row,
		      void *row_context, struct err *err)
{
	struct sqlite *s = context;
	sqlite3_stmt *st;

	if (sqlite3_prepare_v2(s->db, q->sql, -1, &st, NULL) != SQLITE_OK)
		return sqlite_fail(s, err);
	int rc = rows_take(s, st, q, in, row, row_context, err);
	sqlite3_finalize(st);
	return rc;
}

static int sqlite_run(struct sqlite *s, const struct change *c, struct err *err)
{
	sqlite3_stmt *st = sqlite_prepare(s, c->what);

	if (!st)
		return sqlite_fail(s, err);
	sqlite_bind(st, statements[c->what].in, c->v);
	int step = sqlite3_step(st);
	while (step == SQLITE_ROW)
		step = sqlite3_step(st);
	int rc = step == SQLITE_DONE ? 0 : sqlite_fail(s, err);
	sqlite3_reset(st);
	return rc;
}

/* Begins or ends a transaction by a statement that is prepared when first used. */
static int bracket_run(struct sqlite *s, sqlite3_stmt **st, const char *sql, struct err *err)
{
	if (!*st && sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, st, NULL) != SQLITE_OK)
		return sqlite_fail(s, err);
	int rc = sqlite3_step(*st) == SQLITE_DONE ? 0 : sqlite_fail(s, err);
	sqlite3_reset(*st);
	return rc;
}

static int sqlite_write(void *context, const struct change *changes, size_t n, const struct value number[2],
			const struct value *fence, struct err *err)
{
	struct sqlite *s = context;

	int rc = sqlite_whole(s, err);

	errno = 0;
	if (rc == 0)
		rc = bracket_run(s, &s->begin, "BEGIN IMMEDIATE", err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n && rc == 0; i++) {
		if (i == n / 2)
			fault_pass(FAULT_DURING);
		rc = sqlite_run(s, &changes[i], err);
	}
	if (rc == 0)
		rc = sqlite_run(s, &(struct change){PUT_NUMBER, number}, err);
	if (rc == 0 && sqlite3_changes(s->db) != 1)
		rc = -ESTALE;
	if (rc == 0)
		rc = bracket_run(s, &s->commit, "COMMIT", err);
	if (rc == 0)
		return sqlite_whole(s, err); /* it may have been truncated meanwhile */
	sqlite_undo(s);
	return rc;
}

const struct backend sqlite_backend = {
	.kind = "sqlite",
	.dialect = 0,
	.read = "BEGIN",
	.pile = true,
	.open = sqlite_open,
	.close = sqlite_close,
	.name = sqlite_name,
	.exec = sqlite_exec,
	.query = sqlite_query,
	.ask = sqlite_ask,
	.write = sqlite_write,
	.is_there = sqlite_is_there,
	.rescue = sqlite_rescue,
};
