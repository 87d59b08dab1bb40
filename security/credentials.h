// Creates the credentials of a process for connections within its job.
#ifndef SECURITY_CREDENTIALS_H_
#define SECURITY_CREDENTIALS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_context.h"
#include "proto/config.pb.h"
#include "security/identity.h"

namespace ps {

struct CredentialsOptions {
  const JobConfig* config = nullptr;  // Validated; not owned.
  Identity self;
  // The address where the process listens, if it does.
  std::string listen;
  // The interval at which certificates are read again. Whole seconds.
  absl::Duration refresh = absl::Seconds(10);
};

// The identity of a caller, as far as its connection tells.
struct Caller {
  // The peer's name in gRPC: "ipv4:10.0.0.7:4711".
  std::string peer;
  std::vector<std::string> uris;  // The SPIFFE IDs of its certificate.
};

Caller CallerOf(const grpc::CallbackServerContext& context);

// Credentials by the kind of an address and security.mode: the files' owner for
// Unix-domain sockets, mutual TLS or nothing for TCP. Immutable.
class Credentials {
 public:
  // Creates credentials. Logs a warning for plaintext. Errors: kInvalidArgument
  // for a mode INSECURE with an address that other machines reach, unless the
  // config allows that, and for MUTUAL_TLS without security.directory; those of
  // CheckPrivateFolder and CheckCertificateFiles.
  static absl::StatusOr<std::shared_ptr<const Credentials>> Create(
      const CredentialsOptions& options);

  // Returns the credentials for the address where the process listens.
  std::shared_ptr<grpc::ServerCredentials> ForListening() const;
  // Returns the credentials for cluster.servers[index]. With TLS, the handshake
  // fails unless the peer is server `index` of this job.
  std::shared_ptr<grpc::ChannelCredentials> ForServer(int index) const;

  // Checks that the caller is this process of the job. Only TLS identifies
  // callers, so the result is OK without it. Errors: kPermissionDenied, which
  // names both.
  absl::Status CheckCaller(const Caller& caller, Role role, int number) const;

 private:
  explicit Credentials(const CredentialsOptions& options);

  const JobConfig config_;
  const Identity self_;
  const std::string listen_;
  // Null unless TLS is needed.
  std::shared_ptr<grpc::experimental::CertificateProviderInterface>
      certificates_;
};

}  // namespace ps

#endif  // SECURITY_CREDENTIALS_H_
