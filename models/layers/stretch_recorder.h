// Stretches of a plan's work, which the backend records when they come again.
#ifndef MODELS_LAYERS_STRETCH_RECORDER_H_
#define MODELS_LAYERS_STRETCH_RECORDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "models/layers/layer_times.h"
#include "tensor/backend.h"
#include "tensor/recording.h"

namespace ps {

// Which layers, one after the other, in which direction.
struct Stretch {
  LayerTimes::Direction direction = LayerTimes::Direction::kForward;
  size_t first = 0;           // In the chain,
  size_t end = 0;             // and the one after the last.
  bool resets_state = false;  // Of recurrent layers, at its beginning.

  bool operator<(const Stretch& other) const {
    return std::tie(direction, first, end, resets_state) <
           std::tie(other.direction, other.first, other.end,
                    other.resets_state);
  }
};

// Not thread-safe.
class StretchRecorder {
 public:
  using Work = std::function<absl::Status()>;

  // Neither is owned; both outlive this.
  StretchRecorder(Backend* backend, LayerTimes* times)
      : backend_(backend), times_(times) {}

  // A pass begins, on memory at these addresses. Those of its direction that
  // were recorded with others are forgotten, and all are if the backend has
  // moved its own memory.
  void Begin(LayerTimes::Direction direction,
             const std::vector<const void*>& addresses);

  // Does the work of a stretch, which is the same work each time: the first
  // time as it is, since libraries prepare themselves then; the second time
  // recorded; then again from the recording. `work` is kept with it. What
  // cannot be recorded is done as it is, for good, and the log says why.
  absl::Status Run(const Stretch& stretch, const Work& work);

  // Stretches that are recorded now.
  int64_t num_recordings() const;

 private:
  absl::Status Replay(const Stretch& stretch, Recording* recording);

  Backend* const backend_;
  LayerTimes* const times_;
  bool works_ = true;  // Until a recording fails.
  int64_t memory_version_ = 0;
  std::map<LayerTimes::Direction, std::vector<const void*>> addresses_;
  // Of those that have been done; null: not recorded yet.
  std::map<Stretch, std::unique_ptr<Recording>> recordings_;
};

}  // namespace ps

#endif  // MODELS_LAYERS_STRETCH_RECORDER_H_
