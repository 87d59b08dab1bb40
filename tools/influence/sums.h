// Influence: sums over checkpoints.
#ifndef TOOLS_INFLUENCE_SUMS_H_
#define TOOLS_INFLUENCE_SUMS_H_

#include <cstdint>
#include <vector>

#include "tools/influence/gradient_products.h"

namespace ps {

// TracInCP (Pruthi et al., NeurIPS 2020): the influence of example z on the
// loss of z' is the sum over checkpoints i of rate_i g_i(z) . g_i(z'). Each
// checkpoint's product is multiplied by the rate before it is added; the
// product of sums over checkpoints of the factors of g (factors.h) is something
// else. Not thread-safe.
class InfluenceSums {
 public:
  InfluenceSums(int64_t num_examples, int64_t num_queries);

  // Adds what a checkpoint makes of examples [begin, begin + scores.size()).
  // For each example, checkpoints must come in ascending order: sums then have
  // the same bits in every run.
  void Add(int64_t begin, double learning_rate, const ExampleScores& scores);

  int64_t num_examples() const { return static_cast<int64_t>(self_.size()); }
  int64_t num_queries() const { return num_queries_; }

  // The influence of each training example on the query: above 0 for a
  // proponent, which lowered the query's loss, and below 0 for an opponent.
  std::vector<double> OnQuery(int64_t query) const;
  // The influence of each training example on itself; at least 0.
  const std::vector<double>& self() const { return self_; }

  // At the last checkpoint, and summed over all.
  const std::vector<double>& last_losses() const { return last_losses_; }
  const std::vector<double>& loss_sums() const { return loss_sums_; }
  const std::vector<int32_t>& labels() const { return labels_; }
  // By the last checkpoint.
  const std::vector<int32_t>& predicted() const { return predicted_; }

 private:
  const int64_t num_queries_;
  std::vector<double> influence_;  // [examples, queries]
  std::vector<double> self_;
  std::vector<double> last_losses_;
  std::vector<double> loss_sums_;
  std::vector<int32_t> labels_;
  std::vector<int32_t> predicted_;
};

}  // namespace ps

#endif  // TOOLS_INFLUENCE_SUMS_H_
