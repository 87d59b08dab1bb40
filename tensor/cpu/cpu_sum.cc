#include "tensor/cpu/cpu_sum.h"

#include <cstdint>

#include "tensor/cpu/cpu_scaling_loops.h"

namespace ps {
namespace {

// The number of elements that a thread takes at a time.
constexpr int64_t kChunk = 64 * 1024;

class CpuSum final : public SumOp {
 public:
  // `n` is the number of elements, including those in the layout's gaps.
  CpuSum(ThreadPool* pool, int64_t n) : pool_(pool), n_(n) {}

  absl::Status Run(const float* a, const float* b, float* y) override {
    pool_->ParallelFor(n_, kChunk, [&](const ChunkRange& chunk) {
      const int64_t n = chunk.end - chunk.begin;
      if (b == nullptr) {
        ScaleChunk({a + chunk.begin, 1}, n, y + chunk.begin);
      } else {
        AddScaledChunk({a + chunk.begin, 1}, {b + chunk.begin, 1}, n,
                       y + chunk.begin);
      }
    });
    return absl::OkStatus();
  }

 private:
  ThreadPool* const pool_;  // Not owned.
  const int64_t n_;
};

}  // namespace

std::unique_ptr<SumOp> NewCpuSum(ThreadPool* pool,
                                 const ActivationDesc& input) {
  return std::make_unique<CpuSum>(pool, input.num_floats);
}

}  // namespace ps
