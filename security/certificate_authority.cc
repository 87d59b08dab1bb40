#include "security/certificate_authority.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "openssl/bio.h"
#include "openssl/bn.h"
#include "openssl/err.h"
#include "openssl/evp.h"
#include "openssl/pem.h"
#include "openssl/x509.h"
#include "openssl/x509v3.h"

namespace ps {
namespace {

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
void FreeNames(GENERAL_NAMES* names) { GENERAL_NAMES_free(names); }

using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>>;
using Buffer = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;
using Store = std::unique_ptr<X509_STORE, Freed<X509_STORE_free>>;
using StoreContext =
    std::unique_ptr<X509_STORE_CTX, Freed<X509_STORE_CTX_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, Freed<FreeNames>>;

// Numbers of certificates must be positive and have at most 20 bytes (RFC 5280,
// 4.1.2.2).
constexpr int kSerialBits = 127;

absl::Status Internal(const char* what) {
  char text[256];
  ERR_error_string_n(ERR_get_error(), text, sizeof(text));
  ERR_clear_error();
  return absl::InternalError(absl::StrCat("OpenSSL cannot ", what, ": ", text));
}

// Parses PEM. A text that is not PEM leaves errors in OpenSSL's queue, which
// must be cleared.
template <typename Object>
absl::StatusOr<Object> Parsed(Object object, const char* what) {
  ERR_clear_error();
  if (object != nullptr) return object;
  return absl::InvalidArgumentError(absl::StrCat("not ", what, " in PEM"));
}

Buffer Reader(const std::string& text) {
  return Buffer(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Returns an error instead of asking for a passphrase.
int NoPassphrase(char*, int, int, void*) { return -1; }

absl::StatusOr<Key> ReadKey(const std::string& text) {
  return Parsed(Key(PEM_read_bio_PrivateKey(Reader(text).get(), nullptr,
                                            NoPassphrase, nullptr)),
                "a private key without passphrase");
}

absl::StatusOr<Certificate> ReadCertificate(const std::string& text) {
  return Parsed(Certificate(PEM_read_bio_X509(Reader(text).get(), nullptr,
                                              NoPassphrase, nullptr)),
                "a certificate");
}

std::string Written(BIO* buffer) {
  char* bytes = nullptr;
  const auto size = BIO_get_mem_data(buffer, &bytes);
  return std::string(bytes, static_cast<size_t>(size));
}

absl::StatusOr<std::string> Write(EVP_PKEY* key) {
  const Buffer buffer(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PKCS8PrivateKey(buffer.get(), key, nullptr, nullptr, 0,
                                    nullptr, nullptr) != 1) {
    return Internal("write a key");
  }
  return Written(buffer.get());
}

absl::StatusOr<std::string> Write(X509* certificate) {
  const Buffer buffer(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(buffer.get(), certificate) != 1) {
    return Internal("write a certificate");
  }
  return Written(buffer.get());
}

absl::StatusOr<Key> NewKey() {
  Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return Internal("make a key");
  return key;
}

struct Request {
  std::string common_name;
  // The types of extensions, as in x509v3_config(5), and their values.
  std::vector<std::pair<int, std::string>> extensions;
  Validity validity;
};

// Signs a certificate. issuer: null if the certificate is its own.
absl::StatusOr<Certificate> Sign(const Request& request, EVP_PKEY* key,
                                 X509* issuer, EVP_PKEY* issuer_key) {
  Certificate certificate(X509_new());
  if (issuer == nullptr) issuer = certificate.get();
  const Number serial(BN_new());
  X509_NAME* const subject = X509_get_subject_name(certificate.get());
  const bool filled =
      X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
      BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) ==
          1 &&
      BN_to_ASN1_INTEGER(serial.get(),
                         X509_get_serialNumber(certificate.get())) != nullptr &&
      ASN1_TIME_set(X509_getm_notBefore(certificate.get()),
                    absl::ToTimeT(request.validity.begin)) != nullptr &&
      ASN1_TIME_set(X509_getm_notAfter(certificate.get()),
                    absl::ToTimeT(request.validity.end)) != nullptr &&
      X509_set_pubkey(certificate.get(), key) == 1 &&
      X509_NAME_add_entry_by_txt(
          subject, "CN", MBSTRING_UTF8,
          reinterpret_cast<const unsigned char*>(request.common_name.data()),
          static_cast<int>(request.common_name.size()), -1, 0) == 1 &&
      X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer)) ==
          1;
  if (!filled) return Internal("fill in a certificate");
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate.get(), nullptr, nullptr, 0);
  for (const auto& [name, value] : request.extensions) {
    const Extension extension(
        X509V3_EXT_conf_nid(nullptr, &context, name, value.c_str()));
    if (extension == nullptr ||
        X509_add_ext(certificate.get(), extension.get(), -1) != 1) {
      return Internal("add an extension to a certificate");
    }
  }
  if (X509_sign(certificate.get(), issuer_key, EVP_sha256()) == 0) {
    return Internal("sign a certificate");
  }
  return certificate;
}

std::vector<std::string> UrisIn(X509* certificate) {
  const Names names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> uris;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const ASN1_STRING* const uri = name->d.uniformResourceIdentifier;
    uris.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                      ASN1_STRING_length(uri));
  }
  return uris;
}

