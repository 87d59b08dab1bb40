#include "tools/bench/compressors/compression_yardstick.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "tools/bench/compressors/device_copy.h"
#include "tools/bench/compressors/stopwatch.h"
#include "tools/bench/memory_passes.h"

namespace ps {
namespace {

class HostYardstick final : public CompressionYardstick {
 public:
  explicit HostYardstick(int64_t elements)
      : sum_(elements), magnitudes_(elements) {}

  double bytes_per_element() const override { return 16; }

  absl::StatusOr<double> BoundMilliseconds(const Tensor& gradient) override {
    const int64_t n = gradient.size();
    return Milliseconds([&] {
      AddPass(gradient.data(), n, sum_.data());
      sink_ += SumMagnitudesPass(sum_.data(), n);
    });
  }

  absl::StatusOr<double> TopKMilliseconds(const Tensor& gradient,
                                          const Tensor& residual,
                                          int64_t k) override {
    const int64_t n = gradient.size();
    // The time of std::nth_element depends on its input.
    std::copy_n(residual.data(), n, sum_.data());
    return Milliseconds([&] {
      AddPass(gradient.data(), n, sum_.data());
      for (int64_t i = 0; i < n; ++i) magnitudes_[i] = std::fabs(sum_[i]);
      std::nth_element(magnitudes_.begin(), magnitudes_.end() - k,
                       magnitudes_.end());
    });
  }

  absl::Status Await() override { return absl::OkStatus(); }

 private:
  std::vector<float> sum_;
  std::vector<float> magnitudes_;
  double sink_ = 0;  // Keeps the read pass from being optimised away.
};

class DeviceYardstick final : public CompressionYardstick {
 public:
  DeviceYardstick(Backend* backend, std::unique_ptr<DeviceCopier> copier,
                  Tensor copy)
      : backend_(backend), copier_(std::move(copier)), copy_(std::move(copy)) {}

  double bytes_per_element() const override { return 12; }

  absl::StatusOr<double> BoundMilliseconds(const Tensor& gradient) override {
    // One copy may be too short for the clock.
    constexpr int kCopies = 8;
    constexpr double kBytesOfCopy = 8;
    PS_RETURN_IF_ERROR(Await());
    absl::Status status;
    const double milliseconds = Milliseconds(
        [&] { status = copier_->Copy(gradient, kCopies, &copy_); });
    PS_RETURN_IF_ERROR(status);
    return milliseconds / kCopies * bytes_per_element() / kBytesOfCopy;
  }

  absl::StatusOr<double> TopKMilliseconds(const Tensor&, const Tensor&,
                                          int64_t) override {
    return std::numeric_limits<double>::quiet_NaN();
  }

  absl::Status Await() override {
    // A copy to the host runs after all work that was queued before it.
    float last;
    return backend_->CopyToHost(copy_.Slice(0, 1), &last);
  }

 private:
  Backend* const backend_;  // Not owned.
  const std::unique_ptr<DeviceCopier> copier_;
  Tensor copy_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CompressionYardstick>> NewCompressionYardstick(
    int64_t elements, Backend* backend) {
  SparseWork* const work = backend->sparse().device_work();
  if (work == nullptr) return std::make_unique<HostYardstick>(elements);
  PS_ASSIGN_OR_RETURN(Tensor copy, backend->Allocate({elements}));
  return std::make_unique<DeviceYardstick>(
      backend, NewOnDevice<DeviceCopier>(work), std::move(copy));
}

}  // namespace ps
