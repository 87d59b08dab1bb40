// Measures a model's time by kind of layer.
#ifndef MODELS_LAYERS_LAYER_TIMES_H_
#define MODELS_LAYERS_LAYER_TIMES_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/clock.h"

namespace ps {

// Sums times. Not thread-safe. Costs two readings of the clock for each layer
// and direction.
class LayerTimes {
 public:
  struct Entry {
    std::string kind;
    absl::Duration forward;
    absl::Duration backward;
  };

  enum class Direction { kForward, kBackward };
  // The run of a layer, or of a part of one, which a listener is told.
  struct Span {
    absl::string_view kind;
    Direction direction;
    absl::Time start;
    absl::Time end;
  };
  using Listener = std::function<void(const Span&)>;

  // Sets the listener from now on; null for none. Call it on the models'
  // thread.
  void Listen(Listener listener) { listener_ = std::move(listener); }
  void Tell(const Span& span) const {
    if (listener_ != nullptr) listener_(span);
  }

  // Returns the number of a kind; equal names have the same number.
  size_t Kind(absl::string_view kind) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].kind == kind) return i;
    }
    entries_.push_back({std::string(kind), {}, {}});
    return entries_.size() - 1;
  }

  Entry& entry(size_t kind) { return entries_[kind]; }

  // The kinds in order of first use.
  const std::vector<Entry>& entries() const { return entries_; }

  void Clear() {
    for (Entry& entry : entries_) entry.forward = entry.backward = {};
  }

 private:
  std::vector<Entry> entries_;
  Listener listener_;
};

// Adds its lifetime to the time of a kind, and tells the listener; does nothing
// if `times` is null.
class LayerTimer {
 public:
  LayerTimer(LayerTimes* times, size_t kind, LayerTimes::Direction direction)
      : times_(times),
        kind_(kind),
        direction_(direction),
        start_(SteadyClock()->Now()) {}
  ~LayerTimer() {
    if (times_ == nullptr) return;
    const absl::Time end = SteadyClock()->Now();
    LayerTimes::Entry& entry = times_->entry(kind_);
    (direction_ == LayerTimes::Direction::kForward ? entry.forward
                                                   : entry.backward) +=
        end - start_;
    times_->Tell({entry.kind, direction_, start_, end});
  }
  LayerTimer(const LayerTimer&) = delete;
  LayerTimer& operator=(const LayerTimer&) = delete;

 private:
  LayerTimes* const times_;  // Not owned.
  const size_t kind_;
  const LayerTimes::Direction direction_;
  const absl::Time start_;
};

// Adds its lifetime to *sum, unless `sum` is null.
class TimeAdder {
 public:
  explicit TimeAdder(absl::Duration* sum)
      : sum_(sum), start_(SteadyClock()->Now()) {}
  ~TimeAdder() {
    if (sum_ != nullptr) *sum_ += SteadyClock()->Now() - start_;
  }
  TimeAdder(const TimeAdder&) = delete;
  TimeAdder& operator=(const TimeAdder&) = delete;

 private:
  absl::Duration* const sum_;
  const absl::Time start_;
};

}  // namespace ps

#endif  // MODELS_LAYERS_LAYER_TIMES_H_
