#include "tools/bench/network/slow_network.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "tools/bench/network/bandwidth.h"
#include "tools/bench/network/system_command.h"

namespace ps {
namespace {

// The addresses 198.18.0.0 to 198.19.255.255 are reserved for benchmarks of
// networks (RFC 2544, section C.2.2), so no other network uses them.
constexpr int kAddressBits = 15;

// A burst must not let a link run far ahead of its rate. It takes 2 ms, or
// enough bytes that the filter need not split large packets (up to 64 KiB),
// which costs processor time, but at most kMostBurstSeconds on a very slow
// link.
constexpr double kBurstSeconds = 0.002;
constexpr double kUncutBytes = 128 << 10;
constexpr double kMostBurstSeconds = 0.05;

// The queue before each filter, in addition to the burst.
constexpr char kQueueTime[] = "50ms";

std::string HubInterface(int host) { return absl::StrCat("h", host); }

// Traffic in the calling thread's network, from /proc/thread-self/net/dev
// (proc(5)).
absl::Status ReadCounters(std::vector<LinkTraffic>* traffic) {
  std::ifstream file("/proc/thread-self/net/dev");
  std::vector<bool> found(traffic->size());
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (parts.size() < 2) continue;  // A line of the heading.
    absl::string_view name = absl::StripAsciiWhitespace(parts[0]);
    const std::vector<std::string> numbers =
        absl::StrSplit(parts[1], ' ', absl::SkipEmpty());
    size_t host = 0;
    if (name.empty() || name[0] != 'h' ||
        !absl::SimpleAtoi(name.substr(1), &host) || host >= traffic->size()) {
      continue;
    }
    // The hub receives what the host sends.
    LinkTraffic& link = (*traffic)[host];
    found[host] = numbers.size() > 8 &&
                  absl::SimpleAtoi(numbers[0], &link.sent_bytes) &&
                  absl::SimpleAtoi(numbers[8], &link.received_bytes);
  }
  if (std::count(found.begin(), found.end(), false) == 0) {
    return absl::OkStatus();
  }
  return absl::InternalError(
      "/proc/thread-self/net/dev does not say what went over the links");
}

}  // namespace

absl::Status SlowNetwork::CheckAvailable() {
  // Reports all missing programs at once.
  absl::Status missing = NetworkNamespace::Create().status();
  for (const char* program : {"ip", "tc"}) {
    const absl::Status found = FindSystemProgram(program).status();
    if (found.ok()) continue;
    missing = absl::Status(
        found.code(),
        absl::StrCat(missing.message(), missing.ok() ? "" : "; and ",
                     found.message(),
                     ", which makes the links: apt-get install iproute2"));
  }
  return missing;
}

namespace {

absl::Status CheckBandwidth(int64_t bits_per_second) {
  if (bits_per_second >= kMinBitsPerSecond &&
      bits_per_second <= kMaxBitsPerSecond) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a link has ", bits_per_second, " bits per second; must be ",
                   kMinBitsPerSecond, " to ", kMaxBitsPerSecond));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SlowNetwork>> SlowNetwork::Create(
    const SlowNetworkOptions& options) {
  if (options.num_hosts < 1 || options.num_hosts > kMostHosts) {
    return absl::InvalidArgumentError(
        absl::StrCat("a network has ", options.num_hosts,
                     " hosts; must be 1 to ", kMostHosts));
  }
  PS_RETURN_IF_ERROR(CheckBandwidth(options.bits_per_second));
  PS_RETURN_IF_ERROR(CheckAvailable());
  PS_ASSIGN_OR_RETURN(NetworkNamespace hub, NetworkNamespace::Create());
  std::unique_ptr<SlowNetwork> network(
      new SlowNetwork(options, std::move(hub)));
  const int fd = network->hub_.fd();
  PS_RETURN_IF_ERROR(
      RunSystemCommand({"ip", "link", "add", "bridge", "type", "bridge"}, fd));
  PS_RETURN_IF_ERROR(
      RunSystemCommand({"ip", "link", "set", "bridge", "up"}, fd));
  for (int i = 0; i < options.num_hosts; ++i) {
    PS_RETURN_IF_ERROR(Annotate(network->AddHost(), absl::StrCat("host ", i)));
  }
  return network;
}

