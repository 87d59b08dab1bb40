// Gradients for a load test, read from a file or generated.
#ifndef TOOLS_BENCH_LOAD_GRADIENT_SOURCE_H_
#define TOOLS_BENCH_LOAD_GRADIENT_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace ps {

// An endless sequence of gradients of any length, numbered from 0. Each is a
// pure function of its number. Thread-safe.
class GradientSource {
 public:
  virtual ~GradientSource() = default;

  // Elements [begin, begin + out.size()) of gradient `number`. Errors: those of
  // the file; kInvalidArgument for a value that is not finite, with its place.
  virtual absl::Status Read(int64_t number, int64_t begin,
                            absl::Span<float> out) const = 0;
};

// Independent draws from a Laplace distribution of scale 1, as in `gradsieve
// bench compressors`. There is a table of 2^20 draws, which each gradient reads
// in its own order, in stretches of 2^14.
std::unique_ptr<GradientSource> GeneratedGradients(uint64_t seed);

// The gradients of a .npy file, float32 [rows, n] or [n], as
// training.dump_gradients writes it. Gradient k is row k % rows, shifted by
// another amount each time that the rows are used again, and repeated if more
// than n elements are requested. Errors: those of NpyReader; kInvalidArgument
// if there is no row or element.
absl::StatusOr<std::unique_ptr<GradientSource>> GradientsOfFile(
    const std::string& path);

// Number of elements in a row. Errors: those of GradientsOfFile.
absl::StatusOr<int64_t> GradientFileElements(const std::string& path);

}  // namespace ps

#endif  // TOOLS_BENCH_LOAD_GRADIENT_SOURCE_H_
