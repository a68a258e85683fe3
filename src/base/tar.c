/*
 * tar.c - see tar.h.
 *
 * A member is a block with its name, type and size, followed by its data, padded to whole blocks.
 * Names that do not fit precede it in members of their own (GNU: 'L' and 'K'; pax: 'x') and apply
 * only to the next member.
 */
#include "base/tar.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define BLOCK 512
#define NAME_SIZE 4096
#define HEAD_MOST 65536 /* bytes of a pax header */

/* The input, plain or being inflated. */
struct source {
	z_stream z;
	bool gzip;
	const unsigned char *next;
	size_t left;
};

/* The member being read. */
struct member {
	char name[NAME_SIZE], link[NAME_SIZE];
	bool has_name, has_link, has_size; /* given by members before it */
	int64_t size, said;		   /* size in its own header, and in a member before it */
	char type;
};

struct check {
	struct source in;
	const struct tar_limits *limits;
	struct tar_facts facts;
	struct member m;
};

/* ---- bytes ---- */

static int source_inflate(struct source *s, unsigned char *to, size_t n, struct err *err)
{
	s->z.next_out = to;
	s->z.avail_out = (uInt)n;
	while (s->z.avail_out) {
		int rc = inflate(&s->z, Z_NO_FLUSH);
		if (rc == Z_STREAM_END && s->z.avail_out)
			return err_set(err, -EINVAL, "the archive ends too early");
		if (rc != Z_OK && rc != Z_STREAM_END)
			return err_set(err, -EINVAL, "the archive is broken: it can't be decompressed");
	}
	return 0;
}

static int source_read(struct source *s, unsigned char *to, size_t n, struct err *err)
{
	if (s->gzip)
		return source_inflate(s, to, n, err);
	if (n > s->left)
		return err_set(err, -EINVAL, "the archive ends too early");
	memcpy(to, s->next, n);
	s->next += n;
	s->left -= n;
	return 0;
}

static int source_skip(struct source *s, int64_t n, struct err *err)
{
	unsigned char away[65536];
	int rc = 0;

	if (!s->gzip) {
		if ((uint64_t)n > s->left)
			return err_set(err, -EINVAL, "the archive ends too early");
		s->next += n;
		s->left -= (size_t)n;
		return 0;
	}
	for (; rc == 0 && n > 0; n -= (int64_t)sizeof away)
		rc = source_inflate(s, away, n < (int64_t)sizeof away ? (size_t)n : sizeof away, err);
	return rc;
}

/* ---- headers ---- */

/* Reads octal digits, or GNU's binary form. Returns -1 for anything else. */
static int64_t number_read(const unsigned char *p, size_t n)
{
	int64_t value = 0;
	size_t i = 0;

	if (p[0] == 0x80) {
		for (i = 1; i < n; i++) {
			if (value > INT64_MAX >> 9)
				return -1;
			value = value << 8 | p[i];
		}
		return value;
	}
	while (i < n && p[i] == ' ')
		i++;
	for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
		value = value << 3 | (p[i] - '0');
	return i < n && p[i] && p[i] != ' ' ? -1 : value;
}

static bool sum_right(const unsigned char block[BLOCK])
{
	int64_t sum = 8 * ' ';

	for (int i = 0; i < BLOCK; i++)
		sum += i < 148 || i >= 156 ? block[i] : 0;
	return sum == number_read(block + 148, 8);
}

static bool is_zero(const unsigned char block[BLOCK])
{
	for (int i = 0; i < BLOCK; i++)
		if (block[i])
			return false;
	return true;
}

static void header_read(struct member *m, const unsigned char *block)
{
	const char *text = (const char *)block;
	bool ustar = memcmp(block + 257, "ustar\0", 6) == 0 && block[345];

	m->type = text[156] ? text[156] : '0';
	if (!m->has_name)
		snprintf(m->name, sizeof m->name, "%.*s%s%.100s", ustar ? 155 : 0, text + 345, ustar ? "/" : "", text);
	if (!m->has_link)
		snprintf(m->link, sizeof m->link, "%.100s", text + 157);
	m->size = number_read(block + 124, 12);
}

