// Bandwidths as people and tc(8) write them.
#ifndef TOOLS_BENCH_NETWORK_BANDWIDTH_H_
#define TOOLS_BENCH_NETWORK_BANDWIDTH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

constexpr int64_t kMinBitsPerSecond = 1'000'000;
constexpr int64_t kMaxBitsPerSecond = 100'000'000'000;

// "100mbit", "2.5gbit", "500kbit": bits per second, units of 1000. Errors:
// kInvalidArgument with the text and the rule.
absl::StatusOr<int64_t> ParseBandwidth(absl::string_view text);

// Several, separated by commas. Errors: those of ParseBandwidth.
absl::StatusOr<std::vector<int64_t>> ParseBandwidths(absl::string_view text);

// Three digits: "95.2 Mbit/s", "1.00 Gbit/s".
std::string FormatBandwidth(double bits_per_second);

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_BANDWIDTH_H_
