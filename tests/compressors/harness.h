// A compressor on the CPU with its residual, for tests.
#ifndef TESTS_COMPRESSORS_HARNESS_H_
#define TESTS_COMPRESSORS_HARNESS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "compressors/compressor.h"
#include "compressors/payload/payload.h"
#include "tensor/backend.h"

namespace ps {

struct HarnessOptions {
  CompressorConfig config;
  int64_t dense_size = 0;
  std::vector<int64_t> part_ends;
  std::vector<TensorSpan> tensors;
  int num_threads = 1;
  uint64_t seed = 0;
  int worker_rank = 0;
  int bucket = 0;
  int num_workers = 1;
  // Used by "auto" (see NewAutomaticCompressor). If null, it always compresses.
  const std::vector<bool>* compressed_buckets = nullptr;
  const SharedPositions* shared_positions = nullptr;
};

// Any failure that a test does not request is a CHECK failure.
class Harness {
 public:
  explicit Harness(const HarnessOptions& options);

  EncodedGradient Compress(const std::vector<float>& gradient);

  std::vector<float> residual() const;
  void set_residual(const std::vector<float>& residual);
  Compressor& compressor() { return *compressor_; }

  // Returns the sum of all parts, [dense_size]; checks that every part is
  // valid.
  std::vector<float> Decode(const EncodedGradient& encoded) const;
  // Returns the positions that were sent, over all parts.
  std::vector<int64_t> Positions(const EncodedGradient& encoded) const;

 private:
  int64_t dense_size_;
  std::vector<int64_t> part_ends_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Compressor> compressor_;
  Tensor residual_;
};

// Tensors with n elements in total: a convolution, a vector, matrices of
// several shapes, and the rest as a vector. Some are empty if n is small.
std::vector<TensorSpan> SomeTensors(int64_t n);

// The status of creating the compressor.
absl::Status NewCompressorStatus(const HarnessOptions& options);

// A config from text: CompressorConfigFrom("name: 'topk' ratio: 0.1").
CompressorConfig CompressorConfigFrom(absl::string_view text);

// The status that NewCompressor returns for this config.
absl::Status Acceptance(const CompressorConfig& config);

// One bit pattern per float: -0.0 differs from 0.0, and NaN equals itself.
std::vector<uint32_t> Bits(const std::vector<float>& values);

// All bytes of all parts.
std::string Bytes(const EncodedGradient& encoded);

}  // namespace ps

#endif  // TESTS_COMPRESSORS_HARNESS_H_