/* Reads a long name. */
static int name_take(struct check *c, char *to, bool *ret_has, struct err *err)
{
	int64_t n = c->m.size;
	unsigned char away[BLOCK];

	if (n < 1 || n > NAME_SIZE)
		return err_set(err, -EINVAL, "the archive has a name of %lld bytes: at most %d are allowed",
			       (long long)n, NAME_SIZE - 1);
	int rc = source_read(&c->in, (unsigned char *)to, (size_t)n, err);
	to[n - 1] = '\0';
	*ret_has = true;
	return rc == 0 && n % BLOCK ? source_read(&c->in, away, (size_t)(BLOCK - n % BLOCK), err) : rc;
}

static int value_take(char *to, bool *ret_has, const char *value, size_t n, struct err *err)
{
	if (n >= NAME_SIZE || memchr(value, '\0', n))
		return err_set(err, -EINVAL, "the archive has a name that is too long, or has a NUL inside");
	memcpy(to, value, n);
	to[n] = '\0';
	*ret_has = true;
	return 0;
}

static int record_take(struct member *m, const char *key, size_t n, const char *value, size_t length, struct err *err)
{
#define KEY(word) (n == sizeof(word) - 1 && memcmp(key, word, n) == 0)
	if (KEY("path"))
		return value_take(m->name, &m->has_name, value, length, err);
	if (KEY("linkpath"))
		return value_take(m->link, &m->has_link, value, length, err);
	if (KEY("size")) {
		char text[24];
		snprintf(text, sizeof text, "%.*s", (int)(length < 20 ? length : 20), value);
		m->said = strspn(text, "0123456789") == strlen(text) && *text ? strtoll(text, NULL, 10) : -1;
		m->has_size = true;
	}
	if (n > 10 && memcmp(key, "GNU.sparse", 10) == 0)
		return err_set(err, -EPERM, "the archive has a file with holes: make it without --sparse");
	return 0;
#undef KEY
}

/* Reads records "LENGTH KEY=VALUE
 * "; the length is that of the whole record. */
static int pax_read(struct member *m, const char *text, size_t n, struct err *err)
{
	for (const char *p = text, *end = text + n; p < end;) {
		char *after;
		unsigned long length = *p >= '0' && *p <= '9' ? strtoul(p, &after, 10) : 0;
		const char *key, *equal;
		if (!length || length > (size_t)(end - p) || *after != ' ' || p[length - 1] != '\n' ||
		    !(equal = memchr(after, '=', length - (size_t)(after - p))))
			return err_set(err, -EINVAL, "the archive is broken: a header can't be read");
		key = after + 1;
		int rc = record_take(m, key, (size_t)(equal - key), equal + 1, (size_t)(p + length - 1 - (equal + 1)),
				     err);
		if (rc < 0)
			return rc;
		p += length;
	}
	return 0;
}

static int pax_take(struct check *c, bool counts, struct err *err)
{
	int64_t n = c->m.size, whole = (n + BLOCK - 1) / BLOCK * BLOCK;
	unsigned char *text;
	int rc;

	if (n < 0 || n > HEAD_MOST)
		return err_set(err, -EINVAL, "the archive has a header of %lld bytes: at most %d are allowed",
			       (long long)n, HEAD_MOST);
	text = malloc((size_t)whole + 1);
	if (!text)
		abort();
	text[n] = '\0';
	rc = source_read(&c->in, text, (size_t)whole, err);
	text[n] = '\0';
	if (rc == 0 && counts)
		rc = pax_read(&c->m, (const char *)text, (size_t)n, err);
	free(text);
	return rc;
}

/* ---- members ---- */

