// Hosts with slow links, all on this machine: each host is a network namespace,
// joined to the others by a switch, and its link lets through a given number of
// bits a second each way.
//
//   host 0: eth0 ======== h0 |
//   host 1: eth0 ======== h1 | bridge, in a namespace of its own
//   host 2: eth0 ======== h2 |
//
// A link is a veth pair with a token-bucket filter (tc-tbf(8)) at both ends:
// eth0's shapes what the host sends, h0's what it gets. Links delay nothing and
// lose nothing but what overflows a full queue, as at a switch. The machine's
// own interfaces and routes are not touched.
#ifndef TOOLS_BENCH_NETWORK_SLOW_NETWORK_H_
#define TOOLS_BENCH_NETWORK_SLOW_NETWORK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/bench/network/network_namespace.h"

namespace ps {

constexpr int kMostHosts = 1023;  // Linux gives a bridge so many ports.

struct SlowNetworkOptions {
  int num_hosts = 2;  // 1 to kMostHosts.
  // Of each link, each way; kMinBitsPerSecond to kMaxBitsPerSecond.
  int64_t bits_per_second = 1'000'000'000;
};

// What went over a host's link since it was made: bytes of Ethernet frames
// that passed the filters. The headers of a large packet, which the network
// card of a real host would cut, count once.
struct LinkTraffic {
  int64_t sent_bytes = 0;
  int64_t received_bytes = 0;
};

// Thread-safe but for SetBandwidth. Disappears with this object and the
// processes in it.
class SlowNetwork {
 public:
  // Whether Create() can work here. Errors: kPermissionDenied or kNotFound,
  // with what is missing and what to do.
  static absl::Status CheckAvailable();

  // Errors: of CheckAvailable(); kInvalidArgument; kInternal with the command
  // that failed.
  static absl::StatusOr<std::unique_ptr<SlowNetwork>> Create(
      const SlowNetworkOptions& options);

  int num_hosts() const { return static_cast<int>(hosts_.size()); }
  const SlowNetworkOptions& options() const { return options_; }

  // An IPv4 address that all hosts reach, and nothing else does.
  static std::string Address(int host);

  const NetworkNamespace& host(int host) const { return hosts_.at(host); }

  // Of all links, from now on: bits per second as in the options, or no limit.
  // What waits in a filter is lost, as from a full queue. Not while another
  // thread is in a method. Errors: kInternal with the command that failed.
  absl::Status SetBandwidth(std::optional<int64_t> bits_per_second);

  // By host.
  absl::StatusOr<std::vector<LinkTraffic>> ReadTraffic() const;

  // What a filter lets through at once after a pause: a link may be ahead of
  // its rate by so many bytes. Of the latest bandwidth.
  int64_t burst_bytes() const;

 private:
  SlowNetwork(const SlowNetworkOptions& options, NetworkNamespace hub);

  absl::Status AddHost();
  absl::Status Shape(const std::string& interface, int network_namespace);

  SlowNetworkOptions options_;
  bool limited_ = true;         // Whether the links have filters.
  const NetworkNamespace hub_;  // With the bridge.
  std::vector<NetworkNamespace> hosts_;
};

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_SLOW_NETWORK_H_
