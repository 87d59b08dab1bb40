// Applies a compressor to gradients in a file, as a worker of a job would.
#ifndef TOOLS_COMMANDS_COMPRESS_RUN_H_
#define TOOLS_COMMANDS_COMPRESS_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compressors/compressor.h"
#include "proto/compressor_config.pb.h"

namespace ps {

struct CompressRunOptions {
  CompressorConfig compressor;   // Validated.
  std::string gradient_path;     // .npy, float32 [n] or [iterations, n].
  std::string output_directory;  // Created if it does not exist.
  uint64_t seed = 1;             // For random draws, as in a job.
  int threads = 1;
};

struct CompressedIteration {
  CompressionStats stats;
  int64_t payload_bytes = 0;  // Header, values and indices.
  int64_t index_bytes = 0;
  int64_t value_bytes = 0;
  double seconds = 0;  // Time of the compressor alone.
};

struct CompressRunResult {
  int64_t elements = 0;  // In one gradient.
  std::vector<CompressedIteration> iterations;
};

// Starts from a zero residual and compresses the gradients one after the
// other, each as one bucket and one payload. Without error feedback the
// residual is set to zero after each of them. Writes into output_directory
//   indices.npy   int64, positions sent, all iterations one after the other;
//   values.npy    float32, the value that a server adds at each position;
//   offsets.npy   int64 [iterations + 1], where each iteration begins in both;
//   residual.npy  float32 [n], the residual after the last gradient;
//   summary.json  the result.
// The files replace files of the same names and appear only when everything has
// succeeded, summary.json last. Errors: those of NpyReader, NewCompressor and
// AtomicFile; kInvalidArgument for a file without a row or an element;
// kFailedPrecondition for a gradient that is not finite, with its row and
// element; kUnknown for an output directory that cannot be made or written.
absl::StatusOr<CompressRunResult> RunCompress(
    const CompressRunOptions& options);

}  // namespace ps

#endif  // TOOLS_COMMANDS_COMPRESS_RUN_H_
