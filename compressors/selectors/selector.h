// Decides which elements are sent: what makes one compressor differ from
// another. A Sparsifier does the rest.
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
  const float* u = nullptr;  // The backend's memory.
  int64_t n = 0;             // At least 1.
  Moments moments;           // As the selector's own AddAndMeasure took them.
};

struct Selected {
  // Every element, zeros too; `elements` is then not looked at.
  bool all = false;
  // Elements that were left in the backend's memory, for a selector of a
  // backend that has a device_work(); `elements` is then not looked at. Valid
  // until the selector's next call.
  std::optional<DeviceSelection> on_device;
  Selection elements;

  // Unless all are.
  int64_t count() const {
    return on_device.has_value() ? on_device->count : elements.size();
  }
};

// Not thread-safe. Made for one backend, one length of vector and one worker.
class Selector {
 public:
  virtual ~Selector() = default;

  // Forms the vector to choose from, out = residual + gradient, and its
  // moments: as SparseKernels::AddAndMeasure, which it is, unless a selector
  // knows what to look for in the same pass. Select of that vector follows, if
  // all elements are finite.
  virtual absl::Status AddAndMeasure(SparseKernels* kernels,
                                     const float* residual,
                                     const float* gradient, int64_t n,
                                     float* out, Moments* moments) {
    return kernels->AddAndMeasure(residual, gradient, n, out, moments);
  }

  // Fills *selected, which comes empty but with the memory of earlier calls,
  // and of *stats: threshold, raw_count, stages, fallback.
  virtual absl::Status Select(const SelectorInput& input, Selected* selected,
                              CompressionStats* stats) = 0;

  // What the next choice depends on besides its input. Load changes nothing
  // unless it succeeds, and ends with state->Finish().
  virtual void Save(StateWriter*) const {}
  virtual absl::Status Load(StateReader* state) { return state->Finish(); }
};

}  // namespace ps

#endif  // COMPRESSORS_SELECTORS_SELECTOR_H_
