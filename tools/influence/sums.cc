#include "tools/influence/sums.h"

namespace ps {

InfluenceSums::InfluenceSums(int64_t num_examples, int64_t num_queries)
    : num_queries_(num_queries),
      influence_(num_examples * num_queries),
      self_(num_examples),
      last_losses_(num_examples),
      loss_sums_(num_examples),
      labels_(num_examples),
      predicted_(num_examples) {}

void InfluenceSums::Add(int64_t begin, double learning_rate,
                        const ExampleScores& scores) {
  for (int64_t i = 0; i < scores.size(); ++i) {
    const int64_t example = begin + i;
    self_[example] += learning_rate * scores.self[i];
    last_losses_[example] = scores.losses[i];
    loss_sums_[example] += scores.losses[i];
    labels_[example] = scores.labels[i];
    predicted_[example] = scores.predicted[i];
    for (int64_t q = 0; q < num_queries_; ++q) {
      influence_[example * num_queries_ + q] +=
          learning_rate * scores.products[i * num_queries_ + q];
    }
  }
}

std::vector<double> InfluenceSums::OnQuery(int64_t query) const {
  std::vector<double> influence(num_examples());
  for (int64_t i = 0; i < num_examples(); ++i) {
    influence[i] = influence_[i * num_queries_ + query];
  }
  return influence;
}

}  // namespace ps
