// Decides when evaluations no longer improve, so that training ends.
#ifndef WORKER_EARLY_STOPPING_H_
#define WORKER_EARLY_STOPPING_H_

#include <cstdint>
#include <optional>

#include "proto/training_config.pb.h"

namespace ps {

// The state in a snapshot.
struct EarlyStoppingState {
  // The score of the last improvement (worker/records/evaluation.h).
  std::optional<double> best_score;
  int64_t without_improvement = 0;  // The number of evaluations since then.
};

// Decides by the config and the scores alone, so that a repeated training ends
// at the same place. Not thread-safe.
class EarlyStopping {
 public:
  explicit EarlyStopping(const EarlyStoppingConfig& config) : config_(config) {}

  // Adds an evaluation. Returns whether training should end. A score that is
  // not a number is no improvement.
  bool Evaluated(double score);

  const EarlyStoppingState& state() const { return state_; }
  void GoOnFrom(const EarlyStoppingState& state) { state_ = state; }

 private:
  EarlyStoppingConfig config_;
  EarlyStoppingState state_;
};

}  // namespace ps

#endif  // WORKER_EARLY_STOPPING_H_