SlowNetwork::SlowNetwork(const SlowNetworkOptions& options,
                         NetworkNamespace hub)
    : options_(options), hub_(std::move(hub)) {}

std::string SlowNetwork::Address(int host) {
  const int number = host + 1;  // 0 is the network itself.
  return absl::StrCat("198.18.", number / 256, ".", number % 256);
}

int64_t SlowNetwork::burst_bytes() const {
  const double bytes_per_second =
      static_cast<double>(options_.bits_per_second) / 8;
  return static_cast<int64_t>(
      std::max(kBurstSeconds * bytes_per_second,
               std::min(kUncutBytes, kMostBurstSeconds * bytes_per_second)));
}

absl::Status SlowNetwork::SetBandwidth(std::optional<int64_t> bits_per_second) {
  if (bits_per_second.has_value()) {
    PS_RETURN_IF_ERROR(CheckBandwidth(*bits_per_second));
    options_.bits_per_second = *bits_per_second;
  }
  if (!bits_per_second.has_value() && !limited_) return absl::OkStatus();
  limited_ = bits_per_second.has_value();
  for (int i = 0; i < num_hosts(); ++i) {
    PS_RETURN_IF_ERROR(Shape(HubInterface(i), hub_.fd()));
    PS_RETURN_IF_ERROR(Shape("eth0", hosts_[i].fd()));
  }
  return absl::OkStatus();
}

absl::Status SlowNetwork::Shape(const std::string& interface,
                                int network_namespace) {
  if (!limited_) {
    return RunSystemCommand({"tc", "qdisc", "del", "dev", interface, "root"},
                            network_namespace);
  }
  return RunSystemCommand(
      {"tc", "qdisc", "replace", "dev", interface, "root", "tbf", "rate",
       absl::StrCat(options_.bits_per_second, "bit"), "burst",
       absl::StrCat(burst_bytes()), "latency", kQueueTime},
      network_namespace);
}

absl::Status SlowNetwork::AddHost() {
  const int number = num_hosts();
  PS_ASSIGN_OR_RETURN(NetworkNamespace made, NetworkNamespace::Create());
  hosts_.push_back(std::move(made));
  const NetworkNamespace& host = hosts_.back();
  const std::string port = HubInterface(number);
  PS_RETURN_IF_ERROR(
      RunSystemCommand({"ip", "link", "add", port, "type", "veth", "peer",
                        "name", "eth0", "netns", host.path()},
                       hub_.fd()));
  PS_RETURN_IF_ERROR(RunSystemCommand(
      {"ip", "link", "set", port, "master", "bridge", "up"}, hub_.fd()));
  PS_RETURN_IF_ERROR(Shape(port, hub_.fd()));
  PS_RETURN_IF_ERROR(
      RunSystemCommand({"ip", "link", "set", "lo", "up"}, host.fd()));
  PS_RETURN_IF_ERROR(RunSystemCommand(
      {"ip", "address", "add", absl::StrCat(Address(number), "/", kAddressBits),
       "dev", "eth0"},
      host.fd()));
  PS_RETURN_IF_ERROR(
      RunSystemCommand({"ip", "link", "set", "eth0", "up"}, host.fd()));
  return Shape("eth0", host.fd());
}

absl::StatusOr<std::vector<LinkTraffic>> SlowNetwork::ReadTraffic() const {
  std::vector<LinkTraffic> traffic(hosts_.size());
  PS_RETURN_IF_ERROR(hub_.Run([&traffic] { return ReadCounters(&traffic); }));
  return traffic;
}

}  // namespace ps
