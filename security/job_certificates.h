// Writes and checks the folder with a job's certificates (security.directory).
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

// The files of one process.
struct CertificatePaths {
  std::string authority;    // ca.pem
  std::string certificate;  // worker-3.pem
  std::string key;          // worker-3.key
};

CertificatePaths CertificatePathsOf(const std::string& directory,
                                    const Identity& identity);

// Reads the three files and checks them (CheckPrivateKeyFile,
// CheckCertificate). Errors name the file: those of these functions and of
// ReadFile.
absl::Status CheckCertificateFiles(const CertificatePaths& paths,
                                   const Identity& identity, absl::Time now);

// Creates the folder, which only this user can read, with an authority (ca.pem,
// ca.key) and the certificates and keys of all servers and workers. Keeps an
// existing authority and existing keys, so that running processes accept a
// renewed certificate at once. Returns whether a new authority was created.
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

// Creates certificates in `directory` for processes that one program starts on
// this machine for a while, with mode MUTUAL_TLS and no security.directory,
// which it sets.
absl::Status MakeOwnCertificates(const std::string& directory,
                                 JobConfig* config);

}  // namespace ps

#endif  // SECURITY_JOB_CERTIFICATES_H_
