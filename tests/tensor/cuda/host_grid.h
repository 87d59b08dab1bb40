// A grid of the device's blocks as loops on the host: see
// tensor/cuda/sparse/cores/host_device.h.
#ifndef TESTS_TENSOR_CUDA_HOST_GRID_H_
#define TESTS_TENSOR_CUDA_HOST_GRID_H_

#include <cstdint>
#include <cstring>
#include <memory>

#include "tests/tensor/cuda/host_block.h"

namespace ps {

// The order of blocks is derived from the order of threads.
template <class Shared>
class HostGrid {
 public:
  HostGrid(ThreadOrder order, int64_t num_blocks)
      : order_(order), num_blocks_(num_blocks) {}

  template <class Body>
  void Phase(const Body& body) {
    for (int64_t i = 0; i < num_blocks_; ++i) {
      const int64_t b =
          order_ == ThreadOrder::kForward ? i : num_blocks_ - 1 - i;
      RunBlock([&](HostBlock& block, Shared* shared) {
        body(block, b, num_blocks_, shared);
      });
    }
  }

  template <class Body>
  void Final(const Body& body) {
    Phase(body);
  }

  template <class Body, class Last>
  void Phase(const Body& body, const Last& last) {
    Phase(body);
    RunBlock(last);
  }

 private:
  template <class Body>
  void RunBlock(const Body& body) {
    const auto shared = std::make_unique<Shared>();
    // Leftovers of another phase must not matter.
    std::memset(static_cast<void*>(shared.get()), 0xcd, sizeof(Shared));
    HostBlock block(order_);
    body(block, shared.get());
  }

  const ThreadOrder order_;
  const int64_t num_blocks_;
};

}  // namespace ps

#endif  // TESTS_TENSOR_CUDA_HOST_GRID_H_
