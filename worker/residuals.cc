#include "worker/residuals.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/types/span.h"
#include "common/status_macros.h"
#include "compressors/state_io.h"

namespace ps {
namespace {

// The number of elements processed at a time; they fit into the caches.
constexpr int64_t kStretch = 64 * 1024;

}  // namespace

absl::StatusOr<std::unique_ptr<Residuals>> Residuals::Create(
    const std::vector<Bucket>& buckets, bool may_return, Backend* backend) {
  std::unique_ptr<Residuals> residuals(new Residuals(may_return, backend));
  for (const Bucket& bucket : buckets) {
    PS_ASSIGN_OR_RETURN(Tensor tensor, backend->Allocate({bucket.size()}));
    residuals->tensors_.push_back(std::move(tensor));
    residuals->begins_.push_back(bucket.begin);
  }
  residuals->sent_.resize(buckets.size());
  return residuals;
}

absl::Status Residuals::Clear(int bucket) {
  Tensor& tensor = tensors_[bucket];
  return backend_->sparse().Clear(tensor.data(), tensor.size());
}

absl::Status Residuals::Clear() {
  for (size_t b = 0; b < tensors_.size(); ++b) {
    PS_RETURN_IF_ERROR(Clear(static_cast<int>(b)));
  }
  return absl::OkStatus();
}

absl::Status Residuals::Add(const Tensor& values) {
  for (size_t b = 0; b < tensors_.size(); ++b) {
    float* const residual = tensors_[b].data();
    PS_RETURN_IF_ERROR(backend_->sparse().AddScaled(
        {residual, 1}, {values.data() + begins_[b], 1}, tensors_[b].size(),
        residual));
  }
  return absl::OkStatus();
}

void Residuals::Sent(int bucket, const std::vector<PayloadBuffer>& payloads) {
  if (may_return_) sent_[bucket] = payloads;
}

absl::Status Residuals::PutBack(const Slice& slice) {
  if (!may_return_) return absl::OkStatus();
  const PayloadPieces pieces = {sent_[slice.bucket][slice.index].span()};
  Tensor part = tensors_[slice.bucket].Slice(slice.begin, slice.end);
  staging_.resize(slice.size());
  PS_RETURN_IF_ERROR(backend_->CopyToHost(part, staging_.data()));
  AddPayload(pieces, staging_.data());
  return backend_->CopyFromHost(staging_.data(), &part);
}

absl::StatusOr<std::string> Residuals::Save() const {
  StateWriter writer(kResidualsPart);
  std::vector<float> host;
  for (const Tensor& tensor : tensors_) {
    host.resize(tensor.size());
    PS_RETURN_IF_ERROR(backend_->CopyToHost(tensor, host.data()));
    writer.PutFloats(host);
  }
  return std::move(writer).Finish();
}

absl::Status Residuals::Load(absl::string_view saved) {
  PS_ASSIGN_OR_RETURN(StateReader reader,
                      StateReader::Open(kResidualsPart, saved));
  std::vector<float> host;
  for (Tensor& tensor : tensors_) {
    host.resize(tensor.size());
    PS_RETURN_IF_ERROR(reader.GetFloats(absl::MakeSpan(host)));
    PS_RETURN_IF_ERROR(backend_->CopyFromHost(host.data(), &tensor));
  }
  return reader.Finish();
}

absl::StatusOr<double> Residuals::Norm() const {
  double squares = 0;
  for (const Tensor& tensor : tensors_) {
    double of_bucket = 0;
    PS_RETURN_IF_ERROR(backend_->sparse().SumSquares(
        tensor.data(), tensor.size(), &of_bucket));
    squares += of_bucket;
  }
  return std::sqrt(squares);
}

}  // namespace ps
