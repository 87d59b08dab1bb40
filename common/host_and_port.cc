#include "common/host_and_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstddef>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace ps {
namespace {

constexpr absl::string_view kUnix = "unix:";
// sockaddr_un has one byte more, for the final NUL.
constexpr size_t kMaxPathBytes = 107;

// Whether all characters are letters, digits or among `others`.
bool HasOnly(absl::string_view text, absl::string_view others) {
  return !text.empty() && absl::c_all_of(text, [others](char c) {
    return absl::ascii_isalnum(c) || absl::StrContains(others, c);
  });
}

bool IsNumber(absl::string_view text) {
  return !text.empty() && absl::c_all_of(text, absl::ascii_isdigit);
}

bool IsIpv4(const std::string& host) {
  in_addr number = {};
  return inet_pton(AF_INET, host.c_str(), &number) == 1;
}

// Whether it is an IPv6 address, with a zone as in "fe80::1%eth0" or without.
bool IsIpv6(const std::string& host) {
  const size_t percent = host.find('%');
  in6_addr number = {};
  return inet_pton(AF_INET6, host.substr(0, percent).c_str(), &number) == 1 &&
         (percent == std::string::npos ||
          HasOnly(host.substr(percent + 1), "._-"));
}

// Whether it is a name, and not a form of IPv4 address that some programs read,
// such as "127.1", "2130706433" and "0x7f.1".
bool IsName(const std::string& host) {
  const absl::string_view last =
      absl::string_view(host).substr(host.rfind('.') + 1);
  return HasOnly(host, "._-") && host.front() != '-' && !IsNumber(last) &&
         !absl::StartsWithIgnoreCase(last, "0x");
}

}  // namespace

std::optional<HostAndPort> ParseHostAndPort(absl::string_view address) {
  constexpr size_t kMaxDigits = 5;
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos) return std::nullopt;
  const absl::string_view port = address.substr(colon + 1);
  HostAndPort parts;
  if (!IsNumber(port) || port.size() > kMaxDigits ||
      !absl::SimpleAtoi(port, &parts.port) || parts.port > 65535) {
    return std::nullopt;
  }
  parts.host = std::string(address.substr(0, colon));
  if (IsIpv4(parts.host) || IsName(parts.host)) return parts;
  absl::string_view host = parts.host;
  if (!absl::ConsumePrefix(&host, "[") || !absl::ConsumeSuffix(&host, "]")) {
    return std::nullopt;
  }
  parts.host = std::string(host);
  if (!IsIpv6(parts.host)) return std::nullopt;
  return parts;
}

bool IsHostAndPort(absl::string_view address) {
  return ParseHostAndPort(address).has_value();
}

std::string WithOwnHost(const std::string& address) {
  return IsNumber(address) ? "127.0.0.1:" + address : address;
}

std::string AddressOfNumber(const std::string& first, int number) {
  const std::string address = WithOwnHost(first);
  const std::optional<HostAndPort> parts = ParseHostAndPort(address);
  if (!parts.has_value() || parts->port == 0) return address;
  return absl::StrCat(address.substr(0, address.rfind(':') + 1),
                      parts->port + number);
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
