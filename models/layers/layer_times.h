// Where a model's time goes, by kind of layer.
#ifndef MODELS_LAYERS_LAYER_TIMES_H_
#define MODELS_LAYERS_LAYER_TIMES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace ps {

// Not thread-safe. Two readings of the clock for each layer and direction.
class LayerTimes {
 public:
  struct Entry {
    std::string kind;
    absl::Duration forward;
    absl::Duration backward;
  };

  // The number of a kind, the same for equal names.
  size_t Kind(absl::string_view kind) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].kind == kind) return i;
    }
    entries_.push_back({std::string(kind), {}, {}});
    return entries_.size() - 1;
  }

  Entry& entry(size_t kind) { return entries_[kind]; }

  // In order of first use.
  const std::vector<Entry>& entries() const { return entries_; }

  void Clear() {
    for (Entry& entry : entries_) entry.forward = entry.backward = {};
  }

 private:
  std::vector<Entry> entries_;
};

// Adds the time that it lives to *sum, unless that is null.
class TimeAdder {
 public:
  explicit TimeAdder(absl::Duration* sum) : sum_(sum), start_(absl::Now()) {}
  ~TimeAdder() {
    if (sum_ != nullptr) *sum_ += absl::Now() - start_;
  }
  TimeAdder(const TimeAdder&) = delete;
  TimeAdder& operator=(const TimeAdder&) = delete;

 private:
  absl::Duration* const sum_;
  const absl::Time start_;
};

}  // namespace ps

#endif  // MODELS_LAYERS_LAYER_TIMES_H_
