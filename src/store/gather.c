/*
 * gather.c - see gather.h.
 *
 * SQLite writes each page of a commit to the log by two calls, its header and then the page: some
 * thirty calls for a job. They follow each other in the file, so they are collected here, and
 * written by one call before anything else is done with the file: before it is synced, read,
 * truncated or measured. Nobody needs them earlier: other connections look at a frame only when the
 * index of the log names it, which is after the sync of its commit.
 *
 * This needs connections that sync the log at each commit (synchronous = FULL). What was not synced
 * belongs to no commit, so it is dropped with its transaction: written later, it could replace what
 * another process has committed there since.
 *
 * Only the log is wrapped; other files are those of SQLite's own VFS.
 */
#include "store/gather.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* bytes collected before they are written; SQLite's VFS takes less than 128 KiB in one call */
#define GATHERED_MOST (120 << 10)

struct gathered {
	sqlite3_file file;
	sqlite3_int64 at; /* place of the bytes in the file */
	int n;
	char *bytes;
	sqlite3_file *own; /* SQLite's file, behind this struct */
};

static struct gathered *gathered_of(sqlite3_file *file)
{
	return (struct gathered *)file;
}

/* Bytes that could not be written are forgotten, as by a write that fails: SQLite undoes the
 * transaction, and writes other frames in their place. */
static int flush(struct gathered *g)
{
	int n = g->n;

	g->n = 0;
	return n ? g->own->pMethods->xWrite(g->own, g->bytes, n, g->at) : SQLITE_OK;
}

static int on_write(sqlite3_file *file, const void *bytes, int n, sqlite3_int64 at)
{
	struct gathered *g = gathered_of(file);

	if (g->n && (at != g->at + g->n || n > GATHERED_MOST - g->n)) {
		int rc = flush(g);
		if (rc != SQLITE_OK)
			return rc;
	}
	if (n > GATHERED_MOST)
		return g->own->pMethods->xWrite(g->own, bytes, n, at);
	if (g->n == 0)
		g->at = at;
	memcpy(g->bytes + g->n, bytes, (size_t)n);
	g->n += n;
	return SQLITE_OK;
}

static int on_read(sqlite3_file *file, void *ret, int n, sqlite3_int64 at)
{
	struct gathered *g = gathered_of(file);
	int rc = flush(g);

	return rc == SQLITE_OK ? g->own->pMethods->xRead(g->own, ret, n, at) : rc;
}

static int on_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	struct gathered *g = gathered_of(file);
	int rc = flush(g);

	return rc == SQLITE_OK ? g->own->pMethods->xTruncate(g->own, size) : rc;
}

static int on_sync(sqlite3_file *file, int flags)
{
	struct gathered *g = gathered_of(file);
	int rc = flush(g);

	return rc == SQLITE_OK ? g->own->pMethods->xSync(g->own, flags) : rc;
}

static int on_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	struct gathered *g = gathered_of(file);
	int rc = flush(g);

	return rc == SQLITE_OK ? g->own->pMethods->xFileSize(g->own, ret) : rc;
}

static int on_close(sqlite3_file *file)
{
	struct gathered *g = gathered_of(file);
	int rc = g->own->pMethods->xClose(g->own);

	free(g->bytes);
	return rc;
}

static int on_lock(sqlite3_file *file, int kind)
{
	sqlite3_file *own = gathered_of(file)->own;

	return own->pMethods->xLock(own, kind);
}

static int on_unlock(sqlite3_file *file, int kind)
{
	sqlite3_file *own = gathered_of(file)->own;

	return own->pMethods->xUnlock(own, kind);
}

static int on_check_lock(sqlite3_file *file, int *ret)
{
	sqlite3_file *own = gathered_of(file)->own;

	return own->pMethods->xCheckReservedLock(own, ret);
}

static int on_control(sqlite3_file *file, int what, void *argument)
{
	sqlite3_file *own = gathered_of(file)->own;

	return own->pMethods->xFileControl(own, what, argument);
}

static int on_sector(sqlite3_file *file)
{
	sqlite3_file *own = gathered_of(file)->own;

	return own->pMethods->xSectorSize(own);
}

static int on_device(sqlite3_file *file)
{
	sqlite3_file *own = gathered_of(file)->own;

	return own->pMethods->xDeviceCharacteristics(own);
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = on_close,
	.xRead = on_read,
	.xWrite = on_write,
	.xTruncate = on_truncate,
	.xSync = on_sync,
	.xFileSize = on_size,
	.xLock = on_lock,
	.xUnlock = on_unlock,
	.xCheckReservedLock = on_check_lock,
	.xFileControl = on_control,
	.xSectorSize = on_sector,
	.xDeviceCharacteristics = on_device,
};

static int on_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
	sqlite3_vfs *own = sqlite3_vfs_find(NULL);
	struct gathered *g = gathered_of(file);

	if (!(flags & SQLITE_OPEN_WAL))
		return own->xOpen(own, name, file, flags, ret_flags);
	*g = (struct gathered){.own = (sqlite3_file *)(g + 1)};
	int rc = own->xOpen(own, name, g->own, flags, ret_flags);
	if (rc != SQLITE_OK)
		return rc;
	g->bytes = mem_alloc(GATHERED_MOST);
	g->file.pMethods = &methods;
	return SQLITE_OK;
}

void gather_register(void)
{
	static sqlite3_vfs vfs;

	vfs = *sqlite3_vfs_find(NULL);
	vfs.zName = GATHER_VFS;
	vfs.pNext = NULL;
	vfs.szOsFile += (int)sizeof(struct gathered);
	vfs.xOpen = on_open;
	sqlite3_vfs_register(&vfs, 0);
}

void gather_forget(sqlite3 *db)
{
	sqlite3_file *log = NULL;

	sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
	if (log && log->pMethods == &methods && sqlite3_get_autocommit(db))
		gathered_of(log)->n = 0;
}
