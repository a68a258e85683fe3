/*
 * pki.c - creates, signs and reads keys and certificates.
 *
 * EC P-256 and SHA-256 throughout. The issuer decides everything in a certificate: only the key of
 * a request is used, after the request's signature has proved that the sender owns that key.
 */
#include "tls/pki.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "base/base64.h"
#include "tls/pki_internal.h"

#define DAY INT64_C(86400)
#define AUTHORITY_LIFE (30 * 365 * DAY)
#define TEXT_MAX 65536 /* maximum bytes of a key, a request or a certificate */

/* ---- OpenSSL helpers ---- */

static int openssl_failed(struct err *err, int code, const char *what)
{
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());

	err_set(err, code, "%s: %s", what, reason ? reason : "unknown reason");
	ERR_clear_error();
	return code;
}

/* Refuses encrypted keys: without a callback OpenSSL asks for a passphrase on the terminal. */
static int no_passphrase(char *buf, int size, int rwflag, void *context)
{
	return -1;
}

static BIO *bio_of(const char *text, size_t n)
{
	BIO *bio = n <= TEXT_MAX ? BIO_new_mem_buf(text, (int)n) : NULL;

	ERR_clear_error();
	return bio;
}

/* Moves the text of a memory BIO to `out` and frees the BIO. */
static void bio_take(BIO *bio, struct strbuf *out)
{
	char *text;
	long n = BIO_get_mem_data(bio, &text);

	strbuf_add(out, text, (size_t)n);
	BIO_free(bio);
}

int cert_read(const char *text, const char *what, X509 **ret, struct err *err)
{
	BIO *bio = bio_of(text, strlen(text));
	X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, no_passphrase, NULL) : NULL;

	BIO_free(bio);
	ERR_clear_error();
	if (!cert)
		return err_set(err, -EINVAL, "%s can't be read: it is not a certificate in PEM format", what);
	*ret = cert;
	return 0;
}

int key_read(const char *text, const char *what, EVP_PKEY **ret, struct err *err)
{
	BIO *bio = bio_of(text, strlen(text));
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL) : NULL;

	BIO_free(bio);
	ERR_clear_error();
	if (!key)
		return err_set(err, -EINVAL,
			       "%s can't be read: it is not a private key in PEM format without a passphrase", what);
	*ret = key;
	return 0;
}

void cert_write(X509 *cert, struct strbuf *out)
{
	BIO *bio = BIO_new(BIO_s_mem());

	if (!bio || PEM_write_bio_X509(bio, cert) != 1)
		abort();
	bio_take(bio, out);
}

/* ---- keys and requests ---- */

static int key_write(EVP_PKEY *key, struct strbuf *out, struct err *err)
{
	BIO *bio = BIO_new(BIO_s_mem());

	if (!bio || PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1) {
		BIO_free(bio);
		return openssl_failed(err, -EIO, "can't write a key");
	}
	bio_take(bio, out);
	return 0;
}

int pki_key(struct strbuf *ret_key, struct err *err)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	int rc = key ? key_write(key, ret_key, err) : openssl_failed(err, -EIO, "can't make a key");

	EVP_PKEY_free(key);
	return rc;
}

int pki_request(const char *key, struct strbuf *ret_csr, struct err *err)
{
	EVP_PKEY *pkey;
	int rc = key_read(key, "the key", &pkey, err);

	if (rc < 0)
		return rc;
	X509_REQ *request = X509_REQ_new();
	BIO *bio = BIO_new(BIO_s_mem());
	if (!request || !bio || X509_REQ_set_version(request, 0) != 1 || X509_REQ_set_pubkey(request, pkey) != 1 ||
	    X509_REQ_sign(request, pkey, EVP_sha256()) <= 0 || PEM_write_bio_X509_REQ(bio, request) != 1) {
		BIO_free(bio);
		rc = openssl_failed(err, -EINVAL, "can't make a request with this key");
	} else
		bio_take(bio, ret_csr);
	X509_REQ_free(request);
	EVP_PKEY_free(pkey);
	return rc;
}

/* ---- certificates ---- */