std::string Describe(const ASN1_TIME* time) {
  tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "an unknown time";
  return absl::FormatTime(absl::FromTM(parts, absl::UTCTimeZone()),
                          absl::UTCTimeZone());
}

absl::Status CheckTime(X509* certificate, absl::Time now) {
  const ASN1_TIME* const begin = X509_get0_notBefore(certificate);
  const ASN1_TIME* const end = X509_get0_notAfter(certificate);
  if (ASN1_TIME_cmp_time_t(begin, absl::ToTimeT(now)) > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the certificate is not valid before ", Describe(begin)));
  }
  if (ASN1_TIME_cmp_time_t(end, absl::ToTimeT(now)) < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the certificate expired on ", Describe(end)));
  }
  return absl::OkStatus();
}

absl::Status CheckSigned(X509* certificate, X509* authority) {
  const Store store(X509_STORE_new());
  const StoreContext context(X509_STORE_CTX_new());
  if (X509_STORE_add_cert(store.get(), authority) != 1 ||
      X509_STORE_CTX_init(context.get(), store.get(), certificate, nullptr) !=
          1) {
    return Internal("prepare a verification");
  }
  // Times are checked separately.
  X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(context.get()),
                              X509_V_FLAG_NO_CHECK_TIME);
  if (X509_verify_cert(context.get()) == 1) return absl::OkStatus();
  const int error = X509_STORE_CTX_get_error(context.get());
  ERR_clear_error();
  return absl::FailedPreconditionError(
      absl::StrCat("the authority did not sign the certificate (",
                   X509_verify_cert_error_string(error), ")"));
}

}  // namespace

absl::StatusOr<CertificateAuthority> CertificateAuthority::Create(
    const Validity& validity) {
  Request request;
  request.common_name = "Gradsieve job authority";
  request.extensions = {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                        {NID_key_usage, "critical,keyCertSign,cRLSign"},
                        {NID_subject_key_identifier, "hash"}};
  request.validity = validity;
  PS_ASSIGN_OR_RETURN(const Key key, NewKey());
  PS_ASSIGN_OR_RETURN(const Certificate certificate,
                      Sign(request, key.get(), nullptr, key.get()));
  KeyAndCertificate own;
  PS_ASSIGN_OR_RETURN(own.key, Write(key.get()));
  PS_ASSIGN_OR_RETURN(own.certificate, Write(certificate.get()));
  return CertificateAuthority(std::move(own));
}

absl::StatusOr<KeyAndCertificate> CertificateAuthority::Issue(
    const Identity& identity, const Validity& validity,
    const std::string& key_text) const {
  PS_ASSIGN_OR_RETURN(const Certificate issuer,
                      ReadCertificate(own_.certificate));
  PS_ASSIGN_OR_RETURN(const Key issuer_key, ReadKey(own_.key));
  PS_ASSIGN_OR_RETURN(const Key key,
                      key_text.empty() ? NewKey() : ReadKey(key_text));
  Request request;
  request.common_name = ProcessNameOf(identity);
  request.extensions = {
      {NID_basic_constraints, "critical,CA:FALSE"},
      {NID_key_usage, "critical,digitalSignature"},
      {NID_ext_key_usage, "serverAuth,clientAuth"},
      {NID_subject_alt_name, absl::StrCat("URI:", UriOf(identity))},
      {NID_subject_key_identifier, "hash"},
      {NID_authority_key_identifier, "keyid"}};
  request.validity = validity;
  PS_ASSIGN_OR_RETURN(const Certificate certificate,
                      Sign(request, key.get(), issuer.get(), issuer_key.get()));
  KeyAndCertificate issued;
  PS_ASSIGN_OR_RETURN(issued.key, Write(key.get()));
  PS_ASSIGN_OR_RETURN(issued.certificate, Write(certificate.get()));
  return issued;
}

absl::Status CheckCertificate(const KeyAndCertificate& mine,
                              const std::string& authority,
                              const Identity& identity, absl::Time now) {
  absl::StatusOr<Certificate> certificate = ReadCertificate(mine.certificate);
  PS_RETURN_IF_ERROR(Annotate(certificate.status(), "the certificate"));
  absl::StatusOr<Key> key = ReadKey(mine.key);
  PS_RETURN_IF_ERROR(Annotate(key.status(), "the key"));
  absl::StatusOr<Certificate> signer = ReadCertificate(authority);
  PS_RETURN_IF_ERROR(Annotate(signer.status(), "the authority"));
  const bool belongs = X509_check_private_key(certificate->get(), key->get());
  ERR_clear_error();
  if (!belongs) {
    return absl::FailedPreconditionError("the key is not the certificate's");
  }
  PS_RETURN_IF_ERROR(CheckSigned(certificate->get(), signer->get()));
  const std::vector<std::string> uris = UrisIn(certificate->get());
  if (uris.size() != 1 || uris[0] != UriOf(identity)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the certificate is that of \"", absl::StrJoin(uris, ", "),
                     "\" and not of ", UriOf(identity)));
  }
  return CheckTime(certificate->get(), now);
}

}  // namespace ps
