#include "tests/tensor/staged_call.h"

#include <utility>

#include "common/status_macros.h"

namespace ps {

StagedCall::Argument* StagedCall::Find(const float* host, int64_t n,
                                       int64_t offset) {
  for (Argument& argument : arguments_) {
    if (argument.host == host && argument.device.size() >= n) return &argument;
  }
  arguments_.emplace_back();
  Argument& added = arguments_.back();
  added.host = host;
  if (host == nullptr) return &added;
  absl::StatusOr<Tensor> tensor = device_->Allocate({n + offset});
  if (tensor.ok()) {
    added.device = tensor->Slice(offset, n + offset);
    status_.Update(device_->CopyFromHost(host, &added.device));
  }
  status_.Update(tensor.status());
  return &added;
}

float* StagedCall::Written(float* host, int64_t n, int64_t offset) {
  Argument* const argument = Find(host, n, offset);
  argument->written = host;
  return argument->data();
}

absl::Status StagedCall::Finish(const absl::Status& status) {
  status_.Update(status);
  for (const Argument& argument : arguments_) {
    if (!status_.ok()) break;
    if (argument.written == nullptr) continue;
    status_.Update(device_->CopyToHost(argument.device, argument.written));
  }
  return status_;
}

}  // namespace ps