/* Sets the common name, which only people read; cut at a character boundary. */
static bool subject_set(X509 *cert, const char *before, const char *name)
{
	char text[65]; /* a common name has at most 64 characters */
	X509_NAME *subject = X509_get_subject_name(cert);
	int n = snprintf(text, sizeof text, "%s%s", before, name);

	if (n >= (int)sizeof text) {
		for (n = sizeof text - 1; n > 1 && ((unsigned char)text[n - 1] & 0xc0) == 0x80;)
			n--;
		text[(unsigned char)text[n - 1] >= 0xc0 ? n - 1 : n] = '\0';
	}
	/* A name that is not UTF-8 is added byte by byte: only the role's URI matters. */
	return X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8, (unsigned char *)text, -1, -1, 0) ==
		       1 ||
	       X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_ASC, (unsigned char *)text, -1, -1, 0) == 1;
}

static bool serial_set(X509 *cert)
{
	unsigned char bytes[16];
	BIGNUM *number = RAND_bytes(bytes, sizeof bytes) == 1 ? BN_bin2bn(bytes, sizeof bytes, NULL) : NULL;
	bool done = number && BN_clear_bit(number, 127) == 1 && BN_set_bit(number, 126) == 1 &&
		    BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)) != NULL;

	BN_free(number);
	return done;
}

static bool extension_add(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;

	X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	bool done = extension && X509_add_ext(cert, extension, -1) == 1;
	X509_EXTENSION_free(extension);
	return done;
}

/* Fills in everything but subject, names and signature. */
static bool cert_fill(X509 *cert, EVP_PKEY *key, int64_t life)
{
	time_t now = time(NULL), until = now + (life < AUTHORITY_LIFE ? life : AUTHORITY_LIFE);

	return X509_set_version(cert, 2) == 1 && serial_set(cert) && X509_set_pubkey(cert, key) == 1 &&
	       ASN1_TIME_set(X509_getm_notBefore(cert), now - DAY) && ASN1_TIME_set(X509_getm_notAfter(cert), until);
}

