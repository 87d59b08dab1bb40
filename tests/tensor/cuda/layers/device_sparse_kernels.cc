#include "tests/tensor/cuda/layers/device_sparse_kernels.h"

#include <cstdint>
#include <vector>

#include "common/status_macros.h"

namespace ps {
namespace {

constexpr int64_t kFloatBytes = static_cast<int64_t>(sizeof(float));

class DeviceSparseKernels final : public SparseKernels {
 public:
  explicit DeviceSparseKernels(LayerDevice* device) : device_(device) {}

  absl::Status Scale(const ScaledVector& x, int64_t n, float* out) override {
    return AddScaled(x, {x.data, 0}, n, out);
  }

  absl::Status AddScaled(const ScaledVector& x, const ScaledVector& y,
                         int64_t n, float* out) override {
    PS_ASSIGN_OR_RETURN(const std::shared_ptr<void> first, Staged(x.data, n));
    PS_ASSIGN_OR_RETURN(const std::shared_ptr<void> second, Staged(y.data, n));
    float* const sum = static_cast<float*>(first.get());
    const float* const summand = static_cast<const float*>(second.get());
    for (int64_t i = 0; i < n; ++i) {
      sum[i] = x.scale * sum[i] + y.scale * summand[i];
    }
    PS_RETURN_IF_ERROR(device_->CopyFromHost(sum, n * kFloatBytes, out));
    // Waits for the copy, before its source goes.
    return device_->CopyToHost(out, n * kFloatBytes, sum);
  }

  absl::Status Clear(float* u, int64_t n) override {
    return device_->Zero(n * kFloatBytes, u);
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
  absl::Status Scatter(const Selection&, float*) override { return Refusal(); }

 private:
  static absl::Status Refusal() {
    return absl::UnimplementedError("not one of the layers' vector operations");
  }

  // A copy on the host.
  absl::StatusOr<std::shared_ptr<void>> Staged(const float* data, int64_t n) {
    PS_ASSIGN_OR_RETURN(std::shared_ptr<void> host,
                        device_->AllocateHost(n * kFloatBytes));
    PS_RETURN_IF_ERROR(device_->CopyToHost(data, n * kFloatBytes, host.get()));
    return host;
  }

  LayerDevice* const device_;  // Not owned.
};

}  // namespace

std::unique_ptr<SparseKernels> NewDeviceSparseKernels(LayerDevice* device) {
  return std::make_unique<DeviceSparseKernels>(device);
}

}  // namespace ps
