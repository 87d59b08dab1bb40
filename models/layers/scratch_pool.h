// Provides memory that layers use in turn, such as the gradient of an
// activation while the layer below computes its own gradient from it.
#ifndef MODELS_LAYERS_SCRATCH_POOL_H_
#define MODELS_LAYERS_SCRATCH_POOL_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "common/status_macros.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"

namespace ps {

// Scratch memory in slots. A chain of layers at depth d uses slot
// kSlotsPerDepth x d and the next one. A composite layer in this chain uses the
// two slots after those for itself, and depth d + 1 for its own chains. Not
// thread-safe.
class ScratchPool {
 public:
  static constexpr int kSlotsPerDepth = 4;

  static int ChainSlot(int depth, int64_t turn) {
    return kSlotsPerDepth * depth + static_cast<int>(turn % 2);
  }
  static int CompositeSlot(int depth, int64_t turn) {
    return ChainSlot(depth, turn) + 2;
  }

  // Requires `slot` to hold at least this many floats; call it when planning.
  void Reserve(int slot, int64_t num_floats) {
    if (slot >= static_cast<int>(sizes_.size())) sizes_.resize(slot + 1);
    sizes_[slot] = std::max(sizes_[slot], num_floats);
  }

  // Allocates the slots; call it once, after planning.
  absl::Status Allocate(Backend* backend) {
    for (const int64_t size : sizes_) {
      PS_ASSIGN_OR_RETURN(slots_.emplace_back(), backend->Allocate({size}));
    }
    return absl::OkStatus();
  }

  // Returns the slot, which was reserved before Allocate.
  float* data(int slot) { return slots_[slot].data(); }

  int64_t num_floats() const {
    int64_t sum = 0;
    for (const int64_t size : sizes_) sum += size;
    return sum;
  }

 private:
  std::vector<int64_t> sizes_;  // The size of each slot, [slot], in floats.
  std::vector<Tensor> slots_;
};

}  // namespace ps

#endif  // MODELS_LAYERS_SCRATCH_POOL_H_
