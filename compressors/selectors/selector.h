// Decides which elements are sent: this is what distinguishes one compressor
// from another. A Sparsifier does the rest.
#ifndef COMPRESSORS_SELECTORS_SELECTOR_H_
#define COMPRESSORS_SELECTORS_SELECTOR_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "compressors/compressor.h"
#include "compressors/state_io.h"
#include "tensor/device_selection.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// The vector to choose from: residual + gradient, every element finite.
struct SelectorInput {
  const float* u = nullptr;  // In the backend's memory.
  int64_t n = 0;             // At least 1.
  Moments moments;           // As measured by the selector's own AddAndMeasure.
};

struct Selected {
  // Every element is selected, zeros included; `elements` is then ignored.
  bool all = false;
  // Elements that were left in the backend's memory, if the backend has a
  // device_work(); `elements` is then ignored. Valid until the selector's next
  // call.
  std::optional<DeviceSelection> on_device;
  Selection elements;

  // Valid unless `all` is true.
  int64_t count() const {
    return on_device.has_value() ? on_device->count : elements.size();
  }
};

// Not thread-safe. Made for one backend, one vector length and one worker.
class Selector {
 public:
  virtual ~Selector() = default;

  // Forms the vector to choose from, out = residual + gradient, and its
  // moments. The default is SparseKernels::AddAndMeasure; a selector may
  // override it to look for candidates in the same pass. If all elements are
  // finite, Select of that vector follows.
  virtual absl::Status AddAndMeasure(SparseKernels* kernels,
                                     const float* residual,
                                     const float* gradient, int64_t n,
                                     float* out, Moments* moments) {
    return kernels->AddAndMeasure(residual, gradient, n, out, moments);
  }

  // Fills *selected, which is empty on entry but keeps the memory of earlier
  // calls, and the fields threshold, raw_count, stages and fallback of *stats.
  virtual absl::Status Select(const SelectorInput& input, Selected* selected,
                              CompressionStats* stats) = 0;

  // State that the next choice depends on besides its input. Load changes
  // nothing on failure, and ends with state->Finish().
  virtual void Save(StateWriter*) const {}
  virtual absl::Status Load(StateReader* state) { return state->Finish(); }
};

}  // namespace ps

#endif  // COMPRESSORS_SELECTORS_SELECTOR_H_
