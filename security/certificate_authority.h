// Creates the certificates of a job's processes.
#ifndef SECURITY_CERTIFICATE_AUTHORITY_H_
#define SECURITY_CERTIFICATE_AUTHORITY_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "security/identity.h"

namespace ps {

// A key and its certificate as PEM. Keys are ECDSA P-256; certificates are
// X.509 v3, signed with SHA-256.
struct KeyAndCertificate {
  std::string key;
  std::string certificate;
};

// The period in which certificates are valid.
struct Validity {
  absl::Time begin;
  absl::Time end;
};

// An authority that signs only the certificates of processes, not other
// authorities'. Thread-safe. Errors of all functions: kInvalidArgument for
// invalid PEM texts; kInternal for OpenSSL's own.
class CertificateAuthority {
 public:
  static absl::StatusOr<CertificateAuthority> Create(const Validity& validity);
  explicit CertificateAuthority(KeyAndCertificate own) : own_(std::move(own)) {}

  // Issues the certificate of one process for `key`, a new one if it is empty.
  // The subject's common name is for people; only the URI among the alternative
  // names counts (UriOf).
  absl::StatusOr<KeyAndCertificate> Issue(const Identity& identity,
                                          const Validity& validity,
                                          const std::string& key = "") const;

  const KeyAndCertificate& own() const { return own_; }

 private:
  KeyAndCertificate own_;
};

// Checks that a process with this certificate, key and authority can be
// `identity` now. Errors: kInvalidArgument for texts that are not PEM;
// kFailedPrecondition if the key is not the certificate's, if the authority did
// not sign it, if it names another identity, or if it is not valid yet or has
// expired.
absl::Status CheckCertificate(const KeyAndCertificate& mine,
                              const std::string& authority,
                              const Identity& identity, absl::Time now);

}  // namespace ps

#endif  // SECURITY_CERTIFICATE_AUTHORITY_H_
