// Converts an argument into the layout that a primitive needs, or a result back
// from it.
#ifndef TENSOR_CPU_LAYOUT_CHANGE_H_
#define TENSOR_CPU_LAYOUT_CHANGE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "tensor/cpu/dnnl_step.h"

namespace ps {

// The part of the shared scratch memory that one call uses: its copies lie one
// after the other.
class ScratchSpace {
 public:
  // Adds `size_bytes` and returns their offset, in floats.
  int64_t Add(int64_t size_bytes);
  int64_t num_floats() const { return num_floats_; }

 private:
  int64_t num_floats_ = 0;
};

// Copies between the caller's memory and the shared scratch memory; does
// nothing if both layouts agree. Not thread-safe.
class LayoutChange {
 public:
  enum class Kind { kActivation, kWeights };  // Activations are counted.

  // Creates an object that changes nothing.
  LayoutChange() = default;

  // Returns a change from the caller's layout to the primitive's, for Import.
  static LayoutChange Into(const DnnlContext& context, Kind kind,
                           const dnnl::memory::desc& given,
                           const dnnl::memory::desc& wanted,
                           ScratchSpace* space);
  // Returns the change back to the caller's layout, for Target and Export.
  static LayoutChange OutOf(const DnnlContext& context, Kind kind,
                            const dnnl::memory::desc& made,
                            const dnnl::memory::desc& given,
                            ScratchSpace* space);

  // Returns the address the primitive reads from: `data`, or a copy of it in
  // the scratch memory.
  absl::StatusOr<const float*> Import(const float* data);

  // Returns the address the primitive writes to, before Export(data).
  float* Target(float* data) const {
    return step_.has_value() ? scratch() : data;
  }
  absl::Status Export(float* data);

 private:
  float* scratch() const { return context_->scratch->data() + offset_; }
  void Plan(const DnnlContext& context, Kind kind,
            const dnnl::memory::desc& from, const dnnl::memory::desc& to);
  absl::Status Run(const float* from, float* to);

  const DnnlContext* context_ = nullptr;  // Not owned.
  Kind kind_ = Kind::kActivation;
  std::optional<DnnlStep> step_;
  int64_t offset_ = 0;  // The offset in the scratch, in floats.
};

}  // namespace ps

#endif  // TENSOR_CPU_LAYOUT_CHANGE_H_
