#include "security/credentials.h"

#include <functional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/host_and_port.h"
#include "common/status_macros.h"
#include "glog/logging.h"
#include "grpc/grpc_security_constants.h"
#include "grpcpp/security/auth_context.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_certificate_verifier.h"
#include "grpcpp/security/tls_credentials_options.h"
#include "security/job_certificates.h"
#include "security/private_files.h"

namespace ps {
namespace {

using ::grpc::experimental::ExternalCertificateVerifier;
using ::grpc::experimental::TlsCustomVerificationCheckRequest;

// Checks the peer's certificate after gRPC has verified its chain and time.
class PeerVerifier final : public ExternalCertificateVerifier {
 public:
  using Accepts = std::function<bool(const Identity&)>;

  PeerVerifier(std::string expected, Accepts accepts)
      : expected_(std::move(expected)), accepts_(std::move(accepts)) {}

  bool Verify(TlsCustomVerificationCheckRequest* request,
              std::function<void(grpc::Status)>,
              grpc::Status* result) override {
    const std::vector<grpc::string_ref> uris = request->uri_names();
    std::string found = absl::StrCat("a peer with ", uris.size(), " URIs");
    if (uris.size() == 1) {
      const absl::StatusOr<Identity> peer =
          ParseIdentityUri({uris[0].data(), uris[0].size()});
      if (peer.ok() && accepts_(*peer)) return true;
      found = peer.ok() ? UriOf(*peer) : std::string(peer.status().message());
    }
    *result =
        grpc::Status(grpc::StatusCode::UNAUTHENTICATED,
                     absl::StrCat("expected ", expected_, ", found ", found));
    // true says that the decision is made now.
    return true;
  }

  void Cancel(TlsCustomVerificationCheckRequest*) override {}

 private:
  const std::string expected_;
  const Accepts accepts_;
};

template <typename Options>
Options OptionsWith(
    const std::shared_ptr<grpc::experimental::CertificateProviderInterface>&
        certificates,
    Options options, const std::string& expected,
    PeerVerifier::Accepts accepts) {
  options.set_certificate_provider(certificates);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_certificate_verifier(
      ExternalCertificateVerifier::Create<PeerVerifier>(expected,
                                                        std::move(accepts)));
  // The identities of a job do not name hosts.
  options.set_check_call_host(false);
  return options;
}

absl::Status CheckPlaintext(const SecurityConfig& security,
                            const std::string& address) {
  if (!IsLoopback(address) && !security.insecure_networks()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "security.mode is INSECURE, and other machines reach ", address,
        "; make certificates with `gradsieve certs` and set "
        "security.directory, or set security.insecure_networks if everybody "
        "there may read, change and end the job"));
  }
  return absl::OkStatus();
}

}  // namespace

Credentials::Credentials(const CredentialsOptions& options)
    : config_(*options.config), self_(options.self), listen_(options.listen) {}

absl::StatusOr<std::shared_ptr<const Credentials>> Credentials::Create(
    const CredentialsOptions& options) {
  const SecurityConfig& security = options.config->security();
  const auto& servers = options.config->cluster().servers();
  std::vector<std::string> addresses(servers.begin(), servers.end());
  if (!options.listen.empty()) addresses.push_back(options.listen);
  bool uses_tcp = false;
  for (const std::string& address : addresses) {
    if (IsUnixSocket(address)) {
      PS_RETURN_IF_ERROR(
          CheckPrivateFolder(std::string(FolderOfUnixSocket(address))));
      continue;
    }
    uses_tcp = true;
    if (security.mode() == SecurityConfig::INSECURE) {
      PS_RETURN_IF_ERROR(CheckPlaintext(security, address));
    }
  }
  std::shared_ptr<Credentials> made(new Credentials(options));
  if (!uses_tcp) return made;
  if (security.mode() == SecurityConfig::INSECURE) {
    LOG(WARNING)
        << "security.mode is INSECURE: everybody who reaches a server's "
           "port can read, change and end this job";
    return made;
  }
  if (security.directory().empty()) {
    return absl::InvalidArgumentError(
        "security.directory is empty, and this job uses TCP, where processes "
        "prove who they are with certificates; make them with `gradsieve certs "
        "JOB --output=DIR`, copy each process's to its machine and set "
        "security.directory to their folder");
  }
  const CertificatePaths paths =
      CertificatePathsOf(security.directory(), options.self);
  const absl::Status files =
      CheckCertificateFiles(paths, options.self, absl::Now());
  if (absl::IsNotFound(files)) {
    return absl::NotFoundError(absl::StrCat(
        files.message(),
        "; security.directory must be the folder with the "
        "certificate and key of ",
        ProcessNameOf(options.self),
        ". `gradsieve certs JOB --output=DIR` makes those that are missing in "
        "DIR"));
  }
  if (absl::IsFailedPrecondition(files)) {
    return absl::FailedPreconditionError(absl::StrCat(
        files.message(),
        ". All processes need files that the same `gradsieve certs JOB "
        "--output=DIR` has made"));
  }
  PS_RETURN_IF_ERROR(files);
  made->certificates_ =
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
          paths.key, paths.certificate, paths.authority,
          static_cast<unsigned>(absl::ToInt64Seconds(options.refresh)));
  return made;
}

std::shared_ptr<grpc::ServerCredentials> Credentials::ForListening() const {
  if (certificates_ == nullptr || IsUnixSocket(listen_)) {
    return grpc::InsecureServerCredentials();
  }
  auto options = OptionsWith(
      certificates_,
      grpc::experimental::TlsServerCredentialsOptions(certificates_),
      absl::StrCat("a process of job ", self_.job),
      [job = self_.job](const Identity& peer) { return peer.job == job; });
  options.set_cert_request_type(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return grpc::experimental::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> Credentials::ForServer(
    int index) const {
  if (certificates_ == nullptr ||
      IsUnixSocket(config_.cluster().servers(index))) {
    return grpc::InsecureChannelCredentials();
  }
  const Identity expected = {self_.job, Role::kServer, index};
  auto options = OptionsWith(
      certificates_, grpc::experimental::TlsChannelCredentialsOptions(),
      UriOf(expected),
      [expected](const Identity& peer) { return peer == expected; });
  options.set_verify_server_certs(true);
  return grpc::experimental::TlsCredentials(options);
}

Caller CallerOf(const grpc::CallbackServerContext& context) {
  Caller caller;
  caller.peer = context.peer();
  for (const grpc::string_ref& uri : context.auth_context()->FindPropertyValues(
           GRPC_PEER_SPIFFE_ID_PROPERTY_NAME)) {
    caller.uris.emplace_back(uri.data(), uri.size());
  }
  return caller;
}

absl::Status Credentials::CheckCaller(const Caller& caller, Role role,
                                      int number) const {
  if (certificates_ == nullptr || IsUnixSocket(listen_)) {
    return absl::OkStatus();
  }
  const Identity claimed = {self_.job, role, number};
  const std::vector<std::string>& found = caller.uris;
  const std::string expected = UriOf(claimed);
  if (found.size() == 1 && found[0] == expected) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "the call is that of ", ProcessNameOf(claimed), ", the certificate ",
      found.empty() ? "nobody's"
                    : absl::StrCat("that of ", absl::CHexEscape(found[0]))));
}

}  // namespace ps
