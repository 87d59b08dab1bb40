// A block of the device's threads as loops on the host: see
// tensor/cuda/sparse/cores/host_device.h.
#ifndef TESTS_TENSOR_CUDA_HOST_BLOCK_H_
#define TESTS_TENSOR_CUDA_HOST_BLOCK_H_

#include <cstdint>
#include <memory>

#include "tensor/cuda/sparse/cores/elements.h"

namespace ps {

// The order in which the threads of a phase run. Results of correct phases do
// not depend on it, since no thread reads what another one writes in the same
// phase.
enum class ThreadOrder {
  kForward,
  kBackward,
  kMixed,
};

class HostBlock {
 public:
  explicit HostBlock(ThreadOrder order) : order_(order) {}

  template <class T>
  class PerThread {
   public:
    T& operator[](int thread) { return values_[thread]; }

   private:
    std::unique_ptr<T[]> values_ = std::make_unique<T[]>(kSparseThreads);
  };

  template <class Body>
  void Phase(const Body& body) {
    for (int i = 0; i < kSparseThreads; ++i) body(Thread(i));
  }

  template <class Body>
  void Each(const Body& body) {
    Phase(body);
  }

  template <class Put>
  int Pack(PerThread<uint32_t>& masks, PackTileShared*, const Put& put) {
    int ranks[kItemsPerThread * kSparseThreads];
    int rank = 0;
    for (int i = 0; i < kItemsPerThread * kSparseThreads; ++i) {
      ranks[i] = rank;
      rank += masks[i % kSparseThreads] >> i / kSparseThreads & 1;
    }
    Phase([&](int thread) {
      for (int k = 0; k < kItemsPerThread; ++k) {
        if ((masks[thread] >> k & 1) == 0) continue;
        put(thread, k, ranks[k * kSparseThreads + thread]);
      }
    });
    return rank;
  }

 private:
  int Thread(int i) const {
    switch (order_) {
      case ThreadOrder::kForward:
        return i;
      case ThreadOrder::kBackward:
        return kSparseThreads - 1 - i;
      case ThreadOrder::kMixed:
        // 77 is odd, so every thread runs once.
        return (i * 77 + 13) % kSparseThreads;
    }
    return i;
  }

  const ThreadOrder order_;
};

}  // namespace ps

#endif  // TESTS_TENSOR_CUDA_HOST_BLOCK_H_
