#include "tools/process/port_range.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/host_and_port.h"

namespace ps {
namespace {

constexpr int kLastPort = 65535;

struct Ports {
  const PortRange* range = nullptr;
  std::string host;
  int first = 0;
  int last = 0;
};

// "--metrics-listen (ports 9090 to 9093)".
std::string Describe(const Ports& ports) {
  return ports.first == ports.last
             ? absl::StrCat(ports.range->option, " (port ", ports.first, ")")
             : absl::StrCat(ports.range->option, " (ports ", ports.first,
                            " to ", ports.last, ")");
}

// A name may stand for any address.
bool MayBeSame(const std::string& a, const std::string& b) {
  const auto is_one = [](const std::string& host) {
    return host.find_first_not_of("0123456789.") == std::string::npos &&
           host != "0.0.0.0";
  };
  return a == b || !is_one(a) || !is_one(b);
}

}  // namespace

absl::Status CheckPortRanges(const std::vector<PortRange>& ranges) {
  std::vector<Ports> all;
  for (const PortRange& range : ranges) {
    const std::optional<HostAndPort> address =
        ParseHostAndPort(WithOwnHost(range.address));
    if (!address.has_value() || address->port == 0 || range.count == 0) {
      continue;
    }
    const Ports ports = {&range, address->host, address->port,
                         address->port + range.count - 1};
    if (ports.last > kLastPort) {
      return absl::InvalidArgumentError(absl::StrCat(
          range.option, " is ", range.address, ", and ", range.count,
          " processes take a port each from there on; the last port is ",
          kLastPort, ", so the first can be at most ",
          kLastPort - range.count + 1));
    }
    for (const Ports& other : all) {
      const int shared = std::max(ports.first, other.first);
      if (shared > std::min(ports.last, other.last) ||
          !MayBeSame(ports.host, other.host)) {
        continue;
      }
      return absl::InvalidArgumentError(absl::StrCat(
          Describe(other), " and ", Describe(ports), " share port ", shared,
          " of one machine; choose other ports for one of them"));
    }
    all.push_back(ports);
  }
  return absl::OkStatus();
}

}  // namespace ps
