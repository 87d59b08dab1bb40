// The way of an argument into the layout that a primitive wants, or of a result
// back from it.
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

// The part of the shared scratch that one call uses: its copies lie one after
// the other.
class ScratchSpace {
 public:
  // The offset of `size_bytes` more, in floats.
  int64_t Add(int64_t size_bytes);
  int64_t num_floats() const { return num_floats_; }

 private:
  int64_t num_floats_ = 0;
};

// Between the caller's memory and a copy in the shared scratch; nothing where
// both layouts agree. Not thread-safe.
class LayoutChange {
 public:
  enum class Kind { kActivation, kWeights };  // Activations' are counted.

  // Nothing to change.
  LayoutChange() = default;

  // From the caller's layout to the primitive's, for Import.
  static LayoutChange Into(const DnnlContext& context, Kind kind,
                           const dnnl::memory::desc& given,
                           const dnnl::memory::desc& wanted,
                           ScratchSpace* space);
  // From the primitive's layout to the caller's, for Target and Export.
  static LayoutChange OutOf(const DnnlContext& context, Kind kind,
                            const dnnl::memory::desc& made,
                            const dnnl::memory::desc& given,
                            ScratchSpace* space);

  // Where the primitive reads: `data`, or a copy of it in the scratch.
  absl::StatusOr<const float*> Import(const float* data);

  // Where the primitive writes, before Export(data).
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
  int64_t offset_ = 0;  // In the scratch, in floats.
};

}  // namespace ps

#endif  // TENSOR_CPU_LAYOUT_CHANGE_H_
