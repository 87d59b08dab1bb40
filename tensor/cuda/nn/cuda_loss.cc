#include "tensor/cuda/nn/cuda_loss.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/softmax_core.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

template <typename T>
class CudaSoftmaxCrossEntropy final : public SoftmaxCrossEntropyOp {
 public:
  CudaSoftmaxCrossEntropy(LayerDevice* device, int64_t batch, int64_t classes)
      : device_(device), batch_(batch), classes_(classes) {}

  absl::Status Allocate() {
    PS_ASSIGN_OR_RETURN(labels_, DeviceArray<int32_t>::Create(device_, batch_));
    PS_ASSIGN_OR_RETURN(results_,
                        DeviceArray<SoftmaxRowResult>::Create(device_, batch_));
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
    SoftmaxCore<T> core;
    core.classes = classes_;
    core.logits = Elements<T>(logits);
    core.labels = labels_.data();
    core.gradient = Elements<T>(dlogits);
    core.gradient_scale = 1 / static_cast<float>(batch_);
    core.results = results_.data();
    PS_RETURN_IF_ERROR(device_->Run(core, batch_));
    PS_RETURN_IF_ERROR(device_->CopyToHost(
        results_.data(), results_.size_bytes(), host_results_.get()));
    return Summary();
  }

 private:
  Result Summary() const {
    const auto* const rows =
        static_cast<const SoftmaxRowResult*>(host_results_.get());
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
  DeviceArray<SoftmaxRowResult> results_;
  std::shared_ptr<void> host_labels_;   // int32_t [batch]
  std::shared_ptr<void> host_results_;  // SoftmaxRowResult [batch]
};

}  // namespace

absl::StatusOr<std::unique_ptr<SoftmaxCrossEntropyOp>>
PlanCudaSoftmaxCrossEntropy(LayerDevice* device, const ActivationDesc& logits) {
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
        device, logits.shape[0], logits.shape[1]);
    PS_RETURN_IF_ERROR(op->Allocate());
    return op;
  });
}

}  // namespace ps
