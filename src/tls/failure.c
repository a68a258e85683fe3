/*
 * failure.c - translates OpenSSL's errors into sentences that a user understands.
 */
#include "tls/failure.h"

#include <errno.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/timetext.h"
#include "tls/pki_internal.h"

/* These are newer than OpenSSL 3.0.2, the oldest supported version (Ubuntu 22.04; 24.04 lacks
 * the last two as well). */
#undef SSL_R_LEGACY_SIGALG_DISALLOWED_OR_UNSUPPORTED
#undef SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL
#undef SSL_R_TLSV1_ALERT_UNKNOWN_PSK_IDENTITY

static int out_of_time(X509_STORE_CTX *store, bool expired, struct err *err)
{
	X509 *cert = X509_STORE_CTX_get_current_cert(store);
	const char *whose = X509_STORE_CTX_get_error_depth(store) > 0 ? "the cluster's authority" : "the other side";
	char text[64] = "?";

	if (cert)
		instant_format(cert_time(expired ? X509_get0_notAfter(cert) : X509_get0_notBefore(cert)), text,
			       sizeof text);
	if (expired)
		return err_set(err, -EKEYEXPIRED,
			       "the certificate of %s has expired (on %s): are the clocks of both hosts right?", whose,
			       text);
	return err_set(err, -EKEYEXPIRED,
		       "the certificate of %s is not valid yet (from %s): are the clocks of both hosts right?", whose,
		       text);
}

int failure_of_chain(X509_STORE_CTX *store, struct err *err)
{
	int error = X509_STORE_CTX_get_error(store);

	switch (error) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
		return out_of_time(store, true, err);
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return out_of_time(store, false, err);
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_CERT_SIGNATURE_FAILURE:
	case X509_V_ERR_CERT_CHAIN_TOO_LONG:
	case X509_V_ERR_AKID_SKID_MISMATCH:
		return err_set(err, -EKEYREJECTED,
			       "the certificate of the other side is not signed by this cluster's authority");
	default:
		return err_set(err, -EKEYREJECTED, "the certificate of the other side is wrong: %s",
			       X509_verify_cert_error_string(error));
	}
}

const char *failure_reason(void)
{
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());

	return reason ? reason : "unknown reason";
}

static int failure_of_reason(int reason, struct err *err)
{
	switch (reason) {
	case SSL_R_UNEXPECTED_EOF_WHILE_READING:
		return err_set(err, -ECONNRESET, "the other side closed the connection");
	case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
		return err_set(
			err, -EKEYEXPIRED,
			"the other side says that our certificate has expired, or is not yet valid: are the clocks of both hosts right?");
	case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
		return err_set(err, -EKEYREJECTED,
			       "the other side says that our certificate is not signed by its cluster's authority");
	case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
		return err_set(err, -EKEYREVOKED,
			       "the other side refuses our certificate: this node was removed from the cluster");
	case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
	case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
	case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
	case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
	case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
	case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
		return err_set(err, -EKEYREJECTED, "the other side refuses our certificate");
	case SSL_R_UNSUPPORTED_PROTOCOL:
	case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
		return err_set(err, -EPROTO, "the other side does not speak TLS 1.3");
	case SSL_AD_REASON_OFFSET + SSL_AD_NO_APPLICATION_PROTOCOL:
	case SSL_R_NO_APPLICATION_PROTOCOL:
		return err_set(err, -EPROTO,
			       "the other side is not Shunt, or another version of it: there is no protocol in common");
	case SSL_R_WRONG_VERSION_NUMBER:
	case SSL_R_HTTP_REQUEST:
	case SSL_R_HTTPS_PROXY_REQUEST:
	case SSL_R_PACKET_LENGTH_TOO_LONG:
	case SSL_R_UNEXPECTED_MESSAGE:
	case SSL_R_BAD_RECORD_TYPE:
		return err_set(err, -EPROTO, "the other side does not speak TLS: is this the right port?");
	default:
		return err_set(err, -EPROTO, "TLS failed: %s", failure_reason());
	}
}

int failure_of_queue(struct err *err)
{
	int rc = failure_of_reason(ERR_GET_REASON(ERR_peek_error()), err);

	ERR_clear_error();
	return rc;
}
