// Converts the identities of processes to and from their form in certificates.
#ifndef SECURITY_IDENTITY_H_
#define SECURITY_IDENTITY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

enum class Role { kServer, kWorker };

// The identity of one process of a job.
struct Identity {
  std::string job;  // JobConfig.name
  Role role = Role::kWorker;
  int number = 0;  // The server's index or the worker's rank.
};

bool operator==(const Identity& a, const Identity& b);

// Returns "worker-3", which also names the process's certificate and key.
std::string ProcessNameOf(const Identity& identity);

// Returns "spiffe://gradsieve/JOB/worker/3", the only URI among the subject
// alternative names of the process's certificate. It is a SPIFFE ID, of the
// trust domain "gradsieve" (github.com/spiffe/spiffe, SPIFFE-ID.md).
std::string UriOf(const Identity& identity);

// Parses a URI. Errors: kInvalidArgument for all that UriOf does not return.
absl::StatusOr<Identity> ParseIdentityUri(absl::string_view uri);

}  // namespace ps

#endif  // SECURITY_IDENTITY_H_
