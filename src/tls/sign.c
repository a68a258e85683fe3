/*
 * sign.c - signs texts with a key, and verifies them with its certificate: tickets of the cluster's
 * authority.
 *
 * The signed text begins with a word of its own, so that a text's signature is never valid for a
 * certificate.
 */
#include <errno.h>

#include <openssl/err.h>

#include "base/base64.h"
#include "tls/pki_internal.h"

#define WORD "shunt text\n"
#define SIGNATURE_MAX 256 /* bytes; a P-256 signature has at most 72 */

int pki_sign(const char *key, const char *text, size_t n, struct strbuf *ret, struct err *err)
{
	unsigned char signature[SIGNATURE_MAX];
	size_t size = sizeof signature;
	EVP_PKEY *pkey;
	int rc = key_read(key, "the key", &pkey, err);

	if (rc < 0)
		return rc;
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	if (c && EVP_DigestSignInit(c, NULL, EVP_sha256(), NULL, pkey) == 1 &&
	    EVP_DigestSignUpdate(c, WORD, sizeof WORD - 1) == 1 && EVP_DigestSignUpdate(c, text, n) == 1 &&
	    EVP_DigestSignFinal(c, signature, &size) == 1)
		base64_encode(signature, size, ret);
	else
		rc = err_set(err, -EIO, "a text can't be signed with this key");
	ERR_clear_error();
	EVP_MD_CTX_free(c);
	EVP_PKEY_free(pkey);
	return rc;
}

int pki_verify(const char *cert, const char *text, size_t n, const char *signature, size_t nsignature, struct err *err)
{
	struct strbuf bytes = {0};
	X509 *x;
	int rc = cert_read(cert, "the certificate", &x, err);

	if (rc < 0)
		return rc;
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	if (nsignature > 2 * SIGNATURE_MAX || base64_decode(signature, nsignature, &bytes) < 0 || !c ||
	    EVP_DigestVerifyInit(c, NULL, EVP_sha256(), NULL, X509_get0_pubkey(x)) != 1 ||
	    EVP_DigestVerifyUpdate(c, WORD, sizeof WORD - 1) != 1 || EVP_DigestVerifyUpdate(c, text, n) != 1 ||
	    EVP_DigestVerifyFinal(c, (const unsigned char *)strbuf_text(&bytes), bytes.n) != 1)
		rc = err_set(err, -EKEYREJECTED, "it is not signed with the key of that certificate");
	ERR_clear_error();
	EVP_MD_CTX_free(c);
	X509_free(x);
	strbuf_fini(&bytes);
	return rc;
}

int pki_issued(const char *authority_cert, const char *cert, struct err *err)
{
	X509 *authority, *x = NULL;
	int rc = cert_read(authority_cert, "the authority's certificate", &authority, err);

	if (rc < 0)
		return rc;
	rc = cert_read(cert, "the certificate", &x, err);
	if (rc == 0 && X509_verify(x, X509_get0_pubkey(authority)) != 1)
		rc = err_set(err, -EKEYREJECTED, "the certificate is not signed by this cluster's authority");
	ERR_clear_error();
	X509_free(authority);
	X509_free(x);
	return rc;
}
