// Keeps a model's plans for the batch shapes it has seen.
#ifndef MODELS_PLAN_CACHE_H_
#define MODELS_PLAN_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>

#include "models/network_plan.h"

namespace ps {

struct PlanKey {
  int64_t batch_size = 0;
  int64_t steps = 0;  // Text and speech: steps in a row.
  bool training = false;

  bool operator==(const PlanKey& other) const {
    return batch_size == other.batch_size && steps == other.steps &&
           training == other.training;
  }
};

// Keeps the few most recently used plans for training, and as many for
// inference: each has memory for all its activations, and recordings have many
// lengths. Not thread-safe.
class PlanCache {
 public:
  // The most plans for training, and for inference. Images need two, since the
  // last batch is smaller, and text three: its last windows are one row, and
  // the last of them is shorter.
  static constexpr size_t kMostPlans = 3;

  // Returns the plan; null if there is none.
  NetworkPlan* Find(const PlanKey& key) {
    for (auto it = plans_.begin(); it != plans_.end(); ++it) {
      if (!(it->first == key)) continue;
      plans_.splice(plans_.begin(), plans_, it);
      return plans_.front().second.get();
    }
    return nullptr;
  }

  void Drop(const PlanKey& key) {
    plans_.remove_if([&key](const auto& plan) { return plan.first == key; });
  }

  // Drops the least recently used plan of this kind if there are too many; call
  // it before creating a plan with this key.
  void MakeRoom(const PlanKey& key) {
    size_t of_its_kind = 0;
    for (auto it = plans_.begin(); it != plans_.end(); ++it) {
      if (it->first.training != key.training) continue;
      if (++of_its_kind < kMostPlans) continue;
      plans_.erase(it);
      return;
    }
  }

  NetworkPlan* Insert(const PlanKey& key, std::unique_ptr<NetworkPlan> plan) {
    plans_.emplace_front(key, std::move(plan));
    return plans_.front().second.get();
  }

  // Returns the plan for training or for inference that was used last, with its
  // key; null if there is none.
  const std::pair<PlanKey, std::unique_ptr<NetworkPlan>>* Latest(
      bool training) const {
    for (const auto& plan : plans_) {
      if (plan.first.training == training) return &plan;
    }
    return nullptr;
  }

  int64_t activation_bytes() const {
    int64_t bytes = 0;
    for (const auto& [key, plan] : plans_) bytes += plan->activation_bytes();
    return bytes;
  }

 private:
  // The plans, most recently used first.
  std::list<std::pair<PlanKey, std::unique_ptr<NetworkPlan>>> plans_;
};

}  // namespace ps

#endif  // MODELS_PLAN_CACHE_H_
