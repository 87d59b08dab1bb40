#include "security/identity.h"

#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace ps {
namespace {

constexpr absl::string_view kTrustDomain = "spiffe://gradsieve/";
constexpr size_t kMaxShownBytes = 128;

absl::string_view RoleName(Role role) {
  return role == Role::kServer ? "server" : "worker";
}

}  // namespace

bool operator==(const Identity& a, const Identity& b) {
  return a.job == b.job && a.role == b.role && a.number == b.number;
}

std::string ProcessNameOf(const Identity& identity) {
  return absl::StrCat(RoleName(identity.role), "-", identity.number);
}

std::string UriOf(const Identity& identity) {
  return absl::StrCat(kTrustDomain, identity.job, "/", RoleName(identity.role),
                      "/", identity.number);
}

absl::StatusOr<Identity> ParseIdentityUri(absl::string_view uri) {
  absl::string_view path = uri;
  Identity identity;
  if (absl::ConsumePrefix(&path, kTrustDomain)) {
    const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
    if (parts.size() == 3 && absl::SimpleAtoi(parts[2], &identity.number)) {
      identity.job = std::string(parts[0]);
      identity.role = parts[1] == "server" ? Role::kServer : Role::kWorker;
      // Each identity has one spelling.
      if (!identity.job.empty() && UriOf(identity) == uri) return identity;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", absl::CHexEscape(uri.substr(0, kMaxShownBytes)),
                   "\" is not spiffe://gradsieve/JOB/worker/R or "
                   "spiffe://gradsieve/JOB/server/I"));
}

}  // namespace ps
