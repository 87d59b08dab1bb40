#include "worker/early_stopping.h"

#include <cmath>

namespace ps {

bool EarlyStopping::Evaluated(double score) {
  const bool improves = state_.best_score.has_value()
                            ? score > *state_.best_score + config_.min_delta()
                            : !std::isnan(score);
  if (improves) {
    state_.best_score = score;
    state_.without_improvement = 0;
  } else {
    ++state_.without_improvement;
  }
  return config_.patience() > 0 &&
         state_.without_improvement >= config_.patience();
}

}  // namespace ps
