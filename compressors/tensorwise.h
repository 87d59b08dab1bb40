// Implements a compressor that treats each tensor separately and writes a code
// of its own, for AdaComp and PowerSGD.
#ifndef COMPRESSORS_TENSORWISE_H_
#define COMPRESSORS_TENSORWISE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compressors/compressor.h"
#include "compressors/payload/payload_format.h"
#include "compressors/state_io.h"
#include "tensor/sparse_kernels.h"
#include "tensor/tensor.h"

namespace ps {

// Elements [begin, end) of the vector.
struct TensorRange {
  int64_t begin = 0;
  int64_t end = 0;
  Shape shape;  // The shape; empty if it is not known.

  int64_t size() const { return end - begin; }
};

// Returns the tensors of the vector that are not empty.
std::vector<TensorRange> TensorRanges(const CompressorOptions& options);

// The input of Compress; residual + gradient is finite.
struct TensorwiseInput {
  const Tensor* residual = nullptr;
  const Tensor* gradient = nullptr;
  Moments moments;  // The moments of residual + gradient.
};

// Selects and writes the values of each tensor. Not thread-safe; created for
// one list of tensors.
class TensorCoder {
 public:
  virtual ~TensorCoder() = default;

  virtual IndexCode index_code() const = 0;
  virtual ValueCode value_code() const = 0;

  // Selects the values to send, and replaces *u, which holds residual +
  // gradient, with what is kept. May set threshold and fallback of *stats.
  virtual absl::Status Decide(const TensorwiseInput& input, Tensor* u,
                              CompressionStats* stats) = 0;

  // Appends the selected values of elements [begin, end) of a tensor, counted
  // from the tensor's own begin; the range is not empty. Returns the number of
  // elements sent.
  virtual int64_t Append(size_t tensor, int64_t begin, int64_t end,
                         std::vector<uint8_t>* bytes) const = 0;

  // Save and load the state that the next decision depends on besides its
  // input. Load changes nothing on failure, and ends with state->Finish().
  virtual void Save(StateWriter*) const {}
  virtual absl::Status Load(StateReader* state) { return state->Finish(); }
};

// Creates the compressor. `coder` numbers tensors as TensorRanges does. Errors:
// kResourceExhausted.
absl::StatusOr<std::unique_ptr<Compressor>> NewTensorwiseCompressor(
    const CompressorOptions& options, std::unique_ptr<TensorCoder> coder);

}  // namespace ps

#endif  // COMPRESSORS_TENSORWISE_H_