static bool authority_fill(X509 *cert, EVP_PKEY *key, const char *cluster)
{
	return cert_fill(cert, key, AUTHORITY_LIFE) && subject_set(cert, "Shunt cluster ", cluster) &&
	       X509_set_issuer_name(cert, X509_get_subject_name(cert)) == 1 &&
	       extension_add(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
	       extension_add(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign") &&
	       extension_add(cert, cert, NID_subject_key_identifier, "hash") && X509_sign(cert, key, EVP_sha256()) > 0;
}

int pki_authority(const char *cluster, struct strbuf *ret_key, struct strbuf *ret_cert, struct err *err)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = X509_new();
	int rc = 0;

	if (!key || !cert || !authority_fill(cert, key, cluster))
		rc = openssl_failed(err, -EIO, "can't make the cluster's authority");
	if (rc == 0)
		rc = key_write(key, ret_key, err);
	if (rc == 0)
		cert_write(cert, ret_cert);
	X509_free(cert);
	EVP_PKEY_free(key);
	return rc;
}

/* Returns the key of an untrusted request. */
static int request_key(const char *csr, size_t n, EVP_PKEY **ret, struct err *err)
{
	char group[32] = "";
	BIO *bio = bio_of(csr, n);
	X509_REQ *request = bio ? PEM_read_bio_X509_REQ(bio, NULL, no_passphrase, NULL) : NULL;
	EVP_PKEY *key = request ? X509_REQ_get0_pubkey(request) : NULL;
	int rc = 0;

	if (!request)
		rc = err_set(err, -EINVAL, "this is no request for a certificate (PEM text, at most %d bytes)",
			     TEXT_MAX);
	else if (!key || !EVP_PKEY_is_a(key, "EC") || EVP_PKEY_get_group_name(key, group, sizeof group, NULL) != 1 ||
		 strcmp(group, SN_X9_62_prime256v1) != 0)
		rc = err_set(err, -EINVAL, "the key of the request for a certificate is not of the kind EC P-256");
	else if (X509_REQ_verify(request, key) != 1)
		rc = err_set(err, -EINVAL, "the request for a certificate is not signed with the key in it");
	if (rc == 0) {
		EVP_PKEY_up_ref(key);
		*ret = key;
	}
	X509_REQ_free(request);
	BIO_free(bio);
	ERR_clear_error();
	return rc;
}

static int cert_issue(X509 *authority, EVP_PKEY *authority_key, EVP_PKEY *key, const struct cert_names *who,
		      const char *hosts, int64_t life, struct strbuf *out, struct err *err)
{
	X509 *cert = X509_new();
	int rc =
		cert ? cert_names_add(cert, who, hosts, err) : openssl_failed(err, -ENOMEM, "can't make a certificate");

	if (rc == 0 && (!cert_fill(cert, key, life) || !subject_set(cert, "", who->name) ||
			X509_set_issuer_name(cert, X509_get_subject_name(authority)) != 1 ||
			!extension_add(cert, authority, NID_basic_constraints, "critical,CA:FALSE") ||
			!extension_add(cert, authority, NID_key_usage, "critical,digitalSignature") ||
			!extension_add(cert, authority, NID_ext_key_usage, "serverAuth,clientAuth") ||
			!extension_add(cert, authority, NID_subject_key_identifier, "hash") ||
			!extension_add(cert, authority, NID_authority_key_identifier, "keyid:always")))
		rc = openssl_failed(err, -EIO, "can't make a certificate");
	if (rc == 0 && X509_sign(cert, authority_key, EVP_sha256()) <= 0)
		rc = openssl_failed(err, -EIO, "can't sign a certificate");
	if (rc == 0)
		cert_write(cert, out);
	X509_free(cert);
	return rc;
}

int pki_issue(const char *authority_key, const char *authority_cert, const char *csr, size_t n,
	      const struct cert_names *who, const char *hosts, int64_t life, struct strbuf *ret_cert, struct err *err)
{
	EVP_PKEY *signer = NULL, *key = NULL;
	X509 *authority = NULL;
	int rc = key_read(authority_key, "the authority's key", &signer, err);

	if (rc == 0)
		rc = cert_read(authority_cert, "the authority's certificate", &authority, err);
	if (rc == 0 && X509_check_private_key(authority, signer) != 1)
		rc = openssl_failed(err, -EINVAL, "the authority's key and certificate don't belong together");
	if (rc == 0)
		rc = request_key(csr, n, &key, err);
	if (rc == 0)
		rc = cert_issue(authority, signer, key, who, hosts, life, ret_cert, err);
	EVP_PKEY_free(key);
	EVP_PKEY_free(signer);
	X509_free(authority);
	return rc;
}

/* ---- reading certificates ---- */

void cert_fingerprint(X509 *cert, char ret[FINGERPRINT_SIZE])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (X509_digest(cert, EVP_sha256(), digest, &n) != 1 || n != 32)
		abort();
	hex_encode(digest, n, ret);
}

int64_t cert_time(const ASN1_TIME *t)
{
	struct tm tm;

	return ASN1_TIME_to_tm(t, &tm) == 1 ? (int64_t)timegm(&tm) : INT64_MIN;
}

int pki_names(const char *cert, struct cert_names *ret, struct err *err)
{
	X509 *x;
	int rc = cert_read(cert, "the certificate", &x, err);

	if (rc < 0)
		return rc;
	cert_names_get(x, ret);
	ERR_clear_error();
	X509_free(x);
	return 0;
}

int pki_fingerprint(const char *cert, char ret[FINGERPRINT_SIZE], struct err *err)
{
	X509 *x;
	int rc = cert_read(cert, "the certificate", &x, err);

	if (rc < 0)
		return rc;
	cert_fingerprint(x, ret);
	X509_free(x);
	return 0;
}

int pki_validity(const char *cert, int64_t *ret_from, int64_t *ret_until, struct err *err)
{
	X509 *x;
	int rc = cert_read(cert, "the certificate", &x, err);

	if (rc < 0)
		return rc;
	int64_t from = cert_time(X509_get0_notBefore(x)), until = cert_time(X509_get0_notAfter(x));
	X509_free(x);
	ERR_clear_error();
	if (from == INT64_MIN || until == INT64_MIN)
		return err_set(err, -EINVAL, "the certificate does not say how long it is valid");
	*ret_from = from;
	*ret_until = until;
	return 0;
}
