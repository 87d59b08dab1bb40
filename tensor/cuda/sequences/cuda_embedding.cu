// Embeddings on CUDA: rows of a table by number, and their gradients, added in
// the order of the tokens. Forward waits for the device, to report whether all
// tokens are row numbers.

#include <math.h>

#include <cstdint>
#include <cub/device/device_radix_sort.cuh>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/layer_device/block.cuh"
#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/elementwise.cuh"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/sequences/cuda_sequence_kernels.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

// The first position where rows[i] is negative, or n. One block.
__global__ void __launch_bounds__(kBlockThreads)
    FirstNegativeKernel(const int32_t* rows, int64_t n, int64_t* result) {
  int64_t first = n;
  for (int64_t i = threadIdx.x; i < n && first == n; i += kBlockThreads) {
    if (rows[i] < 0) first = i;
  }
  first =
      ReduceBlock(first, [](int64_t a, int64_t b) { return b < a ? b : a; });
  if (threadIdx.x == 0) *result = first;
}

// A key for sorting positions: first the row, then the position, so that all
// keys differ and their order is unique. Requires fewer than 2^32 tokens.
__device__ inline uint64_t Key(int32_t row, int64_t position) {
  return (static_cast<uint64_t>(row) << 32) | static_cast<uint64_t>(position);
}
__device__ inline int64_t RowOf(uint64_t key) {
  return static_cast<int64_t>(key >> 32);
}
__device__ inline int64_t PositionOf(uint64_t key) {
  return static_cast<int64_t>(key & 0xffffffffu);
}

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
    PS_RETURN_IF_ERROR(Sort(nullptr));
    return device_->ReserveScratch(static_cast<int64_t>(sort_bytes_));
  }

  absl::Status Forward(const float* tokens, const float* table,
                       float* result) override {
    const int64_t num_rows = shape_.num_rows;
    int32_t* const rows = rows_.data();
    PS_RETURN_IF_ERROR(LaunchElements(
        device_, "TokenRows", num_tokens_, [=] __device__(int64_t i) {
          const float token = tokens[i];
          // Written so that NaN is rejected too.
          const bool valid = token >= 0 &&
                             token < static_cast<float>(num_rows) &&
                             token == floorf(token);
          rows[i] = valid ? static_cast<int32_t>(token) : -1;
        }));
    PS_RETURN_IF_ERROR(CheckRows(tokens));
    const Divisor features(shape_.features);
    T* const y = Elements<T>(result);
    return LaunchElements(
        device_, "Embedding", NumElements(output_.shape),
        [=] __device__(int64_t i) {
          int64_t feature = 0;
          const int64_t position = features.Divide(i, &feature);
          y[i] = table[rows[position] * features.value() + feature];
        });
  }

  // The thread of a row's first key adds up all of them.
  absl::Status AddGradient(const float* gradient, float* dtable) override {
    const int32_t* const rows = rows_.data();
    uint64_t* const keys = keys_.data();
    PS_RETURN_IF_ERROR(LaunchElements(
        device_, "EmbeddingKeys", num_tokens_,
        [=] __device__(int64_t i) { keys[i] = Key(rows[i], i); }));
    PS_RETURN_IF_ERROR(Sort(device_->scratch()));
    const Divisor features(shape_.features);
    const uint64_t* const sorted = sorted_keys_.data();
    const int64_t num_keys = num_tokens_;
    const T* const dy = Elements<T>(gradient);
    return LaunchElements(
        device_, "EmbeddingGradient", NumElements(output_.shape),
        [=] __device__(int64_t i) {
          int64_t feature = 0;
          const int64_t first = features.Divide(i, &feature);
          const int64_t row = RowOf(sorted[first]);
          if (first > 0 && RowOf(sorted[first - 1]) == row) return;
          float sum = dtable[row * features.value() + feature];
          for (int64_t k = first; k < num_keys && RowOf(sorted[k]) == row;
               ++k) {
            sum += dy[PositionOf(sorted[k]) * features.value() + feature];
          }
          dtable[row * features.value() + feature] = sum;
        });
  }

 private:
  // Returns an error unless every token is a row number.
  absl::Status CheckRows(const float* tokens) {
    PS_RETURN_IF_ERROR(LaunchKernel(device_, "FirstNegative", 1,
                                    FirstNegativeKernel, rows_.data(),
                                    num_tokens_, first_bad_.data()));
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

  // Sorts the keys; without scratch, sets sort_bytes_ to the size that it
  // needs. CUB's radix sort is stable and uses no atomics on values, so that
  // the order of different keys does not depend on scheduling.
  absl::Status Sort(void* scratch) {
    PS_RETURN_IF_ERROR(device_->MakeCurrent());
    cudaError_t error = cub::DeviceRadixSort::SortKeys(
        scratch, sort_bytes_, keys_.data(), sorted_keys_.data(), num_tokens_,
        /*begin_bit=*/0, /*end_bit=*/64, device_->stream());
    return device_->ToStatus(error, "cub::DeviceRadixSort");
  }

  LayerDevice* const device_;  // Not owned.
  const EmbeddingShape shape_;
  const int64_t num_tokens_;
  const ActivationDesc output_;
  DeviceArray<int32_t> rows_;  // Rows that the latest tokens name.
  DeviceArray<uint64_t> keys_;
  DeviceArray<uint64_t> sorted_keys_;
  size_t sort_bytes_ = 0;
  DeviceArray<int64_t> first_bad_;
  std::shared_ptr<void> host_;  // One number, copied from the device.
};

}  // namespace

absl::StatusOr<std::unique_ptr<EmbeddingOp>> CudaSequenceKernels::PlanEmbedding(
    const EmbeddingShape& shape, const ActivationDesc& tokens) {
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
  return WithElementOf(device()->storage(), [&](auto element) -> Planned {
    auto op = std::make_unique<CudaEmbedding<decltype(element)>>(
        device(), shape, tokens.shape);
    PS_RETURN_IF_ERROR(op->Allocate());
    return op;
  });
}

}  // namespace ps
