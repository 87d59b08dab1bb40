// Runs a chain of layers, with the buffers between them.
#ifndef MODELS_LAYERS_CHAIN_H_
#define MODELS_LAYERS_CHAIN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "models/layers/layer.h"
#include "models/layers/stretch_recorder.h"
#include "tensor/tensor.h"

namespace ps {

// A layer, and the positions of its weights and statistics among the chain's.
struct PlacedLayer {
  std::unique_ptr<Layer> layer;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t statistics_begin = 0;

  bool has_parameters() const { return begin < end; }
};

// Places the layers' weights one after the other, and their statistics, too.
std::vector<PlacedLayer> PlaceLayers(
    std::vector<std::unique_ptr<Layer>> layers);

// Reports that the gradient of the chain's weights [begin, end) is final.
using ChainGradientReady =
    std::function<absl::Status(int64_t begin, int64_t end)>;

// A chain of layers, planned for one shape of batch. Not thread-safe.
class PlannedChain {
 public:
  // Plans every layer, and allocates the buffers between them. The scratch
  // memory that it reserves must be allocated before the first Forward. Errors:
  // kInvalidArgument if the layers do not fit together.
  static absl::StatusOr<std::unique_ptr<PlannedChain>> Create(
      const std::vector<PlacedLayer>& layers, const PlanContext& context,
      const ActivationDesc& input);

  // The output; there is at least one layer.
  const ActivationDesc& output() const { return steps_.back().layer->output(); }

  bool backward_reads_output() const;

  // Whether the work of all its layers can be recorded.
  bool records_forward() const;
  bool records_backward() const;

  // Runs the chain with a layer's arguments. With a recorder, which may be
  // null, consecutive layers that can be recorded run in segments that are as
  // long as possible.
  absl::Status Forward(const PlannedLayer::ForwardArguments& arguments,
                       StretchRecorder* recorder);

  // Records Backward: a segment ends where the gradient from a border on is
  // final, and all that is final then is reported as one range.
  struct BackwardRecording {
    StretchRecorder* recorder = nullptr;
    // Positions in the chain's weights. Without dx, layers whose weights all
    // lie below the lowest are skipped: they get no gradient.
    std::vector<int64_t> borders;
  };
  // Backpropagates. Does not change dy, unless the last layer is a composite
  // one. `ready` may be null.
  absl::Status Backward(const PlannedLayer::BackwardArguments& arguments,
                        const ChainGradientReady& ready,
                        const BackwardRecording& recording);

  // Save and load the state of all layers, as PlannedLayer's functions do.
  absl::Status SaveState(std::string* bytes) const;
  absl::Status LoadState(absl::string_view* bytes);

 private:
  // The memory that holds a layer's output.
  enum class Place { kOwn, kScratch, kCaller };
  struct Step {
    std::unique_ptr<PlannedLayer> layer;
    int64_t begin = 0;  // The position in the chain's weights.
    int64_t end = 0;
    int64_t statistics_begin = 0;
    size_t time_kind = 0;
    bool timed = false;
    bool in_place = false;  // The output overwrites the input.
    // Whether the layer before it does its work (PlannedLayer::TakeActivation).
    bool taken = false;
    Place place = Place::kOwn;
    Tensor own;
    int scratch_slot = 0;
  };

  explicit PlannedChain(const PlanContext& context) : context_(context) {}

  void ShareBuffers();
  void TakeActivations();
  absl::Status AllocateBuffers();
  float* OutputOf(size_t i);  // Not for Place::kCaller.
  // Set the arguments of all steps for a pass.
  void PrepareForward(const PlannedLayer::ForwardArguments& arguments);
  void PrepareBackward(const PlannedLayer::BackwardArguments& arguments,
                       size_t first);
  // Run steps [first, end), in the order of the direction.
  absl::Status RunForward(size_t first, size_t end);
  absl::Status RunBackward(size_t first, size_t end);
  // Returns the first step of the Backward segment just below `end`.
  size_t FirstOfStretch(const BackwardRecording& recording, size_t first,
                        size_t end) const;
  // Returns a buffer for a gradient, while another one (in_use) is read.
  float* GradientBuffer(const float* in_use);

  const PlanContext context_;
  std::vector<Step> steps_;
  // The arguments of the steps in the latest pass: [step].
  std::vector<PlannedLayer::ForwardArguments> forward_;
  std::vector<PlannedLayer::BackwardArguments> backward_;
  // The first step that has parameters, or the number of steps if none has.
  size_t lowest_ = 0;
};

}  // namespace ps

#endif  // MODELS_LAYERS_CHAIN_H_
