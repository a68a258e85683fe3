/*
 * names.c - reads and writes the names in a certificate.
 *
 * A role is a URI among the subject alternative names. Characters of a name other than letters,
 * digits, '.', '_' and '-' are written as %XX there: any name fits, and no two look the same. Names
 * are added as objects, never as OpenSSL's configuration text, in which a comma would begin another
 * name.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/x509v3.h>

#include "tls/pki_internal.h"

#define PREFIX_SERVER "shunt:server:"
#define PREFIX_NODE "shunt:node:"

/* ---- writing ---- */

static bool is_plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("._-", c));
}

static void name_quote(const char *name, struct strbuf *out)
{
	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		if (is_plain(*p))
			strbuf_add(out, (const char *)p, 1);
		else
			strbuf_printf(out, "%%%02X", *p);
}

static void names_push(GENERAL_NAMES *all, int type, ASN1_STRING *value)
{
	GENERAL_NAME *name = GENERAL_NAME_new();

	if (!name || !value)
		abort();
	GENERAL_NAME_set0_value(name, type, value);
	if (!sk_GENERAL_NAME_push(all, name))
		abort();
}

static ASN1_STRING *string_new(int type, const void *bytes, size_t n)
{
	ASN1_STRING *s = ASN1_STRING_type_new(type);

	if (!s || !ASN1_STRING_set(s, bytes, (int)n))
		abort();
	return s;
}

static int role_push(GENERAL_NAMES *all, const struct cert_names *who, struct err *err)
{
	struct strbuf uri = {0};

	if (who->role != CERT_SERVER && who->role != CERT_NODE)
		return err_set(err, -EINVAL, "a certificate is for the server or for a node");
	if (!who->name[0] || !memchr(who->name, '\0', sizeof who->name))
		return err_set(err, -EINVAL, "a certificate needs a name of 1 to %zu bytes", sizeof who->name - 1);
	strbuf_puts(&uri, who->role == CERT_SERVER ? PREFIX_SERVER : PREFIX_NODE);
	name_quote(who->name, &uri);
	if (who->role == CERT_NODE)
		strbuf_printf(&uri, ":%llu", (unsigned long long)who->join);
	names_push(all, GEN_URI, string_new(V_ASN1_IA5STRING, uri.text, uri.n));
	strbuf_fini(&uri);
	return 0;
}

static int host_push(GENERAL_NAMES *all, const char *host, size_t n, struct err *err)
{
	unsigned char address[16];
	char text[256];

	if (n >= sizeof text)
		return err_set(err, -EINVAL, "%.60s...: this is too long for the name of a host", host);
	memcpy(text, host, n);
	text[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (!is_plain((unsigned char)text[i]) && text[i] != ':')
			return err_set(
				err, -EINVAL,
				"%.100s: the name of a host has letters, digits, '.', '_' and '-' only, an address also ':'",
				text);
	if (inet_pton(AF_INET, text, address) == 1)
		names_push(all, GEN_IPADD, string_new(V_ASN1_OCTET_STRING, address, 4));
	else if (inet_pton(AF_INET6, text, address) == 1)
		names_push(all, GEN_IPADD, string_new(V_ASN1_OCTET_STRING, address, 16));
	else if (!strchr(text, ':'))
		names_push(all, GEN_DNS, string_new(V_ASN1_IA5STRING, text, n));
	else
		return err_set(err, -EINVAL, "%.100s is neither the name of a host nor an address (without a port)",
			       text);
	return 0;
}

int cert_names_add(X509 *cert, const struct cert_names *who, const char *hosts, struct err *err)
{
	GENERAL_NAMES *all = GENERAL_NAMES_new();
	int rc = all ? role_push(all, who, err) : -ENOMEM;

	for (const char *p = hosts ? hosts : ""; rc == 0 && *(p += strspn(p, " ")); p += strcspn(p, " "))
		rc = host_push(all, p, strcspn(p, " "), err);
	if (rc == 0 && X509_add1_ext_i2d(cert, NID_subject_alt_name, all, 0, X509V3_ADD_DEFAULT) != 1)
		rc = err_set(err, -EINVAL, "the names can't be put into the certificate");
	GENERAL_NAMES_free(all);
	return rc;
}

/* ---- reading ---- */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes a name exactly as name_quote() writes it; returns false for anything else. */
static bool name_unquote(const char *s, size_t n, char *to, size_t size)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		int c = (unsigned char)s[i];
		if (c == '%') {
			int high = i + 2 < n ? hex_digit(s[i + 1]) : -1, low = i + 2 < n ? hex_digit(s[i + 2]) : -1;
			c = high < 0 || low < 0 ? 0 : high * 16 + low;
			if (c == 0 || is_plain((unsigned char)c))
				return false;
			i += 2;
		} else if (!is_plain((unsigned char)c))
			return false;
		if (k + 1 >= size)
			return false;
		to[k++] = (char)c;
	}
	to[k] = '\0';
	return k > 0;
}

static bool join_read(const char *s, size_t n, uint64_t *ret)
{
	uint64_t join = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t digit = (uint64_t)(s[i] - '0');
		if (s[i] < '0' || s[i] > '9' || join > (UINT64_MAX - digit) / 10)
			return false;
		join = join * 10 + digit;
	}
	*ret = join;
	return n > 0;
}

static bool uri_read(const char *s, size_t n, struct cert_names *ret)
{
	const size_t server = strlen(PREFIX_SERVER), node = strlen(PREFIX_NODE);

	if (n > server && memcmp(s, PREFIX_SERVER, server) == 0) {
		ret->role = CERT_SERVER;
		return name_unquote(s + server, n - server, ret->name, sizeof ret->name);
	}
	if (n <= node || memcmp(s, PREFIX_NODE, node) != 0)
		return false;
	const char *colon = memchr(s + node, ':', n - node);
	if (!colon)
		return false;
	ret->role = CERT_NODE;
	return name_unquote(s + node, (size_t)(colon - s) - node, ret->name, sizeof ret->name) &&
	       join_read(colon + 1, (size_t)(s + n - colon - 1), &ret->join);
}

void cert_names_get(X509 *cert, struct cert_names *ret)
{
	GENERAL_NAMES *all = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
	struct cert_names found = {0};
	int ours = 0;
	bool good = false;

	for (int i = 0; i < sk_GENERAL_NAME_num(all); i++) {
		int type;
		const ASN1_STRING *value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(all, i), &type);
		if (type != GEN_URI)
			continue;
		const char *text = (const char *)ASN1_STRING_get0_data(value);
		size_t n = (size_t)ASN1_STRING_length(value);
		if (n < strlen("shunt:") || memcmp(text, "shunt:", strlen("shunt:")) != 0)
			continue;
		ours++;
		good = uri_read(text, n, &found);
	}
	GENERAL_NAMES_free(all);
	memset(ret, 0, sizeof *ret);
	if (ours == 1 && good)
		*ret = found;
}