bool tar_path_stays(const char *path)
{
	const char *part = path;

	if (!*path || *path == '/')
		return false;
	for (const char *p = path; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return false;
	for (;;) {
		size_t n = strcspn(part, "/");
		if (n == 2 && part[0] == '.' && part[1] == '.')
			return false;
		if (!part[n])
			return true;
		part += n + 1;
	}
}

static int member_check(struct check *c, struct err *err)
{
	struct member *m = &c->m;
	bool file = m->type == '0' || m->type == '7', link = m->type == '1' || m->type == '2';

	if (m->has_size)
		m->size = m->said;
	if (!tar_path_stays(m->name))
		return err_set(err, -EPERM,
			       "the archive has a member \"%.100s\", which would not stay in its directory", m->name);
	if (link && !tar_path_stays(m->link))
		return err_set(err, -EPERM,
			       "the archive has a link \"%.100s\" to \"%.100s\", which may lead out of its directory",
			       m->name, m->link);
	if (!file && !link && m->type != '5')
		return err_set(err, -EPERM,
			       "the archive has a member \"%.100s\" that is neither a file, a directory nor a link",
			       m->name);
	if (m->size < 0 || (!file && m->size))
		return err_set(err, -EINVAL, "the archive is broken: \"%.100s\" has no proper size", m->name);
	if (++c->facts.members > c->limits->members)
		return err_set(err, -E2BIG, "the archive has more than %lld members", (long long)c->limits->members);
	if (m->size > c->limits->bytes - c->facts.bytes)
		return err_set(err, -E2BIG, "the archive unpacks to more than %lld MB",
			       (long long)(c->limits->bytes / 1000000));
	c->facts.bytes += m->size;
	return source_skip(&c->in, (m->size + BLOCK - 1) / BLOCK * BLOCK, err);
}

/* Reads a header block. Returns 1 at the end of the archive. */
static int block_take(struct check *c, struct err *err)
{
	unsigned char block[BLOCK];
	struct member *m = &c->m;
	int rc = source_read(&c->in, block, sizeof block, err);

	if (rc < 0)
		return rc;
	if (is_zero(block))
		return 1;
	if (!sum_right(block))
		return err_set(err, -EINVAL, "this is not a tar file, or it is damaged");
	header_read(m, block);
	if (m->type == 'L')
		return name_take(c, m->name, &m->has_name, err);
	if (m->type == 'K')
		return name_take(c, m->link, &m->has_link, err);
	if (m->type == 'x' || m->type == 'g')
		return pax_take(c, m->type == 'x', err);
	rc = member_check(c, err);
	*m = (struct member){0};
	return rc;
}

int tar_check(const void *data, size_t n, const struct tar_limits *limits, struct tar_facts *ret, struct err *err)
{
	const unsigned char *bytes = data;
	struct check *c = calloc(1, sizeof *c);
	int64_t heads = 0;
	int rc = 0;

	if (!c)
		abort();
	c->limits = limits;
	c->in = (struct source){.next = bytes, .left = n, .gzip = n > 2 && bytes[0] == 0x1f && bytes[1] == 0x8b};
	c->facts.gzip = c->in.gzip;
	c->in.z = (z_stream){.next_in = (unsigned char *)bytes, .avail_in = (uInt)n};
	if (n > UINT32_MAX || (c->in.gzip && inflateInit2(&c->in.z, 16 + MAX_WBITS) != Z_OK))
		rc = err_set(err, -EINVAL, "the archive can't be decompressed");
	while (rc == 0 && (rc = block_take(c, err)) == 0)
		if (++heads > 4 * limits->members)
			rc = err_set(err, -E2BIG, "the archive has more than %lld members", (long long)limits->members);
	if (rc == 1 && c->facts.members == 0)
		rc = err_set(err, -EINVAL, "the archive is empty");
	if (c->in.gzip)
		inflateEnd(&c->in.z);
	if (rc == 1)
		*ret = c->facts;
	free(c);
	return rc < 0 ? rc : 0;
}
