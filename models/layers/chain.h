// Layers one after the other: the buffers between them, and the order in which
// they run.
#ifndef MODELS_LAYERS_CHAIN_H_
#define MODELS_LAYERS_CHAIN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/layers/layer.h"
#include "models/layers/stretch_recorder.h"
#include "tensor/tensor.h"

namespace ps {

// A layer, and where its part of the chain's weights and statistics is.
struct PlacedLayer {
  std::unique_ptr<Layer> layer;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t statistics_begin = 0;

  bool has_parameters() const { return begin < end; }
};

// Puts the layers' weights one after the other, and so their statistics.
std::vector<PlacedLayer> PlaceLayers(
    std::vector<std::unique_ptr<Layer>> layers);

// The gradient of the chain's weights [begin, end) is final.
using ChainGradientReady =
    std::function<absl::Status(int64_t begin, int64_t end)>;

// Not thread-safe.
class PlannedChain {
 public:
  // Plans every layer, and allocates what lies between them; the scratch that
  // it reserves must be allocated before the first Forward. Errors:
  // kInvalidArgument when the layers do not fit together.
  static absl::StatusOr<std::unique_ptr<PlannedChain>> Create(
      const std::vector<PlacedLayer>& layers, const PlanContext& context,
      const ActivationDesc& input);

  // At least one layer, so there is one.
  const ActivationDesc& output() const { return steps_.back().layer->output(); }

  bool backward_reads_output() const;

  // Whether all of its layers' work can be recorded.
  bool records_forward() const;
  bool records_backward() const;

  // Pointers as a layer's, of the chain as a whole: it is one. With a recorder,
  // which may be null, layers that can be recorded run in stretches as long as
  // can be.
  absl::Status Forward(const PlannedLayer::ForwardArguments& arguments,
                       StretchRecorder* recorder);

  // The same in Backward: a stretch ends where the gradient from a border on is
  // final, and what is final then is reported as one range.
  struct BackwardRecording {
    StretchRecorder* recorder = nullptr;
    std::vector<int64_t> borders;  // In the chain's weights.
  };
  // Leaves dy as it is, unless the last layer is a composite one. `ready` may
  // be null.
  absl::Status Backward(const PlannedLayer::BackwardArguments& arguments,
                        const ChainGradientReady& ready,
                        const BackwardRecording& recording);

 private:
  // Where a layer's output lies.
  enum class Place { kOwn, kScratch, kCaller };
  struct Step {
    std::unique_ptr<PlannedLayer> layer;
    int64_t begin = 0;  // Of its weights in the chain's.
    int64_t end = 0;
    int64_t statistics_begin = 0;
    size_t time_kind = 0;
    bool timed = false;
    bool in_place = false;  // Its output is where its input was.
    Place place = Place::kOwn;
    Tensor own;
    int scratch_slot = 0;
  };

  explicit PlannedChain(const PlanContext& context) : context_(context) {}

  void ShareBuffers();
  absl::Status AllocateBuffers();
  float* OutputOf(size_t i);  // Unless it is the caller's.
  // Fill forward_ and backward_ for a pass.
  void PrepareForward(const PlannedLayer::ForwardArguments& arguments);
  void PrepareBackward(const PlannedLayer::BackwardArguments& arguments,
                       size_t first);
  // Steps [first, end), in the order of the direction.
  absl::Status RunForward(size_t first, size_t end);
  absl::Status RunBackward(size_t first, size_t end);
  // The stretch that begins below `end` in Backward begins at this step.
  size_t FirstOfStretch(const BackwardRecording& recording, size_t first,
                        size_t end) const;
  // For a gradient, while another one is read.
  float* GradientBuffer(const float* in_use);

  const PlanContext context_;
  std::vector<Step> steps_;
  // What the steps of the latest pass are called with: [step].
  std::vector<PlannedLayer::ForwardArguments> forward_;
  std::vector<PlannedLayer::BackwardArguments> backward_;
  // The first step that has parameters; without any, their number.
  size_t lowest_ = 0;
};

}  // namespace ps

#endif  // MODELS_LAYERS_CHAIN_H_
