// The folder with a job's certificates (security.directory).
#ifndef SECURITY_JOB_CERTIFICATES_H_
#define SECURITY_JOB_CERTIFICATES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/config.pb.h"
#include "security/certificate_authority.h"
#include "security/identity.h"

namespace ps {

// Where one process finds what it needs.
struct CertificatePaths {
  std::string authority;    // ca.pem
  std::string certificate;  // worker-3.pem
  std::string key;          // worker-3.key
};

CertificatePaths CertificatePathsOf(const std::string& directory,
                                    const Identity& identity);

// Reads the three files and checks them (CheckPrivateKeyFile,
// CheckCertificate). Errors, which name the file: theirs and ReadFile's.
absl::Status CheckCertificateFiles(const CertificatePaths& paths,
                                   const Identity& identity, absl::Time now);

// Makes the folder, which only this user can read, with an authority (ca.pem,
// ca.key) and the certificates and keys of all servers and workers. An
// authority or a key that is there is kept, so that processes which run take up
// a renewed certificate at once. Returns whether a new authority was made.
// Errors: those of the file system, with the path; those of
// CertificateAuthority.
absl::StatusOr<bool> WriteJobCertificates(const JobConfig& config,
                                          const std::string& directory,
                                          const Validity& validity);

// Reads those files and writes secrets.yaml beside them, which only this user
// can read: two Secrets for Kubernetes, "gradsieve-server-certificates" and
// "gradsieve-worker-certificates", each with ca.pem and the certificates and
// keys of all servers or of all workers, but not ca.key. Errors: those of the
// file system, with the path.
absl::Status WriteKubernetesSecrets(const JobConfig& config,
                                    const std::string& directory);

// For processes that one program starts on this machine for a while: with mode
// MUTUAL_TLS and no security.directory, makes certificates in `directory` and
// sets it.
absl::Status MakeOwnCertificates(const std::string& directory,
                                 JobConfig* config);

}  // namespace ps

#endif  // SECURITY_JOB_CERTIFICATES_H_
