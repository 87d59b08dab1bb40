#include "tests/tensor/cuda/layers/device_sparse_kernels.h"

#include <cstdint>
#include <vector>

namespace ps {
namespace {

class DeviceSparseKernels final : public SparseKernels {
 public:
  explicit DeviceSparseKernels(LayerDevice* device) : device_(device) {}

  absl::Status Scale(const ScaledVector&, int64_t, float*) override {
    return Refusal();
  }
  absl::Status AddScaled(const ScaledVector&, const ScaledVector&, int64_t,
                         float*) override {
    return Refusal();
  }
  absl::Status Clear(float* u, int64_t n) override {
    return device_->Zero(n * static_cast<int64_t>(sizeof(float)), u);
  }

  absl::Status AddAndMeasure(const float*, const float*, int64_t, float*,
                             Moments*) override {
    return Refusal();
  }
  absl::Status SumMagnitudes(const float*, int64_t, Moments*) override {
    return Refusal();
  }
  absl::Status SumValues(const float*, int64_t, double*) override {
    return Refusal();
  }
  absl::Status SumLogs(const float*, int64_t, double*) override {
    return Refusal();
  }
  absl::Status SumSquares(const float*, int64_t, double*) override {
    return Refusal();
  }
  std::unique_ptr<Sieve> NewSieve() override { return nullptr; }
  absl::Status CountMagnitudes(const float*, int64_t, const MagnitudeBins&,
                               std::vector<int64_t>*) override {
    return Refusal();
  }
  absl::Status SelectEqual(const float*, int64_t, float, int64_t,
                           Selection*) override {
    return Refusal();
  }
  absl::Status Gather(const float*, Selection*) override { return Refusal(); }
  absl::Status GatherTo(const float*, const std::vector<uint32_t>&,
                        float*) override {
    return Refusal();
  }
  absl::Status Scatter(const Selection&, float*) override { return Refusal(); }
  absl::Status AddAt(const Selection&, float*) override { return Refusal(); }

 private:
  static absl::Status Refusal() {
    return absl::UnimplementedError("not one of the layers' vector operations");
  }

  LayerDevice* const device_;  // Not owned.
};

}  // namespace

std::unique_ptr<SparseKernels> NewDeviceSparseKernels(LayerDevice* device) {
  return std::make_unique<DeviceSparseKernels>(device);
}

}  // namespace ps
