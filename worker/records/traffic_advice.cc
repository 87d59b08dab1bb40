#include "worker/records/traffic_advice.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ps {
namespace {

constexpr int64_t kManyTimes = 4;

// Returns advice that makes the downlink smaller.
std::string AdviceForTheWayBack(const JobConfig& job) {
  if (job.downlink().mode() == DownlinkConfig::WEIGHTS) {
    return "downlink.mode WEIGHTS sends all weights; AUTO sends fewer";
  }
  if (!job.has_worker_optimizer() &&
      job.downlink().mode() == DownlinkConfig::AUTO) {
    return absl::StrCat(
        "optimizer \"", job.optimizer().name(),
        "\" at the servers changes weights that nobody pushed; as "
        "worker_optimizer it lets them send only what was pushed");
  }
  return "downlink { mode: COMPRESSED compressor { ... } } bounds what comes "
         "back to each worker by a ratio of its own";
}

}  // namespace

std::string TrafficAdvice(const JobConfig& job, const RunTotals& totals) {
  const int64_t up = totals.bytes_up;
  const int64_t down = totals.bytes_down;
  if (std::max(up, down) <= kManyTimes * std::min(up, down)) return "";
  const double share = 100.0 * static_cast<double>(std::max(up, down)) /
                       static_cast<double>(up + down);
  return absl::StrFormat(
      "%.0f %% of the bytes go %s: %s (docs/slow_networks.md)", share,
      down > up ? "to the workers" : "to the servers",
      down > up ? AdviceForTheWayBack(job)
                : std::string("set compressor { name: \"sidco_e\" }"));
}

}  // namespace ps
