// Dropout on CUDA. It drops the same elements as the CPU for the same key and
// positions (tensor/cpu/cpu_dropout.cc); a test checks this.

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "tensor/cuda/layer_device/elementwise.cuh"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/cuda_nn_kernels.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

// The number of elements that share a key, as a power of 2, and the bits of
// each draw.
constexpr int kChunkBits = 16;
constexpr int kDrawBits = 24;

// tensor/cpu/cpu_dropout_loops.cc
__device__ inline uint32_t Mix32(uint32_t v) {
  v ^= v >> 16;
  v *= 0x7feb352du;
  v ^= v >> 15;
  v *= 0x846ca68bu;
  return v ^ (v >> 16);
}

template <typename T>
class CudaDropout final : public DropoutOp {
 public:
  CudaDropout(LayerDevice* device, double probability,
              const ActivationDesc& output)
      : device_(device),
        drop_below_(
            static_cast<int32_t>(std::lround(probability * (1 << kDrawBits)))),
        scale_(static_cast<float>(1 / (1 - probability))),
        output_(output) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(uint64_t key, const float* x, float* y) override {
    key_ = key;
    return Run(x, y);
  }
  absl::Status Backward(const float* dy, float* dx) override {
    return Run(dy, dx);
  }

  absl::Status Run(const float* from, float* to) {
    const uint64_t key = key_;
    const int32_t drop_below = drop_below_;
    const float scale = scale_;
    return LaunchPlacedPackets(
        device_, "Dropout", NumElements(output_.shape),
        [=] __device__(int64_t first, int k, float x) {
          // The same for all of the packet, whose length divides a chunk's.
          const uint64_t chunk_key =
              RandomKey(key, static_cast<uint64_t>(first) >> kChunkBits);
          const uint32_t number = static_cast<uint32_t>(first + k) &
                                  ((uint32_t{1} << kChunkBits) - 1);
          const uint32_t hash =
              Mix32(Mix32(number ^ static_cast<uint32_t>(chunk_key)) +
                    static_cast<uint32_t>(chunk_key >> 32));
          const int32_t draw = static_cast<int32_t>(hash >> (32 - kDrawBits));
          return draw < drop_below ? 0.0f : x * scale;
        },
        Elements<T>(to), Elements<T>(from));
  }

 private:
  LayerDevice* const device_;  // Not owned.
  const int32_t drop_below_;   // In units of 2^-kDrawBits.
  const float scale_;
  const ActivationDesc output_;
  uint64_t key_ = 0;  // Key of the latest Forward.
};

}  // namespace

absl::StatusOr<std::unique_ptr<DropoutOp>> CudaNnKernels::PlanDropout(
    double probability, const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("dropout of ", ShapeString(input.shape));
  PS_ASSIGN_OR_RETURN(const Storage storage, CheckCudaActivation(what, input));
  // Written so that NaN is rejected too.
  if (!(probability >= 0 && probability < 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, ": the probability is ", probability, "; must be in [0, 1)"));
  }
  return WithElementOf(
      storage, [&](auto element) -> std::unique_ptr<DropoutOp> {
        return std::make_unique<CudaDropout<decltype(element)>>(
            device(), probability, input);
      });
}

}  // namespace ps
