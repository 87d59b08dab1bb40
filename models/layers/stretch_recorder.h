// Runs segments of a plan's work, which the backend records when they repeat.
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

// A segment: a range of consecutive layers, run in one direction.
struct Stretch {
  LayerTimes::Direction direction = LayerTimes::Direction::kForward;
  size_t first = 0;  // Position in the chain.
  size_t end = 0;    // The position after the last layer.
  // Whether the segment first resets recurrent layers.
  bool resets_state = false;

  bool operator<(const Stretch& other) const {
    return std::tie(direction, first, end, resets_state) <
           std::tie(other.direction, other.first, other.end,
                    other.resets_state);
  }
};

// Records segments. Not thread-safe.
class StretchRecorder {
 public:
  using Work = std::function<absl::Status()>;

  // The pointers are not owned and must outlive this object. Adds to `counts`.
  StretchRecorder(Backend* backend, LayerTimes* times, RecordingCounts* counts)
      : backend_(backend), times_(times), counts_(counts) {}

  // Begins a pass on memory at these addresses. Discards the recordings of this
  // direction with other addresses, and all recordings if the backend has moved
  // its own memory.
  void Begin(LayerTimes::Direction direction,
             const std::vector<const void*>& addresses);

  // Does the work of a segment, which must be the same work each time. The
  // first time it simply runs, since libraries prepare themselves then; the
  // second time it is recorded, and later it is replayed from the recording,
  // which keeps `work`. If a recording fails, the log says why, and nothing is
  // recorded from then on.
  absl::Status Run(const Stretch& stretch, const Work& work);

 private:
  absl::Status Replay(const Stretch& stretch, Recording* recording);

  Backend* const backend_;
  LayerTimes* const times_;
  RecordingCounts* const counts_;
  // Whether recording works; false after a recording has failed.
  bool works_ = true;
  int64_t memory_version_ = 0;
  std::map<LayerTimes::Direction, std::vector<const void*>> addresses_;
  // One recording for each segment that has run; null if not recorded yet.
  std::map<Stretch, std::unique_ptr<Recording>> recordings_;
};

}  // namespace ps

#endif  // MODELS_LAYERS_STRETCH_RECORDER_H_
