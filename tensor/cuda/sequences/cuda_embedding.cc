#include "tensor/cuda/sequences/cuda_embedding.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/sequences/embedding_cores.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

template <typename T>
class CudaEmbedding final : public EmbeddingOp {
 public:
  CudaEmbedding(LayerDevice* device, const EmbeddingShape& shape,
                const Shape& tokens)
      : device_(device),
        shape_(shape),
        num_tokens_(NumElements(tokens)),
        output_(CudaActivation(device->storage(),
                               {tokens[0], tokens[1], shape.features})) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Allocate() {
    PS_ASSIGN_OR_RETURN(rows_,
                        DeviceArray<int32_t>::Create(device_, num_tokens_));
    PS_ASSIGN_OR_RETURN(keys_,
                        DeviceArray<uint64_t>::Create(device_, num_tokens_));
    PS_ASSIGN_OR_RETURN(sorted_keys_,
                        DeviceArray<uint64_t>::Create(device_, num_tokens_));
    PS_ASSIGN_OR_RETURN(first_bad_, DeviceArray<int64_t>::Create(device_, 1));
    PS_ASSIGN_OR_RETURN(host_, device_->AllocateHost(sizeof(int64_t)));
    PS_ASSIGN_OR_RETURN(const int64_t scratch_bytes,
                        device_->SortScratchBytes(num_tokens_));
    return device_->ReserveScratch(scratch_bytes);
  }

  absl::Status Forward(const float* tokens, const float* table,
                       float* y) override {
    TokenRowsCore to_rows;
    to_rows.tokens = tokens;
    to_rows.num_rows = shape_.num_rows;
    to_rows.rows = rows_.data();
    PS_RETURN_IF_ERROR(device_->Run(to_rows, num_tokens_));
    PS_RETURN_IF_ERROR(CheckRows(tokens));
    EmbeddingCore<T> core;
    core.features = Divisor(shape_.features);
    core.rows = rows_.data();
    core.table = table;
    core.y = Elements<T>(y);
    return device_->Run(core, NumElements(output_.shape));
  }

  absl::Status AddGradient(const float* dy, float* dtable) override {
    EmbeddingKeysCore to_keys;
    to_keys.rows = rows_.data();
    to_keys.keys = keys_.data();
    PS_RETURN_IF_ERROR(device_->Run(to_keys, num_tokens_));
    PS_RETURN_IF_ERROR(
        device_->Sort(keys_.data(), num_tokens_, sorted_keys_.data()));
    EmbeddingGradientCore<T> core;
    core.features = Divisor(shape_.features);
    core.sorted_keys = sorted_keys_.data();
    core.num_keys = num_tokens_;
    core.dy = Elements<T>(dy);
    core.dtable = dtable;
    return device_->Run(core, NumElements(output_.shape));
  }

 private:
  // Returns an error unless every token is a row number.
  absl::Status CheckRows(const float* tokens) {
    FirstNegativeCore core;
    core.rows = rows_.data();
    core.n = num_tokens_;
    core.result = first_bad_.data();
    PS_RETURN_IF_ERROR(device_->Run(core, 1));
    PS_RETURN_IF_ERROR(
        device_->CopyToHost(first_bad_.data(), sizeof(int64_t), host_.get()));
    const int64_t position = *static_cast<const int64_t*>(host_.get());
    if (position == num_tokens_) return absl::OkStatus();
    PS_RETURN_IF_ERROR(
        device_->CopyToHost(tokens + position, sizeof(float), host_.get()));
    return absl::InvalidArgumentError(absl::StrCat(
        "token ", *static_cast<const float*>(host_.get()), " at position ",
        position, "; needs a whole number below ", shape_.num_rows));
  }

  LayerDevice* const device_;  // Not owned.
  const EmbeddingShape shape_;
  const int64_t num_tokens_;
  const ActivationDesc output_;
  DeviceArray<int32_t> rows_;  // Rows that the latest tokens name.
  DeviceArray<uint64_t> keys_;
  DeviceArray<uint64_t> sorted_keys_;
  DeviceArray<int64_t> first_bad_;
  std::shared_ptr<void> host_;  // One number, copied from the device.
};

}  // namespace

absl::StatusOr<std::unique_ptr<EmbeddingOp>> PlanCudaEmbedding(
    LayerDevice* device, const EmbeddingShape& shape,
    const ActivationDesc& tokens) {
  // Tokens are floats, which represent integers exactly up to here.
  constexpr int64_t kMaxRows = int64_t{1} << 24;
  if (tokens.shape.size() != 2 || NumElements(tokens.shape) < 1 ||
      tokens.layout != nullptr || shape.num_rows < 1 ||
      shape.num_rows > kMaxRows || shape.features < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "embedding of ", ShapeString(tokens.shape), " in ", shape.num_rows,
        " rows of ", shape.features,
        " features: needs plain tokens [steps, batch], 1 to 2^24 rows, and at "
        "least one feature"));
  }
  if (NumElements(tokens.shape) > std::numeric_limits<uint32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("embedding of ", ShapeString(tokens.shape),
                     ": takes fewer than 2^32 tokens"));
  }
  using Planned = absl::StatusOr<std::unique_ptr<EmbeddingOp>>;
  return WithElementOf(device->storage(), [&](auto element) -> Planned {
    auto op = std::make_unique<CudaEmbedding<decltype(element)>>(device, shape,
                                                                 tokens.shape);
    PS_RETURN_IF_ERROR(op->Allocate());
    return op;
  });
}

}  // namespace ps
