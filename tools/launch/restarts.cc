#include "tools/launch/restarts.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "common/exit_codes.h"
#include "tools/launch/remote_command.h"

namespace ps {
namespace {

constexpr absl::Duration kFirstDelay = absl::Seconds(1);
constexpr absl::Duration kLongestDelay = absl::Seconds(30);
// On top of the job's own timeouts, for starting and reading snapshots.
constexpr absl::Duration kMorePatience = absl::Minutes(1);

}  // namespace

bool AsksForRestart(const ProcessExit& exit) {
  constexpr int kCodes[] = {kExitUnreachable, /*SIGHUP*/ 129,  kExitInterrupted,
                            /*SIGKILL*/ 137,  /*SIGTERM*/ 143, kExitSshFailed};
  return exit.signal != 0 || absl::c_linear_search(kCodes, exit.code);
}

Restarts::Restarts(const ClusterConfig& cluster)
    : patience_(absl::Seconds(cluster.startup_timeout_seconds() +
                              cluster.lost_worker_timeout_seconds() +
                              cluster.lost_server_timeout_seconds()) +
                kMorePatience),
      longest_delay_(
          std::clamp(absl::Seconds(cluster.startup_timeout_seconds() / 2),
                     kFirstDelay, kLongestDelay)) {}

void Restarts::Reached(int64_t iteration) {
  if (iteration <= reached_) return;
  reached_ = iteration;
  trouble_began_ = absl::InfiniteFuture();
  delays_.clear();
}

absl::Duration Restarts::DelayOf(const std::string& process, absl::Time now) {
  trouble_began_ = std::min(trouble_began_, now);
  const auto [delay, is_first] = delays_.emplace(process, kFirstDelay);
  if (!is_first) delay->second = std::min(2 * delay->second, longest_delay_);
  return delay->second;
}

absl::Duration Restarts::Trouble(absl::Time now) const {
  return std::max(now - trouble_began_, absl::ZeroDuration());
}

}  // namespace ps
