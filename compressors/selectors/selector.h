// Selects the elements that are sent: this is what distinguishes one compressor
// from another. A Sparsifier does the rest.
#ifndef COMPRESSORS_SELECTORS_SELECTOR_H_
#define COMPRESSORS_SELECTORS_SELECTOR_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "compressors/compressor.h"
#include "compressors/payload/payload_format.h"
#include "compressors/state_io.h"
#include "tensor/device_selection.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// The vector to choose from, u = residual + gradient. The selector forms it,
// because it may look for candidates in the same pass. The three vectors are in
// the backend's memory, and u overlaps neither of the others.
struct SelectorInput {
  const float* residual = nullptr;
  const float* gradient = nullptr;
  float* u = nullptr;
  int64_t n = 0;  // At least 1.
  // The number of elements that the config's ratio asks for; in [1, n].
  int64_t target_count = 0;
};

struct Selected {
  // Whether all elements are selected, with zeros; `elements` is then ignored.
  bool all = false;
  // The elements, if a device has them; `elements` is then ignored. Not owned;
  // valid until the selector's next call.
  DeviceSelection* on_device = nullptr;
  Selection elements;
  // The chunks of each part, if `elements` are one in each chunk. Not owned;
  // valid until the selector's next call.
  const std::vector<std::vector<ChunkRun>>* chunks = nullptr;

  // The number of elements; valid unless `all` is true.
  int64_t count() const {
    return on_device != nullptr
               ? static_cast<int64_t>(on_device->indices.size())
               : elements.size();
  }
};

// A selector for one backend, one vector length and one worker. Not
// thread-safe.
class Selector {
 public:
  virtual ~Selector() = default;

  // Forms input.u and chooses from it. Fills *selected, which is empty on entry
  // but keeps the memory of earlier calls, and the fields threshold, raw_count,
  // stages and fallback of *stats, and target_count if the ratio has no effect.
  // If an element of u is not finite, sets stats->non_finite and nothing else.
  virtual absl::Status Select(const SelectorInput& input, Selected* selected,
                              CompressionStats* stats) = 0;

  // Save and load the state that the next choice depends on besides its input.
  // Load changes nothing on failure, and ends with state->Finish().
  virtual void Save(StateWriter*) const {}
  virtual absl::Status Load(StateReader* state) { return state->Finish(); }
};

// Implements Selector::Select by selecting every element.
absl::Status SelectEverything(const SelectorInput& input,
                              SparseKernels* kernels, Selected* selected,
                              CompressionStats* stats);

}  // namespace ps

#endif  // COMPRESSORS_SELECTORS_SELECTOR_H_
