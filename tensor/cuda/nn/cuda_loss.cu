// Softmax cross entropy on CUDA, with one block for each row of logits.

#include <math.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/layer_device/block.cuh"
#include "tensor/cuda/layer_device/elementwise.cuh"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/cuda_nn_kernels.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

struct RowResult {
  double loss;  // -ln softmax(logits)[label].
  // The number of logits that are larger than the label's, or equal and before
  // it. If the label's logit is NaN, the number of all logits.
  int64_t rank;
};

// logits: [rows, classes]; labels, results: [rows]. gradient: [rows, classes];
// may be the logits, or null for no gradient. Exponentials are floats; their
// sum is a double.
template <typename T>
__global__ void __launch_bounds__(kBlockThreads)
    SoftmaxKernel(int64_t classes, const T* logits, const int32_t* labels,
                  float gradient_scale, T* gradient, RowResult* results) {
  const int64_t row = blockIdx.x;
  const T* const x = logits + row * classes;
  const int64_t label = labels[row];
  const float label_logit = x[label];
  float largest = -INFINITY;
  int64_t before = 0;
  for (int64_t c = threadIdx.x; c < classes; c += kBlockThreads) {
    const float logit = x[c];
    largest = largest < logit ? logit : largest;
    // A NaN is not below anything, and so ranks above everything.
    const bool below = c < label ? logit < label_logit : logit <= label_logit;
    if (!below) ++before;
  }
  const float max =
      ReduceBlock(largest, [](float a, float b) { return a < b ? b : a; });
  const int64_t rank = ReduceBlock(before, Add());
  double part = 0;
  for (int64_t c = threadIdx.x; c < classes; c += kBlockThreads) {
    part += expf(x[c] - max);
  }
  const double sum = ReduceBlock(part, Add());
  if (threadIdx.x == 0) {
    results[row] = {log(sum) + (static_cast<double>(max) - label_logit), rank};
  }
  if (gradient == nullptr) return;
  const float scale = static_cast<float>(gradient_scale / sum);
  for (int64_t c = threadIdx.x; c < classes; c += kBlockThreads) {
    float value = expf(x[c] - max) * scale;
    if (c == label) value -= gradient_scale;
    gradient[row * classes + c] = value;
  }
}

template <typename T>
class CudaSoftmaxCrossEntropy final : public SoftmaxCrossEntropyOp {
 public:
  CudaSoftmaxCrossEntropy(LayerDevice* device, int64_t batch, int64_t classes)
      : device_(device), batch_(batch), classes_(classes) {}

  absl::Status Allocate() {
    PS_ASSIGN_OR_RETURN(labels_, DeviceArray<int32_t>::Create(device_, batch_));
    PS_ASSIGN_OR_RETURN(results_,
                        DeviceArray<RowResult>::Create(device_, batch_));
    PS_ASSIGN_OR_RETURN(host_labels_,
                        device_->AllocateHost(labels_.size_bytes()));
    PS_ASSIGN_OR_RETURN(host_results_,
                        device_->AllocateHost(results_.size_bytes()));
    return absl::OkStatus();
  }

  absl::StatusOr<Result> Run(const float* logits, const int32_t* labels,
                             float* dlogits) override {
    for (int64_t i = 0; i < batch_; ++i) {
      if (labels[i] < 0 || labels[i] >= classes_) {
        return absl::InvalidArgumentError(
            absl::StrCat("label ", labels[i], " of example ", i,
                         " of the batch; there are ", classes_, " classes"));
      }
    }
    std::copy_n(labels, batch_, static_cast<int32_t*>(host_labels_.get()));
    PS_RETURN_IF_ERROR(device_->CopyFromHost(
        host_labels_.get(), labels_.size_bytes(), labels_.data()));
    PS_RETURN_IF_ERROR(LaunchKernel(
        device_, "Softmax", batch_, SoftmaxKernel<T>, classes_,
        Elements<T>(logits), labels_.data(), 1 / static_cast<float>(batch_),
        Elements<T>(dlogits), results_.data()));
    PS_RETURN_IF_ERROR(device_->CopyToHost(
        results_.data(), results_.size_bytes(), host_results_.get()));
    return Summary();
  }

 private:
  Result Summary() const {
    const auto* const rows = static_cast<const RowResult*>(host_results_.get());
    Result result;
    for (int64_t i = 0; i < batch_; ++i) {
      result.loss += rows[i].loss / static_cast<double>(batch_);
      if (rows[i].rank < 1) ++result.correct;
      if (rows[i].rank < 5) ++result.correct_top5;
    }
    return result;
  }

  LayerDevice* const device_;  // Not owned.
  const int64_t batch_;
  const int64_t classes_;
  DeviceArray<int32_t> labels_;
  DeviceArray<RowResult> results_;
  std::shared_ptr<void> host_labels_;   // int32_t [batch]
  std::shared_ptr<void> host_results_;  // RowResult [batch]
};

}  // namespace

absl::StatusOr<std::unique_ptr<SoftmaxCrossEntropyOp>>
CudaNnKernels::PlanSoftmaxCrossEntropy(const ActivationDesc& logits) {
  const std::string what =
      absl::StrCat("softmax cross entropy of ", ShapeString(logits.shape));
  PS_ASSIGN_OR_RETURN(const Storage storage, CheckCudaActivation(what, logits));
  if (logits.shape.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": needs logits [batch, classes]"));
  }
  using Planned = absl::StatusOr<std::unique_ptr<SoftmaxCrossEntropyOp>>;
  return WithElementOf(storage, [&](auto element) -> Planned {
    auto op = std::make_unique<CudaSoftmaxCrossEntropy<decltype(element)>>(
        device(), logits.shape[0], logits.shape[1]);
    PS_RETURN_IF_ERROR(op->Allocate());
    return op;
  });
}

}  // namespace ps
