// A program of a user's with its bridge: a session (bridge/session.h), and a
// small model whose steps and gradients are pure functions.
#ifndef TESTS_SIMULATION_RANK_H_
#define TESTS_SIMULATION_RANK_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/config.pb.h"
#include "transport/interruption.h"

namespace ps::sim {

struct RankOptions {
  const JobConfig* config = nullptr;  // With an external model. Not owned.
  int rank = 0;
  uint64_t incarnation = 0;
  std::string name;
  int64_t pushes = 0;
  // When the program hangs up. Not owned.
  Interruption* interruption = nullptr;
  std::function<void()> joined;   // It is registered with all servers.
  std::function<void()> trained;  // It has made all pushes.
};

struct RankResult {
  absl::Status status;
  // Of the servers' last weights; in exchange mode of its own.
  std::vector<float> weights;
};

// Joins the job, makes the pushes, averages numbers in between where ranks are
// at the same push, and finishes. Errors: those of BridgeSession; kDataLoss
// where the session gives what it does not promise.
RankResult RunRank(const RankOptions& options);

// The weights after these pushes of all ranks, by plain loops; nullopt if the
// job leaves out or rounds what is sent. All sums are exact, in any order.
std::optional<std::vector<float>> WeightsByLoops(const JobConfig& config,
                                                 int64_t pushes);

}  // namespace ps::sim

#endif  // TESTS_SIMULATION_RANK_H_
