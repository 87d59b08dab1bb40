#include "common/host_and_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstddef>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace ps {
namespace {

constexpr absl::string_view kUnix = "unix:";
// A byte less than sockaddr_un has.
constexpr size_t kMaxPathBytes = 107;

}  // namespace

bool IsHostAndPort(absl::string_view address) {
  const size_t colon = address.rfind(':');
  int port = 0;
  return colon != absl::string_view::npos && colon > 0 &&
         absl::SimpleAtoi(address.substr(colon + 1), &port) && port >= 0 &&
         port <= 65535;
}

HostAndPort SplitHostAndPort(absl::string_view address) {
  const size_t colon = address.rfind(':');
  absl::string_view host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  HostAndPort parts;
  parts.host = std::string(host);
  static_cast<void>(absl::SimpleAtoi(address.substr(colon + 1), &parts.port));
  return parts;
}

bool IsLoopback(absl::string_view address) {
  const absl::string_view host = address.substr(0, address.rfind(':'));
  in_addr number = {};
  return host == "localhost" || host == "[::1]" ||
         (inet_pton(AF_INET, std::string(host).c_str(), &number) == 1 &&
          (ntohl(number.s_addr) >> 24) == IN_LOOPBACKNET);
}

bool IsUnixSocket(absl::string_view address) {
  return absl::ConsumePrefix(&address, kUnix) && address.size() > 1 &&
         address.front() == '/' && address.back() != '/' &&
         address.size() <= kMaxPathBytes;
}

bool IsServerAddress(absl::string_view address) {
  return IsUnixSocket(address) || IsHostAndPort(address);
}

absl::string_view FolderOfUnixSocket(absl::string_view address) {
  address.remove_prefix(kUnix.size());
  return address.substr(0, address.rfind('/'));
}

}  // namespace ps
